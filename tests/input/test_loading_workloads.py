"""Workload files that look like records, and tasks whose kind is called as one of their fields."""

import json
from pathlib import Path

import pytest
from loading_case import errors_of

from c3sim.input.loading import load_workload, parse_workload


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("stream: s, bytes: 1.5 B", "tasks.x.bytes: '1.5 B' is 1.5 bytes"),
        ("stream: s, bytes: 0 B", "tasks.x.bytes: got '0 B'; must be greater than 0"),
        ("stream: s, bytes: 1 MiB, passes: 0", "tasks.x.passes: got 0; must be greater than 0"),
        ("stream: 3, bytes: 1 MiB", "tasks.x.stream: 3 is not text"),
        ("stream: s", "tasks.x: missing field 'bytes'"),
    ],
)
def test_a_task_of_kind_stream_in_a_stream_has_its_mistake_where_it_is(task, said):
    """Its kind is called as one of its fields is."""
    text = f"schema: 1\nname: w\ntasks:\n  x: {{kind: stream, {task}}}\n"
    (error,) = errors_of(load_workload, "w.yaml", text)
    assert error.startswith(f"w.yaml:4: {said}"), error
