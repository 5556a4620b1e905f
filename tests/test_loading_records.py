"""What the loader accepts of records, and the one line it says about each mistake."""

import json
from pathlib import Path

import pytest
from loading_case import errors_of

from c3sim.errors import InputErrors
from c3sim.records import load_records
from c3sim.specs.record import record_id


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Errors print the path relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Records -------------------------------------------------------------------------------------------------------


def record(**changes):
    workload = {"schema": 1, "name": "g", "tasks": {"g": {"kind": "gemm", "m": 64, "n": 64, "k": 64}}}
    data = {
        "schema": 1, "id": "", "suite": "s", "node": "teaching-4", "workload": workload, "strategy": "as_written",
        "measured": {"tasks": {"g": {"time_us": 12.5}}}, "source": "test", "software": "none", "role": "validation",
    }  # fmt: skip
    data["id"] = record_id("teaching-4", workload, "as_written", "none")
    return {**data, **changes}


def records_errors(*lines):
    return errors_of(load_records, "r.jsonl", "\n".join(lines) + "\n")


def test_records_are_read_in_order():
    Path("r.jsonl").write_text(json.dumps(record()) + "\n\n" + json.dumps(record(note="again")) + "\n")
    assert [r.note for r in load_records("r.jsonl")] == ["", "again"]


def test_sizes_in_records_are_bytes_or_have_a_unit():
    def with_size(size):
        workload = {"schema": 1, "name": "c", "tasks": {"c": {"kind": "copy", "bytes": size}}}
        return record(workload=workload, id=record_id("teaching-4", workload, "as_written", "none"))

    Path("r.jsonl").write_text(json.dumps(with_size(1048576)) + "\n" + json.dumps(with_size("1 MiB")))
    first, second = load_records("r.jsonl")
    assert first.workload == second.workload


def test_a_truncated_line_is_named():
    assert records_errors(json.dumps(record()), json.dumps(record())[:40]) == [
        "r.jsonl:2: the line is cut off; each line must be one whole JSON record"
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            json.dumps(record(id="0" * 16)),
            "r.jsonl:1: id: got '0000000000000000'; the id of these conditions (node, workload, strategy, software) "
            f"is {record()['id']!r}",
        ),
        (
            json.dumps(record(measured={"tasks": {"g": {}}})),
            "r.jsonl:1: measured.tasks.g: missing field 'time_us'; it has no default",
        ),
        (
            json.dumps(record(measured={"tasks": {"g": {"time_us": -1}}})),
            "r.jsonl:1: measured.tasks.g.time_us: got -1; must be greater than 0",
        ),
        (
            json.dumps(record()).replace("12.5", "NaN"),
            "r.jsonl:1: NaN is not a JSON number; must be a finite number",
        ),
        (
            json.dumps(record()).replace('"suite"', '"node"'),
            "r.jsonl:1: field 'node' is given twice; each may be given once",
        ),
        (
            json.dumps(record(role="test")),
            "r.jsonl:1: role: unknown value 'test'; allowed: calibration, validation",
        ),
        (
            "{'a': 1}",
            "r.jsonl:1: not valid JSON: expecting property name enclosed in double quotes at column 2; "
            "each line must be one whole JSON record",
        ),
        ("", "r.jsonl:1: the file is empty; it must hold one JSON record per line"),
    ],
)
def test_a_wrong_record_is_one_line(line, message):
    assert records_errors(line) == [message]


def test_the_workload_of_a_record_is_checked_too():
    workload = {
        "schema": 1,
        "name": "g",
        "tasks": {"g": {"kind": "gemm", "m": 64, "n": 64, "k": 64, "after": ["h"]}},
    }
    wrong = record(workload=workload, id=record_id("teaching-4", workload, "as_written", "none"))
    assert records_errors(json.dumps(wrong)) == [
        "r.jsonl:1: workload.tasks.g.after[0]: unknown task 'h'; allowed: g"
    ]


def test_one_id_has_one_role():
    """A measurement that was fitted to may not validate the fit."""
    assert records_errors(json.dumps(record()), json.dumps(record(role="calibration"))) == [
        "r.jsonl:2: role: 'calibration', but r.jsonl:1 has the same id as 'validation'; one id has one role"
    ]


def test_a_missing_file_is_one_line():
    with pytest.raises(InputErrors) as caught:
        load_records("none.jsonl")
    assert (
        str(caught.value) == "none.jsonl: cannot be read (no such file or directory); must be a readable file"
    )
