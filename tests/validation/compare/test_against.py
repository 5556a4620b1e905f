"""``c3sim validate --against``: each figure beside what was predicted before, by name."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from cli_case import invoke
from made_records import GATHER, GEMM, line, write

from c3sim.cli import validate
from c3sim.cli.guard import Guarded

app = typer.Typer(cls=Guarded, pretty_exceptions_enable=False)
app.command("validate")(validate.validate)
app.command("other")(validate.validate)  # so that "validate" has to be said
NAME = "mine: made up: gemm: isolated_gemm"


def run(*arguments: str):
    return invoke("validate", *arguments)


def against(*arguments: str) -> tuple[int, dict]:
    found = run(*arguments, "--json")
    assert found.stdout, found.stderr
    return found.exit_code, json.loads(found.stdout)["against"]


def gemm(time: float, **more):
    return line({"gemm": GEMM}, {"isolated": {"gemm": time}}, **more)


def gather(time: float):
    return line({"gather": GATHER}, {"isolated": {"gather": time}}, suite="links")


@pytest.fixture
def old(here):
    """Two figures, and what is predicted of them."""
    write(here / "mine.jsonl", gemm(250.0), gather(900.0))
    found = run("mine.jsonl", "--json")
    (here / "old.json").write_text(found.stdout, encoding="utf-8")
    return {row["suite"]: row["predicted_us"] for row in json.loads(found.stdout)["cases"]}


def plant(folder, suite: str, predicted: float) -> None:
    """Have *suite* predicted otherwise in the old answers."""
    data = json.loads((folder / "old.json").read_text(encoding="utf-8"))
    for row in data["cases"]:
        if row["suite"] == suite:
            row["predicted_us"] = predicted
    (folder / "old.json").write_text(json.dumps(data), encoding="utf-8")


def test_nothing_moved(here, old):
    code, found = against("mine.jsonl", "--against", "old.json")
    assert code == 0
    nothing = {"moved": [], "lost": [], "unused": []}
    assert found == {"old": "old.json", "pass": True, "new": 0, **nothing}


def test_a_figure_that_got_worse_fails_and_is_named(here, old):
    """It was predicted as measured."""
    plant(here, "mine", 250.0)
    code, found = against("mine.jsonl", "--against", "old.json")
    (moved,) = found["moved"]
    assert code == 1 and found["pass"] is False
    assert (moved["suite"], moved["name"], moved["old"]) == ("mine", "made up: gemm", 250.0)
    assert (moved["new"], moved["towards"]) == (old["mine"], False)
    printed = run("mine.jsonl", "--against", "old.json")
    assert f"{NAME}: 250 -> " in printed.stderr and "away from its measurement" in printed.stderr


def test_a_figure_that_got_better_is_told_and_passes(here, old):
    plant(here, "mine", 10 * old["mine"])
    code, found = against("mine.jsonl", "--against", "old.json")
    assert code == 0 and [each["towards"] for each in found["moved"]] == [True]


def test_one_that_got_better_excuses_none_that_got_worse(here, old):
    plant(here, "mine", 10 * old["mine"])
    plant(here, "links", 900.0)
    code, found = against("mine.jsonl", "--against", "old.json")
    assert code == 1 and {each["suite"]: each["towards"] for each in found["moved"]} == {
        "mine": True,
        "links": False,
    }


def test_a_lost_answer_fails_and_cannot_be_accepted(here, old):
    write(here / "fewer.jsonl", gather(900.0))
    code, found = against("fewer.jsonl", "--against", "old.json")
    assert code == 1 and [each["suite"] for each in found["lost"]] == ["mine"]
    assert f"{NAME}: lost" in run("fewer.jsonl", "--against", "old.json").stderr
    only, _ = against("mine.jsonl", "--against", "old.json", "--suite", "links")
    assert only == 0  # the other suite was not asked


def test_a_new_figure_passes(here, old):
    write(here / "more.jsonl", gemm(250.0), gather(900.0), gemm(260.0, suite="again"))
    code, found = against("more.jsonl", "--against", "old.json")
    assert (code, found["new"]) == (0, 1)


ACCEPT = 'schema: 1\naccepted:\n  - {figure: "mine: *: isolated_gemm", reason: a newer library}\n'


def test_what_is_accepted_passes_with_its_reason(here, old):
    plant(here, "mine", 250.0)
    (here / "worse.yaml").write_text(ACCEPT, encoding="utf-8")
    code, found = against("mine.jsonl", "--against", "old.json", "--accept", "worse.yaml")
    assert (code, found["moved"][0]["accepted"]) == (0, "a newer library")
    plant(here, "links", 900.0)
    code, found = against("mine.jsonl", "--against", "old.json", "--accept", "worse.yaml")
    assert code == 1  # the reason is the other one's


def test_an_acceptance_that_nothing_needs_fails(here, old):
    (here / "worse.yaml").write_text(ACCEPT, encoding="utf-8")
    code, found = against("mine.jsonl", "--against", "old.json", "--accept", "worse.yaml")
    assert (code, found["unused"]) == (1, ["mine: *: isolated_gemm"])


def test_a_move_within_the_repeats_is_none(here, old):
    """Repeats of 200 and 300 us are 0.4 of their mean apart: 100 us of 250."""
    write(here / "mine.jsonl", gemm(200.0), gemm(300.0), gather(900.0))
    plant(here, "mine", old["mine"] + 99.0)
    assert against("mine.jsonl", "--against", "old.json")[1]["moved"] == []
    plant(here, "mine", old["mine"] + 101.0)
    (moved,) = against("mine.jsonl", "--against", "old.json")[1]["moved"]
    assert moved["spread"] == pytest.approx(0.4)


def test_without_repeats_those_of_the_suite_count(here, old):
    """Those of another name in the suite, 0.4 apart: 100 us of this one's 250."""
    again = {"suite": "mine", "name": "repeated"}
    write(here / "mine.jsonl", gemm(250.0), gemm(200.0, **again), gemm(300.0, **again))
    plant(here, "mine", old["mine"] + 99.0)
    found = against("mine.jsonl", "--against", "old.json", "--suite", "mine")[1]
    assert found["moved"] == [] and found["new"] == 1


def test_a_folder_of_golden_figures_is_read_like_a_result(here, old):
    rows = json.loads((here / "old.json").read_text(encoding="utf-8"))["cases"]
    (here / "golden" / "suites").mkdir(parents=True)
    for row in rows:
        case = f"{row['id']} {row['name']}"
        table = {
            "case": [case, case],
            "figure": [row["metric"], f"{row['metric']}, given isolated times"],
            "number": [row["predicted_us"], 1.0],
            "text": pa.array([None, None], pa.string()),
        }
        pq.write_table(pa.table(table), here / "golden" / "suites" / f"{row['suite']}.parquet")
    code, found = against("mine.jsonl", "--against", "golden")
    assert (code, found["moved"], found["lost"], found["new"]) == (0, [], [], 0)


def test_services_are_told(here, old):
    plant(here, "mine", 250.0)
    found = run(
        *("mine.jsonl", "--against", "old.json", "--annotate"),
        *("--junit", "out.xml", "--summary", "out.md"),
    )
    assert "::error title=figures got worse::" in found.stderr
    root = ElementTree.parse(here / "out.xml").getroot()
    (failure,) = root.iter("failure")
    assert NAME in str(failure.text) and root[0].get("failures") == "1"
    assert f"- {NAME}: 250 -> " in (here / "out.md").read_text(encoding="utf-8")


BAD = {
    ("--accept", "worse.yaml"): "--accept: it belongs to --against",
    ("--against", "nowhere.json"): "nowhere.json: cannot be read",
    ("--against", "mine.jsonl"): "mine.jsonl: has no predictions",
    ("--against", "."): "has no predictions",
    ("--coverage", "--against", "old.json"): "--against",
}


@pytest.mark.parametrize(("options", "message"), BAD.items())
def test_bad_input_is_one_line(here, old, options, message):
    found = run("mine.jsonl", *options)
    assert found.exit_code == 2 and message in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
