"""Conditions that records of the probe do not have in their workload."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_records import line

from c3sim.spec.reading.records import parse_record
from c3sim.spec.record import Record, record_id


def record(tasks: dict[str, Any], host: dict[str, Any] | None = None, **fields: Any) -> Record:
    one = line(tasks, {"isolated": dict.fromkeys(tasks, 10.0)}, node="h200-2")
    workload = {**one["workload"], "host": host or {}}
    identity = record_id("h200-2", workload, "as_written", "none")
    return parse_record(json.dumps({**one, "workload": workload, "id": identity, **fields}))


@pytest.mark.parametrize(
    ("command", "data"),
    [
        ("probe gemm --shape 8x8x8", "pattern"),
        ("probe ranks --first gemm:8x8x8", "random"),
        ("", "random"),
    ],
)
def test_what_operands_held(command: str, data: str) -> None:
    tasks = {"gemm": {"kind": "gemm", "m": 8, "n": 8, "k": 8}}
    assert record(tasks, command=command).workload.tasks["gemm"].data == data


@pytest.mark.parametrize(
    ("command", "begin"), [("probe ranks --first gemm:8x8x8", "release"), ("", "start")]
)
def test_times_of_ranks_count_from_their_release(command: str, begin: str) -> None:
    tasks = {"gemm": {"kind": "gemm", "m": 8, "n": 8, "k": 8}}
    host = {"loop": {"iterations": 2, "barrier": True}}
    assert record(tasks, host, command=command).workload.host.loop.begin == begin


def test_holds_of_ranks_are_of_one_wave() -> None:
    hold = {"kind": "hold", "workgroups": 1, "time": 1e-3}
    assert record({"h": hold}, command="probe ranks").workload.tasks["h"].waves == 1
    assert record({"h": hold}).workload.tasks["h"].waves is None


@pytest.mark.parametrize(("backend", "observed"), [("dma", True), ("dma", False), ("nccl", True)])
def test_all_gathers_are_as_out_of_place_as_observed(backend: str, observed: bool) -> None:
    gather = {"kind": "collective", "op": "all_gather", "size": 1024, "backend": backend}
    found = record({"gather": gather}, command="probe ranks", observed={"out_of_place": observed})
    assert found.workload.tasks["gather"].out_of_place == observed
