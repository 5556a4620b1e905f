"""Workload files that look like records, and tasks whose kind is called as one of their fields."""

import json
from pathlib import Path

import pytest

from c3sim.spec.reading.loading import load_workload, parse_workload

pytestmark = pytest.mark.usefixtures("here")


def test_the_workload_of_a_record_is_a_workload_file():
    """Records hold plain numbers; what one holds can be run as it stands. In YAML a number below
    1024 is most likely of MiB, so it needs a unit.
    """
    data = {"schema": 1, "name": "c", "tasks": {"c": {"kind": "copy", "bytes": 4096}}}
    Path("w.json").write_text(json.dumps(data))
    Path("w.yaml").write_text("schema: 1\nname: c\ntasks: {c: {kind: copy, bytes: 4096.0}}\n")
    assert load_workload("w.json") == load_workload("w.yaml") == parse_workload(data)
    tasks = {"c": {"kind": "copy", "bytes": 64}, "h": {"kind": "host", "time": 1e-6}}
    Path("w.json").write_text(json.dumps({**data, "tasks": tasks}))
    assert load_workload("w.json").tasks["c"].bytes == 64
