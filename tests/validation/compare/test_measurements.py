"""Repeats of one measurement count once; records without times are shown, not compared."""

from __future__ import annotations

import json

import pytest
from cli_case import invoke
from made_records import GATHER, GEMM, line, pair, pair_line, record, write

from c3sim.spec.reading.hardware import load_node
from c3sim.spec.record import Record
from c3sim.validation.compare import measurements
from c3sim.validation.compare.measurements import merge, observations, spread, spread_by_suite
from c3sim.validation.compare.predict import predict_record
from c3sim.validation.compare.record_files import load, nodes_for
from c3sim.validation.compare.verdict import validate
from c3sim.validation.pages import render

FIRST, SECOND = pair(250, 800, (400, 900)), pair(270, 800, (480, 1000))
SEEN = {"launch": [1.5, 2.5], "where": {"wg0": "SM 3"}}


def observed(**more: object) -> Record:
    return Record.model_validate(
        {**line({"gemm": GEMM}, {}, node="nowhere-4"), "observed": SEEN, **more}
    )


def test_the_mean_of_each_time_stands_for_repeats():
    (one,) = merge([FIRST, SECOND])
    assert one.repeats == (FIRST, SECOND)
    measured = one.record.measured
    assert measured.wall_us == pytest.approx(950)
    assert {name: time.time_us for name, time in measured.tasks.items()} == {
        "gemm": 440,
        "gather": 950,
    }
    assert measured.isolated == {"gemm": 260, "gather": 800}


def test_a_task_behind_others_counts_from_its_own_start():
    """The gather, behind the GEMM in one stream, takes what it takes alone: nothing overlaps."""
    tasks = {"gemm": {**GEMM, "stream": "one"}, "gather": {**GATHER, "stream": "one"}}
    timed = record(tasks, {"isolated": {"gather": 1000.0}, "lasting": {"gather": 1100.0}})
    repeat = record(tasks, {"isolated": {"gather": 1000.0}, "lasting": {"gather": 1300.0}})
    (one,) = merge([timed, repeat])
    key = ("collective_lasting", "gather")
    assert measurements.measured_figures(one.record)[key] == 1200
    predicted = predict_record(load_node("mi300x-8"), one.record)
    assert predicted.own[key] == pytest.approx(
        predicted.own["isolated_collective", "gather"], rel=0.01
    )
    assert predicted.given[key] == pytest.approx(1000, rel=0.01)


def test_samples_add_up_and_other_conditions_stay_apart():
    some = FIRST.changed(samples=10)
    found = merge([some, pair(250, 800, (400, 900), name="other"), some, FIRST.changed(suite="b")])
    assert [(len(one.repeats), one.record.samples) for one in found] == [
        (2, 20),
        (1, None),
        (1, None),
    ]


def test_repeats_differ_figure_by_figure_over_all_pairs():
    (one,) = merge([FIRST, SECOND])
    assert one.differences(("wall", "")) == (pytest.approx(100 / 950),)
    assert one.differences(("gemm_time", "gemm")) == (pytest.approx(80 / 440),)
    assert one.differences(("isolated_gemm", "gemm")) == (pytest.approx(20 / 260),)
    a, b = 400 / 250, 480 / 270
    assert one.differences(("gemm_slowdown", "gemm")) == (pytest.approx((b - a) / ((a + b) / 2)),)
    (three,) = merge([FIRST, SECOND, FIRST])
    assert len(three.differences(("wall", ""))) == 3
    (single,) = merge([FIRST])
    assert single.differences(("wall", "")) == ()


def test_pairs_of_many_repeats_grow_with_their_number_alone(monkeypatch):
    """6 repeats are 15 pairs; with 6 pairs at most each is paired with the one behind it: 5."""
    monkeypatch.setattr(measurements, "MOST_PAIRS", 6)
    (one,) = merge([FIRST, SECOND] * 3)
    assert one.differences(("wall", "")) == (pytest.approx(100 / 950),) * 5


def test_median_and_tail_of_the_spread():
    found = spread([0.01 * i for i in range(11)])
    assert (found.pairs, found.median, found.p90) == (11, pytest.approx(0.05), pytest.approx(0.09))
    assert spread([]) is None


def test_the_spread_of_a_suite_is_of_its_times():
    found = spread_by_suite(
        merge([FIRST, SECOND, record({"gather": GATHER}, {"isolated": {"gather": 1.0}}, suite="b")])
    )
    assert set(found) == {"mine"} and found["mine"].pairs == 5  # wall, two tasks, two alone


def test_repeats_are_compared_once_by_their_mean():
    records = [FIRST, SECOND]
    verdict = validate(records, nodes_for(records), jobs=1)
    data = verdict.to_dict()
    wall = [case for case in data["cases"] if case["metric"] == "wall"]
    assert [(case["measured_us"], case["repeats"]) for case in wall] == [(pytest.approx(950), 2)]
    row = next(row for row in data["suites"] if row["metric"] == "wall")
    assert row["cases"] == 1 and row["repeats"] == {
        "pairs": 1,
        "median": pytest.approx(100 / 950),
        "p90": pytest.approx(100 / 950),
    }
    assert data["repeats"]["mine"]["pairs"] == 5
    assert verdict.figures[0].record.measured.wall_us == pytest.approx(950)


def test_repeats_show_in_table_and_report(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    file = write(
        tmp_path / "a.jsonl", pair_line(250, 800, (400, 900)), pair_line(270, 800, (480, 1000))
    )
    found = invoke("validate", file, "--worst", "0")
    assert (
        "2 records (1 of them repeats), 7 figures" in found.stdout and "10.5, 10.5" in found.stdout
    )
    records = [FIRST, SECOND]
    assert "10.5, 10.5" in render(validate(records, nodes_for(records), jobs=1))


def test_observations_need_no_model_of_their_node_and_are_shown():
    records = [FIRST, observed()]
    assert observations(records) == [records[1]]
    verdict = validate(records, nodes_for(records), jobs=1)
    assert {figure.suite for figure in verdict.figures} == {"mine"} and set(verdict.nodes) == {
        "mi300x-8"
    }
    (shown,) = verdict.to_dict()["observed"]
    assert json.loads(json.dumps(shown["observed"])) == SEEN
    page = render(verdict)
    assert "Observed, not compared" in page and "SM 3" in page
    assert "Observed, not compared" not in render(validate([FIRST], nodes_for([FIRST]), jobs=1))


def test_observations_alone_are_a_file_like_any_other(tmp_path):
    file = write(tmp_path / "o.jsonl", {**line({"gemm": GEMM}, {}), "observed": SEEN})
    found = invoke("validate", file, "--report", tmp_path / "page.html")
    assert found.exit_code == 0, found.stderr
    assert "records of observations without times, not compared: mine (1)" in found.stdout


@pytest.mark.slow
def test_packaged_records_are_read_once_whatever_else_is_read(tmp_path):
    """Reading them takes seconds; three files of others take one place of two after the other."""
    first = load()[0]
    for name in "abc":
        load([write(tmp_path / f"{name}.jsonl", line({"gemm": GEMM}, {"isolated": {"gemm": 9.0}}))])
    assert load()[0] is first
