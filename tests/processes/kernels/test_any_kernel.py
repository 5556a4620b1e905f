"""Kernels of which only the outside is known: their time alone, and what they cost others."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of
from shapes import TEACHING

from c3sim.errors import InputErrors
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.tasks.kernel import _queued

US = 1e-6
UNITS = 14  # of the teaching GPU
OVERHEAD = 3 * US  # 2 us to dispatch a kernel, 1 us until its end is seen


def run(tasks: dict[str, Any], host: dict[str, Any] | None = None) -> Run:
    return run_of(tasks, host=host or {})


def kernel(**fields: Any) -> dict[str, Any]:
    return {"kind": "kernel", **fields}


def busy(task: dict[str, Any]) -> float:
    return run({"t": task}).end - OVERHEAD


@pytest.mark.parametrize("workgroups", [1, UNITS, 3 * UNITS, 1000])
def test_a_kernel_takes_its_time_alone_whatever_its_workgroups(workgroups: int) -> None:
    found = busy(kernel(time="200 us", workgroups=workgroups, per_unit=1, clocked=1.0))
    assert found == pytest.approx(200 * US)


def test_its_own_load_on_memory_is_in_its_time() -> None:
    """Load of others slows it; its own load was there when it was measured."""
    task = kernel(time="200 us", read="8 MiB", workgroups=4, clocked=0.0)
    assert busy(task) == pytest.approx(200 * US, rel=1e-3)
    beside = run({"t": task, "other": {"kind": "stream", "pattern": "read", "bytes": "64 MiB"}})
    time = beside.task("t").end - beside.task("t").start
    assert time > 210 * US


def test_without_a_time_flop_take_what_the_units_need() -> None:
    """f FLOP on all units: f / (units x FLOP per cycle x clock x efficiency)."""
    units = TEACHING.gpu.compute_units
    rate = UNITS * units.flops_per_cycle["bf16"] * TEACHING.gpu.clock.maximum
    task = kernel(flops=1e9, on="matrix", efficiency=0.5, workgroups=UNITS, per_unit=1)
    assert busy(task) == pytest.approx(1e9 / (0.5 * rate))


def test_work_of_no_counted_workgroups_is_done_by_those_that_find_room() -> None:
    """GELU of 352 MiB beside a copy by 10 of 132 units took 14 % longer on one H200, not two
    rounds. On 12 of 14 units it takes 14/12, within a piece of each place.
    """
    task = kernel(flops=1e9)
    hold = {"kind": "hold", "workgroups": 2, "time": "10 ms"}
    tasks = {"hold": hold, "t": {**task, "after": []}}
    beside = run(tasks, {"order": ["hold", "t"]}).task("t")
    assert (beside.end - beside.start) / busy(task) == pytest.approx(UNITS / 12, rel=0.03)


@pytest.mark.parametrize(("priority", "begins"), [(1, 0.5), (0, 1.0)])
def test_many_short_workgroups_give_their_places_back_one_by_one(
    priority: int, begins: float
) -> None:
    """FSDP's copies, of high priority, begin within an element-wise kernel of 65,536 workgroups, as
    traces show; here half way, when one of the 64 rounds ends. Of the same priority they begin when
    no workgroup is left that has not begun: with the last round.
    """
    node, first = load_node("h200-1"), kernel(read="512 MiB", stream="first")
    alone = run_of({"t": first}, node).end
    tasks = {
        "t": first,
        "sleep": {"kind": "host", "time": alone / 2, "stream": "second"},
        "other": kernel(written="8 MiB", workgroups=320, stream="second"),
    }
    said = {"tasks": tasks, "streams": {"second": {"priority": priority}}}
    found = simulate(node, workload_of(**said))
    begun = (found.task("other").start - found.task("t").start) / (alone - found.task("t").start)
    assert begins - 1 / 32 < begun < begins + 1 / 32
    assert found.task("t").end < 1.2 * alone


def test_without_a_time_bytes_take_what_a_stream_kernel_takes() -> None:
    stream = {"kind": "stream", "pattern": "copy", "bytes": "8 MiB", "workgroups": UNITS}
    same = kernel(read="8 MiB", written="8 MiB", workgroups=UNITS)
    assert run({"t": same}).end == pytest.approx(run({"t": stream}).end)


def test_what_hits_l2_loads_no_memory() -> None:
    tasks = {
        "hit": kernel(time="100 us", read="1 MiB", hits="l2", workgroups=4),
        "t": {"kind": "stream", "pattern": "read", "bytes": "32 MiB", "workgroups": 2},
    }
    alone = run({"t": tasks["t"]}).end
    assert run(tasks).task("t").end == pytest.approx(alone, rel=0.02)
    tasks["hit"]["hits"] = "hbm"
    tasks["hit"]["read"] = "16 MiB"
    assert run(tasks).task("t").end > 1.02 * alone


def test_a_channel_keeps_its_workgroups_out() -> None:
    """One of 14 units is held: 14 workgroups of one unit each take two rounds for one,
    and 1 us until the end is seen.
    """
    task = kernel(time="100 us", workgroups=UNITS, per_unit=1, clocked=1.0)
    held = {"kind": "hold", "workgroups": 1, "time": "1 ms"}
    found = run({"held": held, "t": task}, {"order": ["held", "t"]})
    assert found.task("t").end - found.task("t").start == pytest.approx((200 + 1) * US)


def test_one_that_needs_no_lds_runs_beside_those_that_hold_all_of_it() -> None:
    """A hold has all LDS of every unit for 1 ms. With a part of a unit comes a part of its LDS."""
    held = {"kind": "hold", "workgroups": UNITS, "time": "1 ms", "waves": 4}

    def start(**fields: Any) -> float:
        task = kernel(time="4 us", workgroups=1, per_unit=16, **fields)
        found = run({"held": held, "t": task}, {"order": ["held", "t"]})
        return found.task("t").start

    assert start(lds="0 B") < 10 * US
    assert start() > 1000 * US


def test_the_host_may_take_longer_and_wait() -> None:
    """a is launched at 30 us and ends at 30 + 2 + 100 + 1; the host waits for it and needs 20 us
    more for b, which without the wait would be launched at 50 us and start behind a at once.
    """
    tasks = {
        "a": kernel(time="100 us", stream="s", launch_time="30 us", clocked=1.0),
        "b": kernel(time="10 us", stream="s", launch_time="20 us", clocked=1.0),
    }
    eager = {"launch": "eager"}
    assert run(tasks, eager).task("b").start == pytest.approx((133 + 2) * US)
    tasks["b"]["launch_after"] = ["a"]
    assert run(tasks, eager).task("b").start == pytest.approx((133 + 20 + 2) * US)


def test_the_host_waits_for_tasks_that_exist() -> None:
    with pytest.raises(InputErrors, match=r"tasks\.a\.launch_after\[0\]: .*'c'"):
        run({"a": kernel(time="1 us", launch_after=["c"])})


def test_a_kernel_does_something() -> None:
    with pytest.raises(InputErrors, match="needs a time above 0, or bytes or FLOP"):
        check_on_node(workload_of({"t": kernel()}), TEACHING)


@pytest.mark.parametrize("per_unit", [1, 2, 3, 7])
@pytest.mark.parametrize("workgroups", [UNITS + 1, 3 * UNITS + 5, 320])
def test_a_last_round_of_few_workgroups_is_in_its_time(workgroups: int, per_unit: int) -> None:
    """Fewer workgroups share a unit in the last round, which makes each of them faster."""
    task = kernel(time="200 us", workgroups=workgroups, per_unit=per_unit, clocked=1.0)
    assert busy(task) == pytest.approx(200 * US)


def test_tiles_of_a_pool_go_on_beside_workgroups_that_have_no_room() -> None:
    """Two of 14 units are held all the time. With a tile each, two workgroups need a second round,
    at least; a pool of tiles takes the 12 other units 14 / 12 of the time.
    """
    hold = {"kind": "hold", "workgroups": 2, "time": "1 ms", "stream": "held"}
    task = kernel(time="200 us", workgroups=UNITS, per_unit=1, clocked=1.0, stream="own")
    found = {
        tiles: run({"hold": hold, "t": {**task, "tiles": tiles}}).task("t")
        for tiles in (None, 84 * UNITS)
    }
    times = {tiles: (each.end - each.start) / US for tiles, each in found.items()}
    assert times[None] >= 400
    assert times[84 * UNITS] == pytest.approx(200 * 14 / 12 + 1, rel=0.01)


def test_a_kernel_may_move_its_bytes_at_a_part_of_the_rate() -> None:
    """On one compute unit, where memory has plenty: half the rate, twice the time."""
    one = {"read": "1 MiB", "workgroups": 1, "per_unit": 1}
    whole, half = busy(kernel(**one)), busy(kernel(**one, stream_efficiency=0.5))
    assert half == pytest.approx(2 * whole, rel=0.02)


def test_loads_that_wait_for_each_other_take_the_latency_each() -> None:
    """20 loads, whatever few bytes they bring. Many bytes come meanwhile, but for what the first of
    19 loads behind the arguments brings: all of them, where that is the only one. Of tiles one
    behind the other the first one's alone are waited for.
    """
    latency = TEACHING.gpu.hbm.latency
    few = kernel(read="1 KiB", workgroups=1, per_unit=1, dependent_loads=20)
    assert busy(few) == pytest.approx(20 * latency, rel=0.02)
    many = {"read": "4 MiB", "workgroups": 1, "per_unit": 1}
    alone = busy(kernel(**many))
    for loads, waited in ((20, 20 / 19), (2, 2.0)):
        found = busy(kernel(**many, dependent_loads=loads))
        assert found == pytest.approx(alone + waited * latency, rel=1e-4)
    tiled = busy(kernel(**many, tiles=100, dependent_loads=2))  # 1.05 us each
    assert tiled == pytest.approx(alone + 2 * latency, rel=1e-3)


def test_the_last_workgroup_adds_up_what_others_left() -> None:
    """Its loads come behind all bytes."""
    many = {"read": "64 MiB", "workgroups": 8, "per_unit": 1}
    found = busy(kernel(**many, closing_loads=3)) - busy(kernel(**many))
    assert found == pytest.approx(3 * TEACHING.gpu.hbm.latency, rel=1e-6)


def test_a_workgroup_alone_loads_before_it_computes() -> None:
    """One of a unit: 20 loads, then its FLOP. Two of one unit that are as long at memory as at the
    vector units are slower than either by half of what two customers wait at two stations: 1 / 2.
    """
    units = TEACHING.gpu.compute_units
    second = units.flops_per_cycle["fp32"] * TEACHING.gpu.clock.maximum
    flops = 20e-6 * second
    found = busy(kernel(workgroups=1, per_unit=1, dependent_loads=20, flops=flops))
    assert found == pytest.approx(20e-6 + 20 * TEACHING.gpu.hbm.latency, rel=1e-6)
    assert _queued(1.0, 2) == pytest.approx(0.25) and _queued(0.0, 2) == 0.0
    # X = G(1) / G(2) with r = 1/2: (1 + 1/2) / (1 + 1/2 + 1/4) of the longer station's rate
    assert _queued(0.5, 2) == pytest.approx(0.5 * (1.75 / 1.5 - 1))
