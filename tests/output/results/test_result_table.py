"""Result files read as columns: what is an axis, in which unit it is shown, and files that are
none.
"""

import json

import pandas as pd
import pytest
from chart_case import ABOUT, FAILED, columns, table, write_parquet
from pandas.testing import assert_frame_equal

from c3sim.errors import InputError
from c3sim.kit.text import short
from c3sim.output.results.columns import column_of
from c3sim.output.results.table import make_table, read_results


def column(values, unit="", name="x", role="axis"):
    return column_of(name, pd.Series(values), {"unit": unit}, role)


def test_a_file_gives_what_was_written(tmp_path):
    found = read_results(write_parquet(tmp_path / "results.parquet"))
    assert_frame_equal(found.frame, table().frame)
    assert found.frame["error"][FAILED].startswith("deadlock") and found.name == "engines"
    assert [each.role for each in found.columns.values()] == ["axis"] * 2 + ["group"] * 2 + [
        "output"
    ] * 3
    assert read_results(tmp_path).frame.equals(found.frame)  # the folder stands for its file


def test_what_does_not_vary_is_told_apart():
    assert [each.name for each in table().varied()] == [
        "gpu.dma_engines.count",
        "links.bandwidth",
        "strategy",
    ]


@pytest.mark.parametrize(
    ("values", "unit", "shown", "factor", "log"),
    [
        ([32e9, 64e9], "B/s", "GB/s", 1e9, False),
        ([4e12, 5e12], "B/s", "TB/s", 1e12, False),
        ([1.5e-3, 4e-3], "s", "ms", 1e-3, False),
        ([2.0**26, 2.0**28], "B", "MiB", 2.0**20, False),
        # Doubling from 64 MiB to 2 GiB: evenly spread in ratios; the geometric middle, 362 MiB,
        # gives the unit.
        ([2.0**exponent for exponent in range(26, 32)], "B", "MiB", 2.0**20, True),
        ([2.0, 4.0, 8.0, 16.0], "", "", 1.0, True),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "", "", 1.0, False),
        ([750.0], "W", "W", 1.0, False),
    ],
)
def test_the_unit_suits_the_values(values, unit, shown, factor, log):
    display = column(values, unit).display()
    assert (display.unit, display.factor, display.log) == (shown, factor, log)


def test_fractions_are_shown_in_per_cent():
    found = table().columns["fraction_of_ideal"]
    assert found.title == "fraction of ideal overlap (%)" and found.text(0.815) == "81.5 %"


def test_numbers_are_written_short():
    assert [short(value) for value in (16.0, 0.12345, 1234567.0, -3.0, 48.0001)] == [
        "16",
        "0.1235",
        "1.235e+06",
        "-3",
        "48",
    ]


def test_the_direction_of_an_output_is_known_or_that_of_the_search():
    assert (
        table().columns["wall_s"].better == "lower"
        and table().columns["fraction_of_ideal"].better == "higher"
    )
    assert table(objectives={"energy_j": "maximise"}).columns["energy_j"].better == "higher"


def test_rows_of_a_study_are_results_too(tmp_path):
    rows = [
        {"scenario": "a", "task.gather.size": size, "strategy": "base", "wall_s": 1e-3}
        for size in ("64 MiB", "1 GiB")
    ]
    (tmp_path / "study.json").write_text(json.dumps({"name": "s", "rows": rows}), encoding="utf-8")
    found = read_results(tmp_path / "study.json").columns["task.gather.size"]
    assert (found.role, found.unit, list(found.values)) == ("axis", "B", [64 * 2.0**20, 2.0**30])


def test_values_that_are_no_numbers_are_missing():
    made = make_table({"point": [0, 1], "wall_s": [float("nan"), 2.0], "strategy": ["a", "b"]}, {})
    assert made.row(0)["wall_s"] is None and made.row(1)["wall_s"] == 2.0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", None, "no such file"),
        ("a.parquet", b"PAR1 and then nothing of it", "this Parquet file is damaged"),
        ("a.json", b"{}", "not a result file"),
        ("huge.json", b'{"rows": [{"wall_s": 1' + b"0" * 400 + b"}]}", "not a result file"),
        ("a.json", b'{"rows": []}', "holds no rows"),
        ("a.png", b"\x89PNG\r\n", "not a result file"),
    ],
)
def test_what_is_no_result_file(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_results(tmp_path / name)
    assert "\n" not in str(caught.value) and "allowed: results.parquet" in str(caught.value)


def test_a_folder_without_results_and_a_file_of_others(tmp_path):
    with pytest.raises(
        InputError, match=r"no results\.parquet or sensitivity\.parquet in this folder"
    ):
        read_results(tmp_path)
    with pytest.raises(InputError, match="not written by c3sim"):
        read_results(write_parquet(tmp_path / "other.parquet", about=None))


def test_linked_axes_stand_for_each_other():
    """Two axes that move together are one choice: the first of them, or none where the other one is
    a side already.
    """
    found = make_table(
        columns(),
        {
            **ABOUT,
            "study": {
                "linked": [{"gpu.dma_engines.count": [2, 4, 8], "links.bandwidth": [1, 2, 3]}]
            },
        },
    )
    assert [column.name for column in found.varied()] == ["gpu.dma_engines.count", "strategy"]
    assert [column.name for column in found.varied(["links.bandwidth"])] == ["strategy"]
