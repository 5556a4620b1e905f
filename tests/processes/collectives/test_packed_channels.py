"""Channels that share a workgroup: how many compute units they hold, and that none rests.

The teaching GPU has 14 compute units; a channel claims half of the LDS and registers of one.
"""

from __future__ import annotations

import pytest

from c3sim.errors import InputError
from c3sim.input.loading import load_hardware, parse_workload
from c3sim.input.paths import set_value
from c3sim.processes.kernels.grids import grid_shapes
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

NODE = load_hardware("teaching-4").node
RULES = "collective_libraries.rccl.channels"


def workload(channels: int, **tasks: object) -> Workload:
    reduce = {"kind": "collective", "op": "all_reduce", "size": "64 MiB", "channels": channels}
    text = {"schema": 1, "name": "w", "tasks": {"reduce": reduce, **tasks}}
    return parse_workload(text)


def packed(per_unit: int) -> Node:
    work = workload(1)
    node, _ = set_value(NODE, work, f"{RULES}.maximum", 12)
    return set_value(node, work, f"{RULES}.channels_per_unit", per_unit)[0]


@pytest.mark.parametrize(("channels", "workgroups"), [(4, 2), (3, 2), (1, 1)])
def test_two_on_a_unit_are_half_the_workgroups(channels: int, workgroups: int) -> None:
    assert grid_shapes(workload(channels), packed(2))["reduce"].workgroups == workgroups
    assert grid_shapes(workload(channels), packed(1))["reduce"].workgroups == channels


@pytest.mark.parametrize("channels", [4, 3])
def test_alone_they_move_as_much(channels: int) -> None:
    """The rate is one of channels, not of compute units, so only what holds the units changes."""
    times = [simulate(packed(per_unit), workload(channels)).end for per_unit in (1, 2)]
    assert times[0] == pytest.approx(times[1], rel=0.01)


def test_a_kernel_that_needs_whole_units_gets_those_they_leave() -> None:
    """12 channels one by one leave 2 of 14 units, in pairs 8. Eight workgroups that hold a unit
    each for 1 ms then start together, instead of waiting for units that channels hold to the end.
    """
    reduce = {"kind": "collective", "op": "all_reduce", "size": "1 GiB", "channels": 12}
    hold = {"kind": "hold", "workgroups": 8, "time": "1 ms", "stream": "hold"}
    text = {"reduce": {**reduce, "stream": "reduce"}, "hold": hold}
    streams = {"streams": {"reduce": {}, "hold": {}}}
    both = parse_workload({"schema": 1, "name": "w", "tasks": text, **streams})
    one_by_one, in_pairs = (simulate(packed(per_unit), both) for per_unit in (1, 2))
    assert in_pairs.task("hold").end < 1.1e-3 < in_pairs.task("reduce").end
    assert one_by_one.task("hold").end > one_by_one.task("reduce").end


def test_more_than_a_unit_has_room_for_is_refused() -> None:
    with pytest.raises(InputError, match="room for 2"):
        packed(3)
