"""What the loader accepts, and the one line it says about each mistake."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3sim import library
from c3sim.conform import Conform
from c3sim.constraints import validate
from c3sim.errors import InputErrors
from c3sim.loading import load_hardware, load_study, load_workload, open_workload, parse_workload
from c3sim.records import load_records
from c3sim.specs.record import record_id
from c3sim.specs.workload import Workload
from c3sim.yaml_nodes import read_yaml

HWMODELS = library.find("gpu", "teaching").parent

WORKLOAD = """\
schema: 1
name: pair
tasks:
  gather:
    kind: collective
    op: all_gather
    size: 896 MiB
    stream: comm
  gemm: {kind: gemm, m: 8192, n: 8192, k: 8192}
streams:
  comm: {priority: 1, compute_units: "0-31"}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Errors print the path relative to the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def errors_of(load, name, text):
    data = text if isinstance(text, bytes) else text.encode()
    Path(name).write_bytes(data)
    with pytest.raises(InputErrors) as caught:
        load(Path(name))
    return str(caught.value).splitlines()


# Hardware ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", library.names("node"))
def test_every_packaged_node_loads_and_every_number_has_a_source(name):
    loaded = load_hardware(name)
    assert all(leaf.source for leaf in loaded.provenance.values())
    assert all(leaf.interval for leaf in loaded.provenance.values() if leaf.estimate)


def test_a_leaf_is_kept_beside_the_plain_number():
    loaded = load_hardware("teaching-4")
    assert loaded.node.gpu.hbm.bandwidth == 250e9
    leaf = loaded.provenance["gpu.hbm.bandwidth"]
    assert (leaf.text, leaf.value, leaf.unit) == ("250 GB/s", 250e9, "B/s")
    assert leaf.source == "invented for teaching"
    lines = Path(leaf.file).read_text().splitlines()
    assert "bandwidth: {value: 250 GB/s" in lines[leaf.line - 1]


def test_intervals_are_converted_like_values():
    leaf = load_hardware("mi300x-8").provenance["gpu.dma_engines.latency"]
    assert leaf.interval == (4e-6, 6.5e-6)
    assert leaf.estimate


def _gpu_with(old, new):
    text = (HWMODELS / "teaching.yaml").read_text()
    assert old in text
    return text.replace(old, new)


def _node(gpu="gpu: ./gpu.yaml"):
    return (HWMODELS / "nodes" / "teaching-4.yaml").read_text().replace("gpu: teaching", gpu)


def _gpu_line(start):
    lines = Path("gpu.yaml").read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.strip().startswith(start))


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        (
            "bandwidth: {value: 250 GB/s,",
            "bandwith: {value: 250 GB/s,",
            "bandwith",
            "hbm: unknown field 'bandwith'; did you mean 'bandwidth'?",
        ),
        (
            "{value: 250 GB/s, source: invented for teaching}",
            "250 GB/s",
            "bandwidth: 250",
            "hbm.bandwidth: '250 GB/s' has no source; write {value: ..., source: ...}",
        ),
        (
            "{value: 250 GB/s, source: invented for teaching}",
            "{value: 250 GB/s}",
            "bandwidth: {value: 250",
            "hbm.bandwidth: the value has no source; say where it comes from, as source: ...",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250,",
            "bandwidth: {value: 250",
            "hbm.bandwidth: 250 has no unit; append one that converts to B/s, as in '48 GB/s'",
        ),
        (
            "{value: 250 GB/s,",
            "{value: -250 GB/s,",
            "bandwidth: {value: -250",
            "hbm.bandwidth: got '-250 GB/s'; must be greater than 0",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 2000 Gb/s,",
            "bandwidth: {value: 2000",
            "hbm.bandwidth: unit 'Gb/s' counts bits; only bytes parse, such as GB/s (8 bits are 1 byte), as in '48 GB/s'",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250 GB/s, estimate: true,",
            "bandwidth: {value: 250",
            "hbm.bandwidth: an estimate needs an interval; write interval: [low, high]",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250 GB/s, interval: [1 GB/s, 2 GB/s],",
            "bandwidth: {value: 250",
            "hbm.bandwidth.interval: ['1 GB/s', '2 GB/s'] does not hold the value '250 GB/s'; "
            "must be [low, high] around it",
        ),
        (
            "{value: 250 GB/s,",
            "{value: 250 GB/s, sauce: x,",
            "bandwidth: {value: 250",
            "hbm.bandwidth: unknown field 'sauce'; did you mean 'source'?",
        ),
        (
            "mixed_efficiency: {value: 0.8,",
            "mixed_efficiency: {value: 1.8,",
            "mixed_efficiency",
            "hbm.mixed_efficiency: got 1.8; must be at most 1",
        ),
        (
            "shader_engines: {value: [4, 3],",
            "shader_engines: {value: [4, 0],",
            "shader_engines",
            "dies.shader_engines[1]: got 0; must be greater than 0",
        ),
        (
            "dispatch: {value: weighted_rotation,",
            "dispatch: {value: strict_rotatoin,",
            "dispatch",
            "dies.dispatch: unknown value 'strict_rotatoin'; did you mean 'strict_rotation'?",
        ),
    ],
)
def test_a_mistake_in_a_gpu_file_is_named_on_its_line(old, new, at, message):
    Path("gpu.yaml").write_text(_gpu_with(old, new))
    lines = errors_of(load_hardware, "node.yaml", _node())
    assert f"gpu.yaml:{_gpu_line(at)}: {message}" in lines
    others = [line for line in lines if message not in line]
    assert all("missing field" in line for line in others)  # a misspelt field is missing under its right name


def test_a_node_can_hold_its_gpu_inline():
    inline = "gpu:\n" + "".join(
        f"  {line}\n" for line in (HWMODELS / "teaching.yaml").read_text().splitlines()
    )
    Path("node.yaml").write_text(_node(inline))
    inlined, referenced = load_hardware("node.yaml"), load_hardware("teaching-4")
    assert inlined.node == referenced.node
    assert inlined.provenance.keys() == referenced.provenance.keys()


def test_an_unknown_gpu_is_an_error_of_the_node_file():
    lines = errors_of(load_hardware, "node.yaml", _node("gpu: teachin"))
    line = 1 + _node("gpu: teachin").splitlines().index("gpu: teachin")
    assert lines == [f"node.yaml:{line}: gpu: unknown gpu 'teachin'; did you mean 'teaching'?"]


def test_a_rule_of_the_whole_node_is_told_in_its_own_words():
    lines = errors_of(
        load_hardware,
        "node.yaml",
        _node("gpu: teaching").replace("{value: 4, source", "{value: 2, source", 1),
    )
    assert lines == ["node.yaml:1: a ring needs at least 3 GPUs, got gpus=2"]


# Workloads -----------------------------------------------------------------------------------------------------


def test_a_workload_is_read_with_units():
    Path("w.yaml").write_text(WORKLOAD)
    workload = load_workload("w.yaml")
    assert workload.tasks["gather"].size == 896 * 2**20
    assert workload.streams["comm"].compute_units == "0-31"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("size: 896 MiB", "size: 896", "w.yaml:7: tasks.gather.size: 896 has no unit; append one that converts to B, as in '256 MiB'"),
        ("size: 896 MiB", "size: 0 MiB", "w.yaml:7: tasks.gather.size: got '0 MiB'; must be greater than 0"),
        ("size: 896 MiB", "size: .nan", "w.yaml:7: tasks.gather.size: '.nan' is not finite; write a finite number and a unit, as in '256 MiB'"),
        ("size: 896 MiB", "size: 0.3 KiB", "w.yaml:7: tasks.gather.size: '0.3 KiB' is 307.2 bytes; must come out as whole bytes"),
        ("size: 896 MiB", "size:", "w.yaml:7: tasks.gather.size: null is not a quantity; write a number and a unit, as in '256 MiB'"),
        ("m: 8192", "m: -8192", "w.yaml:9: tasks.gemm.m: got -8192; must be greater than 0"),
        ("m: 8192", "m: '8192'", "w.yaml:9: tasks.gemm.m: '8192' is not a whole number; must be one, written in digits"),
        ("m: 8192", "m: 08192", "w.yaml:9: tasks.gemm.m: '08192' is not a whole number; must be one, written in digits"),
        ("m: 8192", "m: true", "w.yaml:9: tasks.gemm.m: true is not a whole number; must be one, written in digits"),
        ("m: 8192, ", "", "w.yaml:9: tasks.gemm: missing field 'm'; it has no default"),
        ("kind: gemm", "kind: gem", "w.yaml:9: tasks.gemm.kind: unknown value 'gem'; did you mean 'gemm'?"),
        ("kind: gemm, ", "", "w.yaml:9: tasks.gemm: missing field 'kind'; allowed: gemm, stream, collective, copy, commands, host"),
        ("op: all_gather", "op: allgather", "w.yaml:6: tasks.gather.op: unknown value 'allgather'; did you mean 'all_gather'?"),
        ("    stream: comm", "    size: 1 MiB\n    stream: comm", "w.yaml:8: tasks.gather: field 'size' is given twice, first on line 7; each may be given once"),
        ("    stream: comm", "    <<: x\n    stream: comm", "w.yaml:8: tasks.gather: merge key '<<' is not supported; write the fields out"),
        ("priority: 1", "priority: high", "w.yaml:11: streams.comm.priority: 'high' is not a whole number; must be one, written in digits"),
        ("priority: 1", "priority: *high", "w.yaml:11: streams.comm.priority: alias '*high' is not supported; write the value itself"),
        ("schema: 1", "schema: 2", "w.yaml:1: schema: unknown value '2'; allowed: 1"),
        ("  gemm: {kind", "  gemm: [kind", "w.yaml:9: not valid YAML: expected ',' or ']', but got '}'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_workload_is_one_line(old, new, message):
    assert old in WORKLOAD
    assert errors_of(load_workload, "w.yaml", WORKLOAD.replace(old, new, 1)) == [message]


def test_all_mistakes_are_told_at_once_in_file_order():
    text = (
        WORKLOAD.replace("896 MiB", "896 bananas")
        .replace("m: 8192", "m: 0")
        .replace("name: pair", "nmae: pair")
    )
    assert errors_of(load_workload, "w.yaml", text) == [
        "w.yaml:1: missing field 'name'; it has no default",
        "w.yaml:2: unknown field 'nmae'; did you mean 'name'?",
        "w.yaml:7: tasks.gather.size: unknown unit 'bananas'; write a unit that converts to B, as in '256 MiB'",
        "w.yaml:9: tasks.gemm.m: got 0; must be greater than 0",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "w.yaml:1: the file is empty; it must hold a mapping of fields"),
        ("# nothing\n", "w.yaml:1: the file is empty; it must hold a mapping of fields"),
        (
            "[1, 2]",
            "w.yaml:1: [1, 2] is not a mapping; needs the fields schema, name, description, source, node, buffers, "
            "tasks, streams, host",
        ),
        (WORKLOAD + "---\na: 1\n", "w.yaml:12: a second document begins here; a file holds one"),
        (b"schema: 1\nname: \xff\n", "w.yaml:2: byte 0xff is not UTF-8 text; save the file as UTF-8"),
        ("a: \x01", "w.yaml:1: not valid YAML: character '\\x01'; only text is allowed"),
        ("[" * 100_000, "w.yaml:1: nested more than 40 deep; spec files have a handful of levels"),
    ],
)
def test_a_file_that_is_no_workload_at_all(text, message):
    lines = errors_of(load_workload, "w.yaml", text)
    assert lines == [message]


@given(st.data())
def test_no_damage_to_a_file_raises_anything_else(data):
    """Characters dropped, doubled and replaced anywhere: either it still loads, or there are one-line errors."""
    text = WORKLOAD
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text = (
            text[:at]
            + data.draw(st.sampled_from(["", "-", ":", "{", "[", "0", "\n", "\t", "&a", "*a", "é", '"']))
            + text[at + 1 :]
        )
    errors = []
    item = read_yaml(text, "w.yaml", errors)
    document = Conform(style="text", file="w.yaml", errors=errors)
    if item is not None and validate(document, Workload, document.model(item, Workload)) is None:
        assert errors
    assert all("\n" not in str(error) and str(error).startswith("w.yaml:") for error in errors)


def test_a_byte_order_mark_is_harmless():
    Path("w.yaml").write_bytes(b"\xef\xbb\xbf" + WORKLOAD.encode())
    assert load_workload("w.yaml").name == "pair"


def test_yaml_surprises_do_not_bite():
    """YAML 1.1 reads these as True, 750, 8 and a string; here they are what they look like."""
    text = "a: on\nb: 12:30\nc: 010\nd: 5.3e12\ne: 'true'\nf: true\ng: ~\nh: 1_000\n"
    item = read_yaml(text, "f", [])
    assert [entry.value for entry in item.value.values()] == [
        "on",
        "12:30",
        "010",
        5.3e12,
        "true",
        True,
        None,
        "1_000",
    ]


def test_later_checks_know_the_lines_too():
    """A workload is right or wrong only with a node: the loaded workload keeps the lines for that."""
    Path("w.yaml").write_text(WORKLOAD.replace("0-31", "0-400"))
    loaded = open_workload("w.yaml")
    with pytest.raises(InputErrors) as caught:
        loaded.check_on(load_hardware("mi300x-8").node)
    assert str(caught.value) == (
        "w.yaml:11: streams.comm.compute_units: '0-400' in mask '0-400' is beyond the last compute unit; "
        "bits are 0 to 303, as in '0-303'"
    )


def test_python_data_needs_units_unless_told_otherwise():
    data = {"schema": 1, "name": "c", "tasks": {"c": {"kind": "copy", "bytes": 4096}}}
    assert parse_workload(data, plain_si=True).tasks["c"].bytes == 4096
    with pytest.raises(InputErrors) as caught:
        parse_workload(data)
    assert (
        str(caught.value) == "tasks.c.bytes: 4096 has no unit; append one that converts to B, as in '256 MiB'"
    )


# Studies -------------------------------------------------------------------------------------------------------


def test_a_study_keeps_set_values_as_written():
    Path("s.yaml").write_text(
        'schema: 1\nname: s\nworkload: pair\naxes:\n  links.bandwidth: [48 GB/s, "96 GB/s"]\n'
    )
    assert load_study("s.yaml").axes == {"links.bandwidth": ("48 GB/s", "96 GB/s")}


def test_a_study_with_nothing_to_run_is_refused():
    lines = errors_of(load_study, "s.yaml", "schema: 1\nname: s\n")
    assert lines == ["s.yaml:1: nothing to run: give scenarios, or a workload and axes"]


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
