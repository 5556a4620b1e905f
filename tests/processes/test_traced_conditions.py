"""Conditions of measurement in a workload: gaps of a stream, late peers, measured speed."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of
from shapes import TEACHING

from c3sim.simulation.run import Run
from c3sim.simulation.runs import isolated
from c3sim.spec.reading.loading import load_node

US = 1e-6
DISPATCH, SEEN = 2 * US, 1 * US  # of the teaching GPU
KERNEL = {"kind": "kernel", "time": "50 us", "workgroups": 4, "stream": "s"}
GATHER = {"kind": "collective", "op": "all_gather", "size": "64 MiB"}
GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}


def run(tasks: dict[str, Any], host: dict[str, Any] | None = None) -> Run:
    return run_of(tasks, host=host or {})


def test_a_kernel_that_waits_in_its_stream_begins_after_the_gap() -> None:
    """Without: the end is seen, then the next one is dispatched. The end of a kernel is its last
    workgroup's and the time to see that; the gap counts from the former.
    """
    tasks = {"a": KERNEL, "b": KERNEL}
    usual, told = run(tasks), run(tasks, {"kernel_gap": "1.5 us"})
    for found, gap in ((usual, DISPATCH + SEEN), (told, 1.5 * US)):
        assert found.task("b").start - (found.task("a").end - SEEN) == pytest.approx(gap)


def test_the_gap_is_not_of_kernels_that_come_from_elsewhere() -> None:
    """b waits for c of another stream, which ends later than a: it is dispatched as ever."""
    tasks = {
        "a": KERNEL,
        "c": {**KERNEL, "time": "80 us", "stream": "t"},
        "b": {**KERNEL, "after": ["c"]},
    }
    found = run(tasks, {"kernel_gap": "1.5 us"})
    assert found.task("b").start - found.task("c").end == pytest.approx(DISPATCH)


def test_a_collective_waits_on_its_units_for_peers_that_come_late() -> None:
    in_step = run({"g": GATHER}).task("g")
    late = run({"g": {**GATHER, "peers_late": "40 us"}}).task("g")
    assert late.start == in_step.start
    assert late.end - in_step.end == pytest.approx(40 * US)


def test_peers_are_not_waited_for_alone() -> None:
    """Nor is a task alone launched late, or behind other tasks."""
    waits = {"peers_late": "40 us", "launch_time": "1 ms", "launch_after": ["k"]}
    parsed = workload_of(
        {"k": KERNEL, "g": {**GATHER, **waits}, "plain": GATHER}, host={"launch": "eager"}
    )
    assert isolated(TEACHING, parsed, "g").end == isolated(TEACHING, parsed, "plain").end


def test_a_gemm_that_was_measured_to_be_faster_is() -> None:
    """Its tiles take 1/1.25 of the time; starts and ends take what they took."""
    plain, fast = (
        isolated(TEACHING, workload_of({"g": GEMM, "f": {**GEMM, "speed": 1.25}}), name)
        for name in ("g", "f")
    )
    assert (plain.end - plain.start) / (fast.end - fast.start) == pytest.approx(1.25, rel=0.02)


def test_a_collective_that_was_measured_to_be_slower_is() -> None:
    slow = run({"g": {**GATHER, "speed": 0.5}}).task("g")
    usual = run({"g": GATHER}).task("g")
    assert 1.6 < (slow.end - slow.start) / (usual.end - usual.start) <= 2.0


def test_rounds_of_a_kernel_are_one_segment_with_the_same_end() -> None:
    """H200 fills its engines each by itself: 60 rounds cost few events, and a newcomer with a
    higher priority still gets room at the end of the round.
    """
    on = load_node("h200-2")
    rounds = 60
    long = {"kind": "kernel", "time": "600 us", "workgroups": 132 * rounds, "per_unit": 1}
    alone = run_of({"long": long}, on)
    assert alone.events < 12
    found = alone.task("long")
    completion = on.gpu.kernels.completion_latency
    assert found.end - found.start - completion == pytest.approx(600 * US)
    newcomer = {"kind": "hold", "workgroups": 132, "time": "1 us", "stream": "high"}
    first = {**long, "workgroups": 1, "time": "95 us", "stream": "high"}
    both = run_of(
        {"long": {**long, "stream": "s"}, "first": first, "new": newcomer},
        on,
        streams={"high": {"priority": 1}},
    )
    assert both.task("new").start < 200 * US  # not behind the whole kernel
