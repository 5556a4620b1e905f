"""Channels that share a workgroup: how many compute units they hold, and that none rests.

The teaching GPU has 14 compute units; a channel claims half of the LDS and registers of one.
"""

from __future__ import annotations

import pytest
from made_workload import run_of, workload_of

from c3sim.errors import InputError
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.reading.paths import set_value
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import plan

NODE = load_node("teaching-4")
RULES = "collective_libraries.rccl.channels"


def workload(channels: int, **tasks: object) -> Workload:
    reduce = {"kind": "collective", "op": "all_reduce", "size": "64 MiB", "channels": channels}
    return workload_of({"reduce": reduce, **tasks})


def packed(per_unit: int) -> Node:
    work = workload(1)
    node, _ = set_value(NODE, work, f"{RULES}.maximum", 12)
    return set_value(node, work, f"{RULES}.channels_per_unit", per_unit)[0]


@pytest.mark.parametrize(("channels", "workgroups"), [(4, 2), (3, 2), (1, 1)])
def test_two_on_a_unit_are_half_the_workgroups(channels: int, workgroups: int) -> None:
    assert plan(workload(channels), packed(2)).shapes["reduce"].workgroups == workgroups
    assert plan(workload(channels), packed(1)).shapes["reduce"].workgroups == channels


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
    one_by_one, in_pairs = (run_of(text, packed(per_unit), **streams) for per_unit in (1, 2))
    assert in_pairs.task("hold").end < 1.1e-3 < in_pairs.task("reduce").end
    assert one_by_one.task("hold").end > one_by_one.task("reduce").end


def test_more_than_a_unit_has_room_for_is_refused() -> None:
    with pytest.raises(InputError, match="room for 2"):
        packed(3)


def test_channels_that_share_a_workgroup_claim_as_much_as_all_of_them() -> None:
    """A channel claims 30 % of the LDS of a unit, a workgroup of the GEMM 60 %: it fits beside one
    channel and not beside two. The GEMM has 14 tiles of 128 x 128, and each of two dies gets seven,
    for its seven units. Six channels leave room on all units: one round. Twelve in pairs are six
    workgroups as well, three on a die, and leave it four units: two rounds. A round is

        2 * 128 * 128 * 4096 FLOP / (1000 FLOP per cycle at 1 GHz) = 134 us of matrix instructions
        (128 + 128) * 4096 * 2 B / 60 GB/s                         =  35 us to feed the operands

    one after the other (one stage), and 1 us of prologue.
    """
    reduce = {"kind": "collective", "op": "all_reduce", "size": "1 GiB", "stream": "reduce"}
    gemm = {"kind": "gemm", "m": 14 * 128, "n": 128, "k": 4096, "stream": "gemm"}
    gemm |= {"macro_tile": [128, 128], "lds": f"{int(0.6 * 65536)} B"}
    # the clock stays at its maximum, and no tile waits for memory
    quick = {"gpu.clock.power_limit": "1 kW", "gpu.hbm.bandwidth": "10 TB/s"}
    room = {f"{RULES}.maximum": 12, f"{RULES}.lds": f"{int(0.3 * 65536)} B"}

    def gemm_time(channels: int, per_unit: int) -> float:
        tasks = {"reduce": {**reduce, "channels": channels}, "gemm": gemm}
        both = workload_of(tasks)
        of_channels = {f"{RULES}.registers": 64, f"{RULES}.channels_per_unit": per_unit}
        node = NODE
        for path, value in {**quick, **room, **of_channels}.items():
            node, _ = set_value(node, both, path, value)
        run = simulate(node, both)
        assert run.task("gemm").end < run.task("reduce").end  # channels hold units all the time
        return run.task("gemm").end - run.task("gemm").start

    one_round = 134e-6 + 35e-6 + 1e-6
    assert gemm_time(6, per_unit=1) == pytest.approx(one_round, rel=0.1)
    assert gemm_time(12, per_unit=2) == pytest.approx(2 * one_round, rel=0.1)
