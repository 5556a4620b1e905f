"""PyTorch profiler traces: a real one, and copies of it that were changed here to hold what it does
not.
"""

from __future__ import annotations

import copy
import json

import pytest
from kineto_case import kernels

from c3sim.importers import kineto
from c3sim.importers.collector import Collector
from c3sim.importers.trace_records import Origin, add_trace
from c3sim.importers.traces import Kernel


def with_isolated(trace: str) -> dict:
    """A changed trace: behind its end, the second GEMM and the last all-gather once more, each
    alone, 200 and 800 us.
    """
    document = json.loads(trace)
    for part, index, at, duration in (("nvjet", 1, 1e4, 200.0), ("nccl", -1, 2e4, 800.0)):
        event = copy.deepcopy(kernels(document, part)[index])
        event["ts"], event["dur"] = (
            max(e.get("ts", 0) for e in document["traceEvents"]) + at,
            duration,
        )
        operator = next(
            e
            for e in document["traceEvents"]
            if e.get("cat") == "cpu_op"
            and e["args"].get("External id") == event["args"]["External id"]
        )
        own = 1000 + index % 10
        event["args"] |= {"External id": own, "correlation": 0}
        document["traceEvents"] += [
            event,
            {**operator, "args": {**operator["args"], "External id": own}},
        ]
    return document


def test_sizes_shapes_and_streams_of_a_real_trace(trace, given, written):
    result = kineto.read(trace, given(gpus=4))
    eager, queued = written(result)
    assert queued.workload.name == "GEMM 4096x4096x4096 bf16, 4 times beside all-gather 128 MiB"
    gather, gemm = queued.workload.tasks["gather"], queued.workload.tasks["gemm"]
    assert (gather.size, gather.dtype, gather.channels, gather.backend) == (
        2**27,
        "bf16",
        24,
        "nccl",
    )
    assert (gemm.m, gemm.n, gemm.k, gemm.repeat, gemm.macro_tile) == (
        4096,
        4096,
        4096,
        4,
        (256, 128),
    )
    assert gather.stream != gemm.stream
    assert queued.samples == 2 and eager.samples == 1
    assert (queued.workload.host.launch, eager.workload.host.launch) == ("queued", "eager")
    assert queued.software == "PyTorch profiler, NCCL 2.28.9, CUDA 13.0"
    assert queued.source == "a log; 4 x NVIDIA H200, rank 0 of 4"


def test_times_count_from_the_first_kernel_of_the_episode(trace, given, written):
    """Third episode: GEMM from 2887.564 to 3819.074, all-gather from 3019.690 to 3870.946; medians
    of two alike.
    """
    queued = written(kineto.read(trace, given()))[1]
    gemm, seen = queued.measured.tasks["gemm"], queued.observed["one_rank"]
    gather = seen["tasks"]["gather"]
    assert gemm.start_us == 0
    assert gather["start_us"] == pytest.approx(132.0, abs=0.2)
    assert gather["time_us"] == pytest.approx(983.8, abs=0.8)
    assert seen["wall_us"] == gather["time_us"] > gemm.time_us
    assert "gather began late" in queued.note


def test_one_rank_of_four_does_not_tell_how_long_a_collective_runs(trace, given, written):
    """Rank 0 waits in its kernel for the GEMMs of the others: 852 us, where the same all-gather
    alone takes 346 (nccl-tests). So only the GEMM is compared, and the user is told.
    """
    result = kineto.read(trace, given(gpus=4))
    for record in written(result):
        assert set(record.measured.tasks) == {"gemm"} and record.measured.wall_us is None
    assert any("waiting for ranks that it does not show" in each for each in result.warnings)


GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20, "dtype": "bf16"}
GEMM = {"kind": "gemm", "m": 64, "n": 64, "k": 64, "dtype": "bf16"}


def made(kind: str, start: float, duration: float, device: str) -> Kernel:
    """A GEMM, or an all-gather of two GPUs, on a stream of its own."""
    task, gpus = (GATHER, 2) if kind == "collective" else (GEMM, None)
    return Kernel(
        **{"name": kind, "kind": kind, "key": kind, "stream": kind, "task": task, "gpus": gpus},
        **{"start": start, "duration": duration, "device": device},
    )


def measured(given, kernels: list[Kernel]) -> dict:
    """The measured part of the only record of *kernels*."""
    collector = Collector("a trace", given())
    add_trace(collector, kernels, Origin(suite="made", software="none", facts=""))
    (record,) = collector.result().records
    return record["measured"]


def test_a_trace_of_all_ranks_keeps_the_times_of_collectives(given):
    """On each device a GEMM of 100 us beside an all-gather of 80."""
    one, two = (
        [made("gemm", 0.0, 100.0, device), made("collective", 0.0, 80.0, device)]
        for device in ("0", "1")
    )
    whole = measured(given, one + two)
    assert (whole["wall_us"], whole["tasks"]["gather"]["time_us"]) == (100.0, 80.0)
    part = measured(given, one)
    assert set(part["tasks"]) == {"gemm"} and "wall_us" not in part


def test_alone_the_shortest_instance_counts_where_ranks_are_missing(given):
    """All-gathers of 80, 50 and 60 us: the shortest waited least; of all ranks, the median 60."""
    one, two = (
        [made("collective", 1e3 * i, time, device) for i, time in enumerate((80.0, 50.0, 60.0))]
        for device in ("0", "1")
    )
    assert measured(given, one) == {"isolated": {"collective": 50.0}}
    assert measured(given, one + two) == {"isolated": {"collective": 60.0}}


def test_eager_launches_are_those_of_a_framework_where_the_node_knows_one(trace, given, written):
    eager, queued = written(kineto.read(trace, given(profiles=("framework",))))
    assert (eager.workload.host.profile, queued.workload.host.profile) == ("framework", None)
    assert written(kineto.read(trace, given()))[0].workload.host.profile is None


def test_overlap_is_the_intersection_of_what_ran(trace, given):
    result = kineto.read(trace, given())
    document = json.loads(trace)
    spans = {
        part: [(e["ts"], e["ts"] + e["dur"]) for e in kernels(document, part)]
        for part in ("nvjet", "nccl")
    }
    both = sum(max(0, min(b, d) - max(a, c)) for a, b in spans["nvjet"] for c, d in spans["nccl"])
    (overlap,) = result.overlaps
    assert overlap.both_us == pytest.approx(both, abs=0.01)
    # what else ran beside a collective computes too: no more is exposed than without GEMMs
    assert 0 < overlap.exposed_us <= overlap.collective_us - overlap.both_us + 0.01
    assert overlap.collective_us == pytest.approx(2293.255 + 852.375 + 851.256, abs=0.01)


def test_without_isolated_kernels_no_slowdown_is_made_up(trace, given):
    result = kineto.read(trace, given())
    assert all(kernel.slowdown is None for kernel in result.kernels if kernel.kind != "other")
    assert all("isolated" not in record["measured"] for record in result.records)
    assert any(
        "runs alone in this trace: its slowdown is not known" in warning
        for warning in result.warnings
    )


def test_isolated_kernels_give_slowdowns_and_records_of_their_own(trace, given, written):
    result = kineto.read(json.dumps(with_isolated(trace)), given())
    records = written(result)
    alone = {r.workload.name: r.measured.isolated for r in records if r.suite == "kineto_isolated"}
    assert alone == {
        "GEMM 4096x4096x4096 bf16": {"gemm": 200.0},
        "all-gather 128 MiB": {"collective": 800.0},
    }
    together = [record for record in records if record.suite == "kineto_concurrent"]
    assert together[1].measured.isolated == {"gemm": 4 * 200.0}
    by_kind = {kernel.kind: kernel for kernel in result.kernels}
    assert by_kind["collective"].slowdown == pytest.approx(852.375 / 800)
    assert by_kind["gemm"].slowdown == pytest.approx(244.685 / 200, rel=1e-3)


def test_concurrent_runs_are_validation_even_when_calibration_is_asked_for(trace, given):
    result = kineto.read(json.dumps(with_isolated(trace)), given(role="calibration"))
    roles = {record["suite"]: record["role"] for record in result.records}
    assert roles == {"kineto_isolated": "calibration", "kineto_concurrent": "validation"}
