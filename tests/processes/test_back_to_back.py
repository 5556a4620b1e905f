"""Kernels that follow each other: repeats, loops, and the second kernel of a split GEMM."""

from __future__ import annotations

import pytest
from made_workload import run_of

from c3sim.models.gemm import plan_gemm
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Gemm

H200 = load_node("h200-2")
MI300X = load_node("mi300x-8")
HOLD = {"kind": "hold", "workgroups": 1, "time": "100 us"}
GATHER = {"kind": "collective", "op": "all_gather", "size": "4 KiB"}


def time_of(node: Node, task: dict[str, object], **host: object) -> float:
    return run_of({"one": task}, node, host=host).task("one").end


def test_repeats_wait_for_the_gap_and_not_for_a_launch() -> None:
    """Three runs of 100 us: one dispatch, two gaps, one completion."""
    kernels = H200.gpu.kernels
    assert kernels.back_to_back_latency is not None
    expected = kernels.dispatch_latency + 3 * 100e-6 + kernels.completion_latency
    expected += 2 * kernels.back_to_back_latency
    assert time_of(H200, {**HOLD, "repeat": 3}) == pytest.approx(expected)


def test_repeats_over_memory_wait_for_their_first_loads_too() -> None:
    """Two runs on one unit take twice as long as a turn of a loop, which is one run and one gap,
    less that gap, with one dispatch and one completion.
    """
    kernels, stream = H200.gpu.kernels, {"kind": "stream", "bytes": "1 MiB", "workgroups": 1}
    assert kernels.memory_ramp > 0
    one = time_of(H200, stream) - kernels.dispatch_latency - kernels.completion_latency
    gap = kernels.gap + kernels.memory_ramp
    assert time_of(H200, stream, launch="graph") == pytest.approx(one + gap)
    two = kernels.dispatch_latency + 2 * one + gap + kernels.completion_latency
    assert time_of(H200, {**stream, "repeat": 2}) == pytest.approx(two)


def test_a_node_without_a_gap_launches_every_repeat() -> None:
    kernels = MI300X.gpu.kernels
    each = kernels.dispatch_latency + 100e-6 + kernels.completion_latency
    assert kernels.gap == kernels.dispatch_latency + kernels.completion_latency
    assert time_of(MI300X, {**HOLD, "repeat": 3}) == pytest.approx(3 * each)


def test_an_iteration_of_a_loop_takes_the_gap_and_the_kernel() -> None:
    expected = H200.gpu.kernels.gap + 100e-6
    assert time_of(H200, HOLD, launch="looped") == pytest.approx(expected)
    assert time_of(H200, HOLD, launch="graph") == pytest.approx(expected)


def test_a_host_that_launches_each_iteration_may_be_the_slowest() -> None:
    """A small all-gather of a loop takes as long as the calls of its one thread, a GPU after the
    other; of a graph it takes its own time.
    """
    call = H200.collective_library("nccl").loop_enqueue_time
    assert call is not None
    in_a_loop = time_of(H200, GATHER, launch="looped", threads="single")
    assert in_a_loop == pytest.approx(H200.gpus * call)
    assert time_of(H200, GATHER, launch="graph") < in_a_loop


def test_a_call_in_a_loop_costs_less_than_one_that_finds_nothing_in_the_caches() -> None:
    """A library that does not tell them apart has one time: in a loop of one thread, two calls."""
    nccl = H200.collective_library("nccl")
    one = nccl.changed(loop_enqueue_time=None)
    libraries = {**H200.collective_libraries, "nccl": one}
    node = H200.changed(collective_libraries=libraries)
    slow = time_of(node, GATHER, launch="looped", threads="single")
    assert slow == pytest.approx(H200.gpus * nccl.enqueue_time)
    assert slow > time_of(H200, GATHER, launch="looped", threads="single")
    eager = time_of(H200, GATHER, launch="eager", threads="single")
    assert eager == time_of(node, GATHER, launch="eager", threads="single")


def test_only_the_first_call_of_a_collective_is_cold() -> None:
    """An all-gather of two ranks has one step. In a loop it lacks the dispatch, the completion and
    the cold step, and has a gap; the second of two calls lacks the cold step alone.
    """
    kernels = H200.gpu.kernels
    cold = H200.collective_library("nccl").cold_step_latency
    assert cold > 0
    launch = kernels.dispatch_latency + kernels.completion_latency
    once, looped = time_of(H200, GATHER), time_of(H200, GATHER, launch="graph")
    assert once - looped == pytest.approx(launch - kernels.gap + cold, rel=1e-3)
    twice = time_of(H200, {**GATHER, "repeat": 2})
    assert twice - once == pytest.approx(looped, rel=1e-3)


def test_the_parts_of_a_split_are_added_by_a_kernel_behind_it() -> None:
    """It comes after a gap and three loads that wait for each other. It reads the partial sums, 4 B
    each, and writes 2 B, no faster than the units take them from L2; half of that rate is more than
    the soft sharing of L2 costs.
    """
    task = {"kind": "gemm", "m": 512, "n": 1024, "k": 12288, "library": "cublas"}
    task["macro_tile"] = [128, 256]
    plan = plan_gemm(H200.gpu, Gemm.model_validate(task))
    assert plan.split_k > 1
    silent = H200.changed(gpu__gemm_libraries__cublas__reduction=None)
    assert plan_gemm(silent.gpu, Gemm.model_validate(task)) == plan
    more = time_of(H200, task) - time_of(silent, task)
    units, clock = H200.gpu.compute_units, H200.gpu.clock.maximum
    rate = H200.gpu.compute_unit_count * units.l2_bandwidth * clock
    moved = 512 * 1024 * (4 * plan.split_k + 2) / rate
    waits = H200.gpu.kernels.gap + 3 * H200.gpu.hbm.latency
    assert waits + moved < more < waits + 2 * moved
