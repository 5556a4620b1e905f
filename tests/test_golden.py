"""The check of golden figures sees one figure that moved, one that was lost, one word of a message.

CI runs the check itself (``.ci/run``), so that all records are predicted once.
"""

from __future__ import annotations

import json
import sys
from functools import cache

import pytest
from places import ROOT

TOOLS = ROOT / "tools"
sys.path.insert(0, str(TOOLS))

import golden  # noqa: E402
import golden_figures  # noqa: E402
import golden_mistakes  # noqa: E402
import golden_pieces  # noqa: E402
from golden_figures import add, differences, flat, read, write  # noqa: E402

sys.path.remove(str(TOOLS))  # tools/coverage.py is not what numba imports as coverage

FIGURES = {("pair", "wall_s"): 2e-3, ("pair", "tasks.gemm.kind"): "gemm", ("one", "wall_s"): 0.0}

LISTED = cache(golden_pieces._listed)  # what is packaged stays as it is


@pytest.fixture
def tool(monkeypatch, capsys):
    """Runs ``python tools/golden.py`` in this process: its exit code or last words, its output."""

    monkeypatch.setattr(golden_pieces, "_listed", LISTED)

    def run(*words: str) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["golden.py", *words])
        try:
            code = golden.main()
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(golden_figures, "FOLDER", tmp_path)
    return tmp_path


def test_what_is_written_is_read_again(folder):
    write("laws/node", FIGURES)
    assert read("laws/node") == FIGURES
    write("laws/node", {})
    assert read("laws/node") == {} and list(folder.rglob("*.parquet")) == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (("pair", "wall_s"), 2e-3 * (1 + 2e-9), "pair: wall_s: 0.002 -> 0.002000000004 (+2e-07 %)"),
        (("pair", "wall_s"), "late", "pair: wall_s: 0.002 -> 'late'"),
        (("pair", "tasks.gemm.kind"), "copy", "pair: tasks.gemm.kind: 'gemm' -> 'copy'"),
        (("one", "wall_s"), 2e-15, "one: wall_s: 0 -> 2e-15"),
        (("two", "wall_s"), 1.0, "two: wall_s: new, 1"),
    ],
)
def test_one_figure_that_differs_is_named(key, value, told):
    assert [str(one) for one in differences(FIGURES, {**FIGURES, key: value})] == [told]


def test_a_lost_figure_is_named():
    fewer = {key: value for key, value in FIGURES.items() if key[0] != "one"}
    assert [str(one) for one in differences(FIGURES, fewer)] == ["one: wall_s: lost, was 0"]


def test_last_digits_do_not_count():
    """A part in 1e9, and a femtosecond."""
    near = {**FIGURES, ("pair", "wall_s"): 2e-3 * (1 + 5e-10), ("one", "wall_s"): 5e-16}
    assert differences(FIGURES, near) == []


def test_the_figure_that_moved_most_comes_first():
    old = {("case", name): 1.0 for name in "abc"}
    new = {("case", "a"): 1.1, ("case", "b"): 2.0, ("case", "c"): 1.0}
    assert [one.figure for one in differences(old, new)] == ["b", "a"]


def test_every_leaf_of_an_answer_is_a_figure():
    data = {"wall_s": 1, "tasks": [{"name": "x", "at": None}], "folded": True, "none": {}}
    assert flat("case", data) == {
        ("case", "wall_s"): 1.0,
        ("case", "tasks[0].name"): "x",
        ("case", "tasks[0].at"): "None",
        ("case", "folded"): "True",
    }


def test_no_figure_hides_another():
    with pytest.raises(ValueError, match="there twice"):
        add(dict(FIGURES), "pair", "wall_s", 1.0)


def test_the_answer_to_a_mistake_is_its_message_wherever_it_is_tried():
    files = {"w.yaml": "schema: 1\nname: w\ntasks:\n  a: {kind: gem}\n"}
    code, said = golden_mistakes.answer(["show", "w.yaml"], files)
    assert code == 2
    assert said == "w.yaml:4: tasks.a.kind: unknown value 'gem'; did you mean 'gemm'?\n"
    code, said = golden_mistakes.answer(["run", "{root}/nowhere.yaml"], {})
    assert code == 2 and "{root}/nowhere.yaml" in said


def test_every_planted_mistake_has_its_message():
    known = {case for case, _ in read("mistakes")}
    assert known == set(golden_mistakes.planted()) and len(known) > 100


def test_figures_are_written_with_a_reason_alone(tool):
    code, said = tool("--write", "--only", "workloads")
    assert code == 2 and "--write needs --why" in said
    assert "all cases" in tool("--write", "--why", "a test", "--sample")[1]


def test_a_sample_is_compared_with_its_own_figures_alone():
    kept = read("laws/h100-1")
    first = next(iter(kept))[0]
    found = {key: value for key, value in kept.items() if key[0] == first}
    assert golden._kept("laws/h100-1", found, True) == found != kept
    assert golden._kept("laws/h100-1", found, False) == kept


def test_ten_samples_in_a_row_have_every_piece(monkeypatch):
    """But for studies that are left out and the suites, which CI compares with its verdict on all
    records; of the laws every node has a share in each.
    """
    listed = {"studies": ["bert", "a", "b"], "nodes": ["n"], "iterations": [*"abcdefg"]}
    monkeypatch.setattr(golden_pieces, "_listed", lambda: {**listed, "workloads": [*"hij"]})
    turns = [list(golden_pieces.pieces(None, turn=n)) for n in range(golden_pieces.TURNS)]
    asked = {(piece.name, piece.make.args) for turn in turns for piece in turn}
    whole = {(piece.name, piece.make.args) for piece in golden_pieces.pieces(None)}
    assert {name for name, _ in whole} - {name for name, _ in asked} == {"studies/bert", "suites"}
    assert {one for one in whole if one[0] in ("mistakes", "iterations", "workloads")} <= asked


def test_an_unknown_part_is_refused_with_those_there_are(tool):
    assert "laws/teaching-4" in tool("--only", "lwas")[0]


@pytest.mark.slow
def test_a_planted_change_of_one_record_is_seen(tool, tmp_path):
    """As CI calls it: one prediction of a suite 0.1 % longer than it is kept."""
    kept = read("suites/babelstream")
    rows = [
        {"suite": "babelstream", "id": case.split(" ", 1)[0], "name": case.split(" ", 1)[1]}
        | {"metric": figure, "predicted_us": value, "measured_us": 1.0}
        | {"error_given_isolated": None}
        for (case, figure), value in kept.items()
    ]
    verdict = tmp_path / "verdict.json"
    words = ("--only", "babelstream", "--validated", str(verdict))
    verdict.write_text(json.dumps({"cases": rows}), encoding="utf-8")
    assert tool(*words)[0] == 0
    rows[0]["predicted_us"] *= 1.001
    verdict.write_text(json.dumps({"cases": rows}), encoding="utf-8")
    code, said = tool(*words)
    assert code == 1 and f"{rows[0]['id']} {rows[0]['name']}" in said
    assert "1 moved" in said and "(+0.1 %)" in said
