"""Records of DMA engines as the harness writes them: every form is predicted, and forms differ as
the hardware says.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_records import line

from c3sim.spec.reading.loading import load_node
from c3sim.spec.record import Record, record_id
from c3sim.validation.compare.figures import compare_record
from c3sim.validation.compare.record_files import nodes_for
from c3sim.validation.compare.verdict import validate

MIB = 2**20
LINK = (
    18 * 25e9
)  # B/s: 18 NVLinks of 25 GB/s each way, raw (H100 white paper); no copy to the peer is faster
GATED: dict[str, Any] = {"prelaunched": True}
EAGER: dict[str, Any] = {"launch": "eager"}
BATCH: dict[str, Any] = {"submission": "batch"}


def copy(**fields: Any) -> dict[str, Any]:
    return {
        "kind": "copy",
        "bytes": 16 * MIB,
        "source": "gpu",
        "destination": "peer",
        "executor": "dma",
        **fields,
    }


def made(
    tasks: dict[str, Any], measured: dict[str, Any], host: dict[str, Any], **more: Any
) -> Record:
    """As the harness writes it: no stream is named, the host says how the copies were submitted and
    released.
    """
    data = line(tasks, measured, node="h200-2", **more)
    workload = {"schema": 1, "name": "made up", "tasks": tasks, "host": host}
    return Record.model_validate(
        {**data, "workload": workload, "id": record_id("h200-2", workload, "as_written", "none")}
    )


@pytest.fixture(scope="module")
def node():
    return load_node("h200-2")


def one(node, host: dict[str, Any], **fields: Any) -> float:
    """Predicted time [us] of one copy task."""
    (case,) = compare_record(
        node, made({"copy": copy(**fields)}, {"isolated": {"copy": 1.0}}, host)
    )
    assert case.metric == "isolated_copy"
    return case.predicted


def many(node, host: dict[str, Any], streams: int, **fields: Any) -> float:
    """Predicted wall time [us] of eight copies over *streams* streams: a task for each."""
    tasks = {f"copy{i}": copy(repeat=8 // streams, **fields) for i in range(streams)}
    (case,) = compare_record(node, made(tasks, {"wall_us": 1.0}, host))
    assert case.metric == "wall"
    return case.predicted


PLACES = [
    {},
    {"direction": "pull"},
    {"destination": "host"},
    {"source": "host", "destination": "gpu"},
    {"destination": "gpu"},
    {"gpus": "all"},
    {"gpus": "all", "direction": "pull"},
    {"engines": 8},
]


@pytest.mark.parametrize("where", PLACES, ids=str)
def test_what_is_submitted_beforehand_ends_no_later(node, where):
    """But where each of several queues has to see the release, or a peer has to be told of it.
    Measured (suites h200_dma and h200_dma_streams, gated and eager): a pull of 4 KiB 20 and 12 us,
    a push of 4 MiB in eight streams 78 and 38 us.
    """
    told = where.get("direction") == "pull" or "engines" in where
    assert (one(node, GATED, **where) < one(node, EAGER, **where)) != told
    assert one(node, {**EAGER, "threads": "single"}, **where) >= one(node, EAGER, **where)


@pytest.mark.parametrize("host", [GATED, EAGER, {**GATED, **BATCH}, {**EAGER, **BATCH}], ids=str)
@pytest.mark.parametrize("streams", [2, 4, 8])
def test_eight_copies_over_streams_are_no_faster_than_the_link(node, host, streams):
    assert many(node, host, streams) > 8 * 16 * MIB / LINK * 1e6
    assert many(node, host, streams, direction="pull") > 8 * 16 * MIB / LINK * 1e6


@pytest.mark.parametrize("release", [GATED, EAGER], ids=str)
def test_a_batch_of_small_copies_is_no_slower_than_copies_that_wait_for_each_other(node, release):
    assert one(node, {**release, **BATCH}, repeat=8, bytes=1024) < one(
        node, release, repeat=8, bytes=1024
    )


@pytest.mark.parametrize("op", ["all_gather", "all_to_all"])
@pytest.mark.parametrize("backend", ["dma", "nccl"])
def test_collectives_are_predicted_for_both_releases(node, op, backend):
    task = {"kind": "collective", "op": op, "size": 1024, "backend": backend}
    hosts = [GATED if backend == "dma" else {}, {**EAGER, "threads": "single"}]
    times = [
        case.predicted
        for host in hosts
        for case in compare_record(
            node, made({"collective": task}, {"isolated": {"collective": 1.0}}, host)
        )
    ]
    assert 0 < times[0] < times[1]


def test_power_is_kept_shown_and_compared():
    energy = {"load": "gemm:8192", "seconds": 2.0, "iterations": 1200, "gpus": [{"power_w": 690.5}]}
    task = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "library": "cublas"}
    data = made({"load": task}, {}, {}).model_dump(by_alias=True) | {"observed": {"energy": energy}}
    records = [Record.model_validate(data)]
    verdict = validate(records, nodes_for(records))
    assert [(figure.metric, figure.measured) for figure in verdict.figures] == [("power", 690.5)]
    shown = next(case for case in verdict.to_dict()["cases"] if case["metric"] == "power")
    assert shown["measured_w"] == 690.5 and shown["measured_us"] is None
