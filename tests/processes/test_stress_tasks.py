"""Stress tasks: kernels that hold units, go over memory many times or only compute, beside each
other and alone.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of
from shapes import TEACHING

from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Dies, Node
from c3sim.spec.reading.loading import load_node

US = 1e-6
OVERHEAD = 3 * US  # teaching GPU: 2 us to dispatch a kernel, 1 us until its end is seen


def run(tasks: dict[str, Any], node: Node = TEACHING) -> Run:
    return run_of(tasks, node)


def end(task: dict[str, Any], node: Node = TEACHING) -> float:
    return run({"t": task}, node).end


def hold(workgroups: int, time: str = "100 us") -> dict[str, Any]:
    return {"kind": "hold", "workgroups": workgroups, "time": time}


def test_a_hold_lasts_as_long_as_it_says() -> None:
    """14 units: 14 workgroups hold them once, the 15th waits for a unit and holds it for as long
    again.
    """
    assert end(hold(4)) == pytest.approx(100 * US + OVERHEAD)
    assert end(hold(14)) == pytest.approx(100 * US + OVERHEAD)
    assert end(hold(15)) == pytest.approx(200 * US + OVERHEAD)


def test_a_hold_does_not_follow_the_clock() -> None:
    node = TEACHING.changed(gpu__clock__maximum=5e8)
    assert end(hold(4), node) == end(hold(4))


def test_a_held_unit_has_room_for_nobody() -> None:
    """All 14 units are held from 2 to 102 us; the stream's workgroups, which need hardly any LDS,
    come after that.
    """
    outcome = run({"hold": hold(14), "s": {"kind": "stream", "bytes": "1 MiB"}})
    assert outcome.task("s").start == pytest.approx(102 * US)


def test_a_masked_stream_holds_the_units_of_its_mask_alone() -> None:
    """Bits go round the dies, then round their shader engines: 0 and 1 are a unit of the first
    engine of each die, 2 and 3 one of the second. Four workgroups that hold a unit each are two
    rounds of 100 us on the first two, and the stream on the other two is not in the way.
    """
    streams = {"first": {"compute_units": "0-1"}, "second": {"compute_units": "2-3"}}
    tasks = {"a": {**hold(4), "stream": "first"}, "b": {**hold(2, "1 ms"), "stream": "second"}}
    outcome = run_of(tasks, streams=streams)
    assert outcome.task("a").end == pytest.approx(200 * US + OVERHEAD)
    assert outcome.task("b").end == pytest.approx(1000 * US + OVERHEAD)


def test_what_others_ask_of_memory_holds_up_a_gemm_that_waits_for_it() -> None:
    """One tile of 128 x 128 x 8192 beside streams that read. Its operands, 2 x 128 x 8192 x 2 B,
    all come from memory (teaching GPU: no cache is shared by its dies), so of its time

        working    2 x 128 x 128 x 8192 / 1 Tflop/s + 1 us of prologue
        waiting    operands / 32 GB/s (40 B/cycle of a unit, of which the library gets 0.8)

    wait / S(own + others) is added, where S is the share of what is asked for that memory gives,
    (1 + x^4)^(-1/4); own: 32 of 200 GB/s, others: 40 of 200 GB/s for each workgroup of a stream.
    (What the GEMM itself declares of its load differs from what it has by 1 %: hence the bound.)
    """
    operands = 2 * 128 * 8192 * 2
    working, waiting = 2 * 128 * 128 * 8192 / 1e12 + 1 * US, operands / 32e9
    gemm = {"kind": "gemm", "m": 128, "n": 128, "k": 8192, "macro_tile": [128, 128]}
    for workgroups in (0, 2, 4):
        x = 32 / 200 + workgroups * 40 / 200
        expected = working + waiting * (1 + x**4) ** 0.25
        reads = {"kind": "stream", "pattern": "read", "bytes": "1 GB", "workgroups": workgroups}
        others = {"s": reads} if workgroups else {}
        outcome = run({"g": gemm, **others})
        assert outcome.task("g").end - OVERHEAD == pytest.approx(expected, rel=5e-3), workgroups


def test_gemm_beside_held_units() -> None:
    """14 tiles that each take all LDS of a unit are one round on 14 units, two on 13: a 14th of the
    machine costs double.
    """
    gemm = {"kind": "gemm", "m": 14 * 256, "n": 256, "k": 4096, "macro_tile": [256, 256]}
    alone = end(gemm) - OVERHEAD
    assert run({"hold": hold(1, "1 s"), "g": gemm}).task("g").end - OVERHEAD == pytest.approx(
        2 * alone, rel=0.05
    )


def test_later_passes_hit_l2_where_the_arrays_fit() -> None:
    """One workgroup reads 100 kB eleven times. First from memory at 40 B/cycle and 1 GHz: 2.5 us.
    The two L2s hold 2 MiB, so the other ten come from there at 60 B/cycle: 10 x 100 kB / 60 GB/s =
    16.67 us. (Load on memory: below 1e-4.)
    """
    task = {"kind": "stream", "pattern": "read", "bytes": "100 kB", "workgroups": 1, "passes": 11}
    assert end(task) - OVERHEAD == pytest.approx((2.5 + 16.667) * US, rel=1e-3)


@pytest.mark.parametrize(("size", "from_memory"), [("128 MiB", 1), ("512 MiB", 3)])
def test_what_fits_the_memory_side_cache_comes_from_memory_once(
    size: str, from_memory: int
) -> None:
    """Eight dies with 4 MiB of L2 each and 256 MiB behind them: 128 MiB do not fit in the L2s, and
    three passes read them from memory once; 512 MiB fit nowhere.
    """
    node = load_node("mi300x-8")
    task = {"kind": "stream", "pattern": "read", "bytes": size}

    def from_hbm(passes: int) -> float:
        """Energy of bytes from memory, which has a price each."""
        workload = workload_of({"t": {**task, "passes": passes}})
        return simulate(node, workload, energy=True).account["hbm_byte"]

    assert from_hbm(3) == pytest.approx(from_memory * from_hbm(1))


def test_passes_over_more_than_fits_cost_the_same_each() -> None:
    """8 MiB do not fit in 2 MiB of L2, and there is no other cache: each line is gone before it is
    needed again.
    """
    task = {"kind": "stream", "pattern": "copy", "bytes": "4 MiB"}
    once = end(task) - OVERHEAD
    assert end({**task, "passes": 3}) - OVERHEAD == pytest.approx(3 * once)


def test_an_alu_hog_takes_the_time_of_its_flop() -> None:
    """100 kB, two passes, 1000 FLOP per byte: 2e8 FLOP at 100 per cycle and 1 GHz is 2 ms; memory
    hides behind it.
    """
    task = {"kind": "stream", "pattern": "read", "bytes": "100 kB", "workgroups": 1, "passes": 2}
    assert end({**task, "flops_per_byte": 1000}) - OVERHEAD == pytest.approx(2e-3)


# Clusters -----------------------------------------------------------------------------------------
# ----------


def clustered(size: int, rule: str) -> Node:
    """One die with engines of 4 and 3 units, a GEMM library that launches clusters of *size*."""
    return TEACHING.changed(
        gpu__dies=Dies(count=1, shader_engines=(4, 3), dispatch=rule),
        gpu__gemm_libraries__hipblaslt__cluster=size,
        gpu__gemm_libraries__hipblaslt__schedule="persistent",
    )


SIX = {
    "kind": "gemm",
    "m": 6 * 256,
    "n": 256,
    "k": 4096,
    "macro_tile": [256, 256],
}  # six tiles, one below the other


@pytest.mark.parametrize("rule", ["work_conserving", "rotation", "weighted_rotation"])
def test_a_held_unit_costs_a_cluster_its_place(rule: str) -> None:
    """Engines of 4 and 3 units have room for 2 and 1 clusters of two: a grid of 6. With one unit of
    the first held there is room for 1 and 1, though 6 units are free: the static grid does not fit
    and its last cluster starts when the first ones end. Single workgroups find the 6 units.
    """
    for size, rounds in ((2, 2), (1, 1)):
        node = clustered(size, rule)
        alone = end(SIX, node) - OVERHEAD
        beside = run({"hold": hold(1, "1 s"), "g": SIX}, node).task("g").end - OVERHEAD
        assert beside == pytest.approx(rounds * alone, rel=0.02), size


def test_a_persistent_grid_has_as_many_workgroups_as_clusters_fit() -> None:
    """12 tiles: two rounds of 6, in clusters of two; 7 single workgroups need two rounds too, the
    second one of 5.
    """
    task = {**SIX, "m": 12 * 256}
    one = end(SIX, clustered(2, "work_conserving")) - OVERHEAD
    assert end(task, clustered(2, "work_conserving")) - OVERHEAD == pytest.approx(2 * one, rel=0.02)


def test_a_mask_that_no_cluster_fits_is_launched_without() -> None:
    """Bits 0 to 2 of the mask are one unit in each of both engines and a second in the first: no
    engine has three.
    """
    case = {"tasks": {"g": {**SIX, "stream": "s"}}, "streams": {"s": {"compute_units": 3}}}
    workload = workload_of(**case)
    assert simulate(clustered(3, "work_conserving"), workload).end > 0


# Schedules that stay, with units held
# -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "own", "rounds"),
    [
        ("work_stealing", 1, 5),  # 28 tiles on 6 units: 4.67 rounds
        (
            "dynamic_persistent",
            1,
            5,
        ),  # 7 own; the pool of 21 lasts 3.5 rounds of 6: the late one starts at 4, ends at 5
        (
            "dynamic_persistent",
            2,
            6,
        ),  # 14 own, 14 in the pool: 2.33 rounds after 2; the late one starts at 4, ends at 6
        ("persistent", 1, 8),  # the late workgroup's list of 4 comes after those of the others
    ],
)
def test_what_a_late_workgroup_still_has_to_do(schedule: str, own: int, rounds: int) -> None:
    """28 tiles on a grid of 7, one unit held for good: four rounds alone. (A tile that runs by
    itself reads some operands again from memory: 2 %.)
    """
    node = clustered(1, "rotation").changed(
        gpu__gemm_libraries__hipblaslt__schedule=schedule,
        gpu__gemm_libraries__hipblaslt__own_tiles=own,
    )
    task = {**SIX, "m": 28 * 256}
    one = end({**SIX, "m": 7 * 256}, node) - OVERHEAD
    assert end(task, node) - OVERHEAD == pytest.approx(4 * one, rel=0.02)
    beside = run({"hold": hold(1, "1 s"), "g": task}, node).task("g").end - OVERHEAD
    assert beside == pytest.approx(rounds * one, rel=0.03)


def test_a_library_with_all_registers_leaves_no_room_beside_it() -> None:
    """A stream kernel waits for a GEMM that claims every register, and runs beside one that does
    not.
    """
    node = clustered(1, "rotation")
    stream = {"kind": "stream", "bytes": "1 MB", "workgroups": 1, "lds": "0 B"}
    waits = []
    for registers in (0, node.gpu.compute_units.registers):
        fewer = node.changed(gpu__gemm_libraries__hipblaslt__registers=registers)
        task = {**SIX, "m": 7 * 64, "n": 64, "macro_tile": [64, 64]}
        both = run({"g": task, "s": stream}, fewer)
        waits.append(both.task("s").end > both.task("g").end)
    assert waits == [False, True]


def test_which_engine_a_held_unit_is_in() -> None:
    """Engines of 3 and 2 units, clusters of two. In turns, the first engine goes first: (2, 2) is
    left, two clusters. Of engines of 2 and 3, turns leave (1, 3), one cluster, where most room
    would leave (2, 2). Four tiles need one round or two.
    """
    four = {**SIX, "m": 4 * 256}
    rounds = {}
    for rule, engines in (("rotation", (3, 2)), ("rotation", (2, 3)), ("work_conserving", (2, 3))):
        gpu = clustered(2, rule).gpu
        dies = Dies(count=1, shader_engines=engines, dispatch=rule)
        node = TEACHING.changed(gpu=gpu.changed(dies=dies))
        alone = end(four, node) - OVERHEAD
        beside = run({"hold": hold(1, "1 s"), "g": four}, node).task("g").end - OVERHEAD
        rounds[rule, engines] = round(beside / alone, 1)
    assert rounds == {
        ("rotation", (3, 2)): 1,
        ("rotation", (2, 3)): 2,
        ("work_conserving", (2, 3)): 1,
    }


def test_stages_overlap_misses_with_matrix_instructions() -> None:
    """Half of the time of a GEMM of few rows goes into operands from memory, half into matrix
    instructions; with one workgroup on a unit and one stage they follow one another, with four
    stages a quarter of the shorter is left.
    """
    node = load_node("h200-2")
    task = {"kind": "gemm", "m": 256, "n": 8192, "k": 8192, "macro_tile": [128, 128]}
    times = []
    for stages in (1, 4):
        staged = node.changed(
            gpu__gemm_libraries__cublas__stages=stages,
            gpu__gemm_libraries__cublas__most_stages=None,
        )
        times.append(end(task, staged))
    assert times[1] < 0.8 * times[0]
