"""The JSON Schemas agree with the loader on every packaged file."""

import json

import jsonschema
import pytest

from c3sim.errors import InputError
from c3sim.spec.reading.documents import read_yaml
from c3sim.spec.reading.library import find, names
from c3sim.spec.reading.schemas import KINDS, json_schema
from c3sim.spec.record import record_id


def plain(document):
    """Its data as JSON has it, with lists."""
    return json.loads(json.dumps(document.data))


def validator(kind):
    return jsonschema.Draft202012Validator(json_schema(kind))


PACKAGED = [
    (kind, name)
    for kind in ("gpu", "node", "workload", "iteration", "study", "model")
    for name in names(kind)
]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_schema(kind):
    jsonschema.Draft202012Validator.check_schema(json_schema(kind))
    assert json.loads(json.dumps(json_schema(kind))) == json_schema(kind)


@pytest.mark.parametrize(("kind", "name"), PACKAGED)
def test_every_packaged_file_fits_its_schema(kind, name):
    data = plain(read_yaml(find(kind, name).read_text(encoding="utf-8"), name, []))
    assert [f"{e.json_path}: {e.message}" for e in validator(kind).iter_errors(data)] == []


def leaf(**fields):
    return {"value": "5 us", "source": "test", **fields}


@pytest.mark.parametrize(
    ("latency", "fits"),
    [
        (leaf(), True),
        (leaf(interval=["4 us", "6 us"], estimate=True), True),
        (leaf(estimate=True), False),  # an estimate needs an interval
        ({"value": "5 us"}, False),  # a value needs a source
        ("5 us", False),
        (leaf(value=5e-6), False),  # and a unit
        (leaf(value="5 GB"), False),  # of time
        (leaf(sauce="x"), False),
    ],
)
def test_a_number_of_a_hardware_file_is_a_leaf(latency, fits):
    data = plain(read_yaml(find("gpu", "teaching").read_text(encoding="utf-8"), "", []))
    data["dma_engines"]["latency"] = latency
    assert validator("gpu").is_valid(data) == fits


@pytest.mark.parametrize(
    ("size", "fits"),
    [("1 MiB", True), (1048576, True), (896, False), ("1 Mib", False), ("1 GB/s", False)],
)
def test_sizes_in_a_workload_have_a_unit_or_are_bytes(size, fits):
    task = {"kind": "collective", "op": "all_gather", "size": size}
    assert validator("workload").is_valid({"schema": 1, "name": "w", "tasks": {"t": task}}) == fits


def test_sizes_in_a_record_may_be_plain_bytes():
    workload = {"schema": 1, "name": "w", "tasks": {"t": {"kind": "copy", "bytes": 4096}}}
    record = {
        "schema": 1,
        "id": record_id("teaching-4", workload, "as_written", "none"),
        "suite": "s",
        "node": "teaching-4",
        "workload": workload,
        "measured": {"tasks": {"t": {"time_us": 1.5}}},
        "source": "test",
        "software": "none",
        "role": "validation",
    }
    assert validator("record").is_valid(record)
    assert not validator("record").is_valid({**record, "measured": {"tasks": {"t": {}}}})


def test_what_the_probe_harness_adds_to_a_record_is_in_the_schema():
    workload = {"schema": 1, "name": "w", "tasks": {"t": {"kind": "copy", "bytes": 4096}}}
    record = {
        "schema": 1,
        "id": "0" * 16,
        "suite": "s",
        "node": "teaching-4",
        "workload": workload,
        "measured": {},
        "source": "test",
        "software": "none",
        "role": "validation",
        "command": "probe copy",
        "revision": "abc",
        "date": "2026-11-22",
        "machine": {
            "gpus": [{"name": "G"}],
            "before": [{"power_w": 1.5, "limited_by": "power"}],
            "libraries": {"a": "1"},
        },
        "sets": {"wall": {"times_us": [1.5], "disturbed": [0], "why": "power"}},
        "observed": {"anything": [{"at": None}]},
    }
    assert [error.message for error in validator("record").iter_errors(record)] == []
    for wrong in (
        {"machine": {"cards": 2}},
        {"sets": {"wall": {"times_us": []}}},
        {"observed": [1]},
    ):
        assert not validator("record").is_valid({**record, **wrong})


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError) as caught:
        json_schema("nod")
    assert str(caught.value) == "unknown kind of file 'nod'; did you mean 'node'?"
