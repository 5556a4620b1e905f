"""The JSON Schemas agree with the loader on every packaged file."""

import json
from functools import cache

import jsonschema
import pytest
from made_records import line
from turns import has_turn, turn_of_commit

from c3sim.errors import InputError
from c3sim.spec.reading.documents import read_yaml
from c3sim.spec.reading.library import find, names
from c3sim.spec.reading.schemas import KINDS, json_schema


def plain(document):
    """Its data as JSON has it, with lists."""
    return json.loads(json.dumps(document.data))


schema = cache(json_schema)


TURNS = 9  # commits in a row that look at every definition


@cache
def validator(kind):
    return jsonschema.Draft202012Validator(schema(kind))


PACKAGED = [
    (kind, name)
    for kind in ("gpu", "node", "workload", "iteration", "study", "model")
    for name in names(kind)
]


def test_they_are_schemas(request):
    """Kinds share most definitions, each of which is looked at once: a ninth of them, another with
    each commit, or all with --every-case.
    """
    parts, turn, every = {}, turn_of_commit(TURNS), request.config.getoption("--every-case")
    for kind in KINDS:
        whole = schema(kind)
        assert json.loads(json.dumps(whole)) == whole
        root = {key: part for key, part in whole.items() if key != "$defs"}
        parts |= {json.dumps(part): part for part in (root, *whole["$defs"].values())}
    tried = [part for text, part in parts.items() if every or has_turn(text, turn, TURNS)]
    together = {"$defs": {str(number): part for number, part in enumerate(tried)}}
    jsonschema.Draft202012Validator.check_schema(together)


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


def test_sizes_in_a_record_may_be_plain_bytes_and_the_probe_harness_may_add_to_it():
    record = line({"t": {"kind": "copy", "bytes": 4096}}, {"tasks": {"t": {"time_us": 1.5}}})
    harness = {
        **{"command": "probe copy", "revision": "abc", "date": "2026-11-22", "measured": {}},
        "machine": {
            **{"gpus": [{"name": "G"}], "libraries": {"a": "1"}},
            "before": [{"power_w": 1.5, "limited_by": "power"}],
        },
        "sets": {"wall": {"times_us": [1.5], "disturbed": [0], "why": "power"}},
        "observed": {"anything": [{"at": None}]},
    }
    for right in ({}, harness):
        assert [each.message for each in validator("record").iter_errors(record | right)] == []
    for wrong in (
        {"measured": {"tasks": {"t": {}}}},
        {"machine": {"cards": 2}},
        {"sets": {"wall": {"times_us": []}}},
        {"observed": [1]},
    ):
        assert not validator("record").is_valid(record | harness | wrong)


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError) as caught:
        json_schema("nod")
    assert str(caught.value) == "unknown kind of file 'nod'; did you mean 'node'?"
