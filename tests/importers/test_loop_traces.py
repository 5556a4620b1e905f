"""Traces of the ranks of a loop become one record."""

from __future__ import annotations

import json
from typing import Any

import pytest

from c3sim.importers import combine_loops, find_target
from c3sim.importers.files import find_format
from c3sim.importers.loops import loop_workload
from c3sim.importers.result import Given, ImportResult, LoopTrace

GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}
GATHER = {"kind": "collective", "op": "all_gather", "mib": 64}
KERNELS = {
    "gemm": "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT",
    "collective": "ncclDevKernel_AllGather_RING_LL",
}
GIVEN = Given(node="h200-2", origin="a test")


def trace(rank: int, spans: dict[str, list[tuple[float, float]]], **about: Any) -> str:
    """A trace of *rank*: per role (start, duration) [us] of every turn."""
    tasks = {"gemm": GEMM, "collective": GATHER}
    loop = {
        "name": "pair",
        "mode": "event",
        "tasks": {role: tasks[role] for role in spans},
        "order": list(spans),
        "turns": 2,
        "rank": rank,
        "ranks": 2,
        **about,
    }
    events = [
        {"ph": "X", "cat": "kernel", "name": KERNELS[role], "ts": start, "dur": duration}
        for role, row in spans.items()
        for start, duration in row
    ]
    device = {"id": 0, "name": "NVIDIA H200"}
    return json.dumps({"deviceProperties": [device], "loop": loop, "traceEvents": events})


def read(text: str) -> LoopTrace:
    found = find_format("auto", text, "x.json")
    assert found.name == "loops"
    (loop,) = found.read(text, GIVEN).loops
    return loop


def of_both(spans: dict[str, list[tuple[float, float]]], **about: Any) -> list[LoopTrace]:
    """The same from either of two ranks."""
    return [read(trace(rank, spans, **about)) for rank in (0, 1)]


def combined(loops: list[LoopTrace]) -> ImportResult:
    target, _ = find_target("h200-2", "validation", "", {})
    return combine_loops(loops, target)


def test_a_record_has_the_slowest_rank_of_the_turns_behind_the_first() -> None:
    """Second turn: rank 0 begins at 1000, its GEMM ends 400 and its collective 500 us later; rank 1
    begins at 1010 with the collective, which ends 490 us later, and its GEMM 450.
    """
    zero = trace(0, {"gemm": [(0, 300), (1000, 400)], "collective": [(300, 200), (1350, 150)]})
    one = trace(1, {"gemm": [(5, 300), (1020, 440)], "collective": [(300, 200), (1010, 490)]})
    (record,) = combined([read(zero), read(one)]).records
    assert record["measured"]["wall_us"] == 500
    assert record["measured"]["tasks"]["gemm"] == {"time_us": 450, "start_us": 10}
    assert record["measured"]["tasks"]["collective"] == {"time_us": 500, "start_us": 350}
    assert record["observed"] == {"first": [["gemm", "collective"]], "skew_us": 10}
    assert record["workload"]["host"]["release"] == "per_rank"
    assert record["workload"]["tasks"]["gemm"]["data"] == "random"


def test_isolated_times_come_from_loops_of_one_task() -> None:
    """The slower one of two ranks: 310 us."""
    alone = [
        read(trace(rank, {"gemm": [(0, 300), (400, 300 + 10 * rank)]}, name="gemm", mode="alone"))
        for rank in (0, 1)
    ]
    pair = of_both({"gemm": [(0, 300), (900, 400)], "collective": [(0, 300), (900, 500)]})
    isolated, together = combined([*alone, *pair]).records
    assert isolated["measured"] == {"isolated": {"gemm": 310}}
    assert together["measured"]["isolated"] == {"gemm": 310}


def test_a_loop_with_a_rank_missing_is_left_out() -> None:
    zero = trace(0, {"gemm": [(0, 300), (1000, 400)]})
    result = combined([read(zero)])
    assert result.records == ()
    assert "ranks 0 of 2 are there" in str(result.remarks[0])


BEHIND = {"gemm": [(0.0, 300.0), (900.0, 400.0)], "collective": [(310.0, 80.0), (1310.0, 90.0)]}


def test_a_call_that_comes_after_the_gemm_in_its_stream_waits_for_it() -> None:
    (record,) = combined(of_both(BEHIND, mode="async")).records
    assert record["workload"]["tasks"]["collective"]["after"] == ["gemm"]


def test_the_tasks_of_a_serial_loop_share_a_stream() -> None:
    tasks = combined(of_both(BEHIND, mode="serial")).records[0]["workload"]["tasks"]
    assert [task["stream"] for task in tasks.values()] == ["control", "control"]


@pytest.mark.parametrize("turns", [1, 3])
def test_a_trace_with_other_kernels_than_turns_is_not_read(turns: int) -> None:
    text = trace(0, {"gemm": [(0, 300), (1000, 400)]}, turns=turns)
    result = find_format("auto", text, "x.json").read(text, GIVEN)
    assert result.partial and not result.loops


def test_two_collectives_of_a_loop_are_told_apart_and_copies_of_engines_make_one_turn() -> None:
    """The sum runs as a kernel of 100 us; the gather as two copies a turn on engines, from 10 to 60
    and from 60 to 90 us after the turn's begin: 80 us.
    """
    summed = {"kind": "collective", "op": "all_reduce", "mib": 8, "channels": 4, "group": 2}
    gathered = {**GATHER, "by": "engines"}
    kernel = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "dur": 100}
    copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP"}
    events = [
        event
        for begin in (0, 200)
        for event in (
            {**kernel, "ts": begin},
            {**copy, "ts": begin + 10, "dur": 50},
            {**copy, "ts": begin + 60, "dur": 30},
        )
    ]
    document = json.loads(trace(0, {}))
    loop = document["loop"] | {"tasks": {"sum": summed, "gather": gathered}, "order": ["sum"]}
    read_loop = read(json.dumps(document | {"loop": loop, "traceEvents": events}))
    assert read_loop.turns == {"sum": [(0, 100), (200, 300)], "gather": [(10, 90), (210, 290)]}
    tasks = loop_workload(read_loop.about)["tasks"]
    assert tasks["sum"]["channels"] == 4 and tasks["gather"]["by"] == "engines"
    assert tasks["sum"]["group"] == 2 and "group" not in tasks["gather"]
    loop["tasks"]["gather"] = {**GATHER, "by": "symmetric"}  # kernels between registered windows
    gather = loop_workload(loop)["tasks"]["gather"]
    assert gather["backend"] == "nccl_symmetric" and "by" not in gather
