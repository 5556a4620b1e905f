"""Records of the probe that are older than the field that says what operands held."""

from __future__ import annotations

import json

import pytest

from c3sim.input.records import parse_record
from c3sim.specs.record import record_id


@pytest.mark.parametrize(
    ("command", "data"),
    [
        ("probe gemm --shape 8x8x8", "pattern"),
        ("probe ranks --first gemm:8x8x8", "random"),
        ("", "random"),
    ],
)
def test_what_operands_held(command: str, data: str) -> None:
    workload = {
        "schema": 1,
        "name": "x",
        "tasks": {"gemm": {"kind": "gemm", "m": 8, "n": 8, "k": 8}},
    }
    line = {
        "schema": 1,
        "id": record_id("h200-2", workload, "as_written", "s"),
        "suite": "s",
        "node": "h200-2",
        "workload": workload,
        "measured": {"isolated": {"gemm": 10.0}},
        "source": "a test",
        "software": "s",
        "role": "validation",
        "command": command,
    }
    assert parse_record(json.dumps(line)).workload.tasks["gemm"].data == data
