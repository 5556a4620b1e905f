"""Workloads and studies that the loader accepts, and the one line it says about each mistake."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loading_case import WORKLOAD, errors_of

from c3sim.errors import InputErrors
from c3sim.spec.base import Reading
from c3sim.spec.reading.documents import read_yaml
from c3sim.spec.reading.loading import (
    load_node,
    load_study,
    load_workload,
    open_workload,
    parse_workload,
)
from c3sim.spec.reading.mistakes import read
from c3sim.spec.workload import Workload

pytestmark = pytest.mark.usefixtures("here")


# Workloads ----------------------------------------------------------------------------------------
# -------------


def test_a_workload_is_read_with_units():
    Path("w.yaml").write_text(WORKLOAD)
    workload = load_workload("w.yaml")
    assert workload.tasks["gather"].size == 896 * 2**20
    assert workload.streams["comm"].compute_units == "0-31"


def test_all_mistakes_are_told_at_once_in_file_order():
    text = (
        WORKLOAD.replace("896 MiB", "896 bananas")
        .replace("m: 8192", "m: 0")
        .replace("name: pair", "nmae: pair")
    )
    assert errors_of(load_workload, "w.yaml", text) == [
        "w.yaml:1: missing field 'name'; it has no default",
        "w.yaml:2: unknown field 'nmae'; did you mean 'name'?",
        "w.yaml:7: tasks.gather.size: unknown unit 'bananas'; write a unit that converts to B, "
        "as in '256 MiB'",
        "w.yaml:9: tasks.gemm.m: got 0; must be greater than 0",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# " + "x" * 4 * 2**20,
            "w.yaml: is larger than 4 MiB, the most that such a file may have",
        ),
        (
            b"schema: 1\nname: \xff\n",
            "w.yaml:2: byte 0xff is not UTF-8 text; save the file as UTF-8",
        ),
        ("[" * 100_000, "w.yaml:1: nested more than 40 deep; spec files have a handful of levels"),
    ],
)
def test_a_file_that_is_no_workload_at_all(text, message):
    lines = errors_of(load_workload, "w.yaml", text)
    assert lines == [message]


@given(st.data())
def test_no_damage_to_a_file_raises_anything_else(data):
    """Characters dropped, doubled and replaced anywhere: either it still loads, or there are
    one-line errors.
    """
    text = WORKLOAD
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text = (
            text[:at]
            + data.draw(
                st.sampled_from(["", "-", ":", "{", "[", "0", "\n", "\t", "&a", "*a", "é", '"'])
            )
            + text[at + 1 :]
        )
    errors = []
    document = read_yaml(text, "w.yaml", errors)
    if document is not None and not errors:
        try:
            read(Workload, document, Reading("text"))
        except InputErrors as caught:
            errors = list(caught.errors)
            assert errors
    assert all("\n" not in str(error) and str(error).startswith("w.yaml:") for error in errors)


def test_a_byte_order_mark_is_harmless():
    Path("w.yaml").write_bytes(b"\xef\xbb\xbf" + WORKLOAD.encode())
    assert load_workload("w.yaml").name == "pair"


def test_yaml_surprises_do_not_bite():
    """YAML 1.1 reads these as True, 750, 8 and a string; here they are what they look like."""
    text = "a: on\nb: 12:30\nc: 010\nd: 5.3e12\ne: 'true'\nf: true\ng: ~\nh: 1_000\n"
    assert list(read_yaml(text, "f", []).data.values()) == [
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
    """Some mistakes show only with a node: the loaded workload keeps the lines for that."""
    Path("w.yaml").write_text(WORKLOAD.replace("0-31", "0-400"))
    loaded = open_workload("w.yaml")
    with pytest.raises(InputErrors) as caught:
        loaded.check_on(load_node("mi300x-8"))
    assert str(caught.value) == (
        "w.yaml:11: streams.comm.compute_units: '0-400' in mask '0-400' is beyond the last "
        "compute unit; "
        "bits are 0 to 303, as in '0-303'"
    )


def test_python_data_needs_units_unless_told_otherwise():
    """Bytes need none either way, as in records."""
    tasks = {"c": {"kind": "copy", "bytes": 4096}, "h": {"kind": "host", "time": 1e-6}}
    data = {"schema": 1, "name": "c", "tasks": tasks}
    assert parse_workload(data, plain_si=True).tasks["c"].bytes == 4096
    with pytest.raises(InputErrors) as caught:
        parse_workload(data)
    assert (
        str(caught.value)
        == "tasks.h.time: 1e-06 has no unit; append one that converts to s, as in '2.5 us'"
    )


# Studies ------------------------------------------------------------------------------------------
# -------------


def test_a_study_keeps_set_values_as_written():
    Path("s.yaml").write_text(
        'schema: 1\nname: s\nworkload: pair\naxes:\n  links.bandwidth: [48 GB/s, "96 GB/s"]\n'
    )
    assert load_study("s.yaml").axes == {"links.bandwidth": ("48 GB/s", "96 GB/s")}


def test_a_study_with_nothing_to_run_is_refused():
    lines = errors_of(load_study, "s.yaml", "schema: 1\nname: s\n")
    assert lines == ["s.yaml:1: nothing to run: give scenarios, or a workload and axes"]


def test_the_first_ten_of_many_mistakes_are_told_in_short_lines(tmp_path):
    """3,000 tasks of a wrong kind, each with a name of 500 letters."""
    path = tmp_path / "w.yaml"
    tasks = "".join(f"  {'t' * 500}{number}: {{kind: {'x' * 500}}}\n" for number in range(3000))
    path.write_text(f"schema: 1\nname: many\ntasks:\n{tasks}")
    with pytest.raises(InputErrors) as caught:
        load_workload(path)
    lines = str(caught.value).splitlines()
    assert len(caught.value.errors) == 3000 and len(lines) == 11
    assert lines[-1] == "and 2990 more mistakes" and max(map(len, lines)) <= 300
