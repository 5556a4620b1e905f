"""Contents of the page: every point, runs that agree with the results, nothing from elsewhere."""

import dataclasses
import json
import math
import re

import pytest
from report_case import FAILED, POINTS

from c3sim.errors import InputError
from c3sim.output.page import Resimulator, render, write_report
from c3sim.output.page.page import models_of

pytestmark = pytest.mark.slow


def data_of(text):
    (inner,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL
    )
    return json.loads(inner)


@pytest.fixture(scope="module")
def data(page):
    return data_of(page.read_text(encoding="utf-8"))


def test_every_point_is_there(data, table):
    assert len(data["points"]) == POINTS and len(data["errors"]) == FAILED
    walls = next(column for column in data["columns"] if column["name"] == "wall_s")["numbers"]
    for shown, full in zip(walls, table.columns["wall_s"].values, strict=True):
        assert shown == (None if math.isnan(full) else pytest.approx(full, rel=1e-5))


def test_axes_are_coded_and_give_their_values_back(data, table):
    for column in data["columns"]:
        if column["role"] != "output":
            values = [column["values"][code] for code in column["codes"]]
            assert values == list(table.columns[column["name"]].values)


def test_every_run_is_that_of_its_point(data, table):
    assert len(data["runs"]) == POINTS - FAILED
    for row, run in data["runs"].items():
        assert run["wall"] == table.columns["wall_s"].values[int(row)] and "differs" not in run
        assert max(end for _, end, *_ in run["tasks"].values()) == round(run["wall"] * 1e9)
        for task in run["explained"].values():  # the account adds up
            assert 1 + sum(task["causes"].values()) + task["left_over"] == pytest.approx(
                task["time"] / task["isolated"], abs=1e-4
            )


def test_power_by_component_is_split_by_component(data):
    """And all other panels by kind of task."""
    for run in data["runs"].values():
        *others, power = run["counters"]
        assert power["title"] == "Power by component" and "idle" in power["parts"]
        assert len(power["by"]) == len(power["parts"]) == len(power["colours"])
        total = [sum(parts) for parts in zip(*power["by"].values(), strict=True)]
        assert total == pytest.approx(power["values"], rel=1e-3)
        assert run["kinds"] == ["gemm", "collective"]
        assert all("parts" not in each and set(each["by"]) <= {"0", "1"} for each in others)


def test_nothing_comes_from_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert (
        not re.search(r"(src|href)=\"(?!data:)", text)
        and "@import" not in text
        and "url(" not in text.split("</style>")[0]
    )


def test_the_same_results_give_the_same_page(results, table, page):
    again, _ = render(table, command="c3sim sweep pages.yaml --report page.html", jobs=1)
    assert again == page.read_text(encoding="utf-8")


def test_names_are_text_not_markup(page):
    assert "small </script> one" not in page.read_text(encoding="utf-8").split('id="data">')[1]


def test_a_run_that_differs_from_the_results_says_so(table):
    same = Resimulator(models_of(table))

    def other(row):
        result, explanation = same(row)
        return dataclasses.replace(result, wall_s=2 * row["wall_s"]), explanation

    text, _ = render(table, other, most=3, jobs=1)
    assert all("differs" in run for run in data_of(text)["runs"].values())


def test_a_point_that_cannot_be_run_again_says_why(table):
    def broken(row):
        raise InputError("no such thing")

    text, count = render(table, broken, most=3, jobs=1)
    assert count == 0
    assert {run["problem"] for run in data_of(text)["runs"].values()} == {
        "could not be run again: no such thing"
    }


def test_timelines_end_where_the_page_would_get_too_large(table, monkeypatch):
    bare = data_of(render(table, most=0)[0])
    monkeypatch.setattr(
        "c3sim.output.page.page.SIZE",
        len(json.dumps(bare, separators=(",", ":"), ensure_ascii=False)) + 10_000,
    )
    text, count = render(table, jobs=1)
    assert 0 < count < POINTS - FAILED
    assert (
        len(json.dumps(data_of(text)["runs"], separators=(",", ":"))) < 10_100
    )  # keys of the runs are not counted


def test_where_it_cannot_be_written(results, tmp_path):
    with pytest.raises(InputError, match=r"unknown suffix '\.png'; allowed: \.html, \.htm"):
        write_report(results, tmp_path / "page.png")
    with pytest.raises(InputError, match="no such file"):
        write_report(tmp_path / "nothing.parquet", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_mean_over_scenarios_has_no_run_but_a_command_for_each(table):
    """A search writes designs that stand for several scenarios."""
    means = dataclasses.replace(table, frame=table.frame.assign(scenario="mean of 2"))
    text, count = render(means, jobs=1)
    data = data_of(text)
    assert count == 0 and data["runs"] == {}
    assert data["members"] == list(data["bases"]) == ["pair", "small </script> one"]
