"""The one table of studies, and panels made of the same columns."""

import io

import pytest
from rich.console import Console

from c3sim.kit.grid import Table, grid, remarks, shown
from c3sim.kit.panels import draw, panel, without_shared

ROWS = [
    {"name": "a", "wall_s": 0.00125, "share": {"gemm": 0.25, "rest": 0.75}, "bytes": 2**20},
    {"name": "b", "wall_s": None, "share": {"gemm": 0.5}, "bytes": 2**21},
]


def lines(table: Table) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=120)
    console.print(grid(table))
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_a_star_is_a_column_for_every_entry_of_any_row() -> None:
    text = lines(Table("title", ROWS, ["name", "wall_s ms", "share.* %", "bytes size as size"]))
    assert text[0] == ["title"]
    assert text[-2:] == [
        ["a", "1.250", "25.0", "75.0", "1", "MiB"],
        ["b", "-", "50.0", "-", "2", "MiB"],
    ]


def test_what_does_not_fit_is_left_out_and_named() -> None:
    """Name, two numbers and words of 5 letters need 4 + 9 + 9 + 5, and 3 * 2 + 1 between and behind
    them: 34. At 49 all are there, the words on several lines; at 30 the last number is left out.
    """
    rows = [{"name": "gemm", "first": 123456789, "other": 987654321, "many": "four words " * 4}]
    table = Table("title", rows, ["name", "many", "first", "other"])
    for width, numbers in ((49, ["123456789", "987654321"]), (30, ["123456789"])):
        console = Console(file=io.StringIO(), width=width)
        console.print(grid(table))
        text = console.file.getvalue()
        assert max(map(len, text.splitlines())) <= width
        assert [each for each in ("123456789", "987654321") if each in text] == numbers
        assert ("left out at 30 characters: other" in " ".join(text.split())) == (width == 30)


def test_a_path_may_be_the_name_of_an_entry() -> None:
    rows = [{"task.gather.size": "16 MiB", "x": 3}]
    assert lines(Table("t", rows, ["task.gather.size as size", "x"]))[-1] == ["16", "MiB", "3"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "x", "-"),
        (0.1234, "%", "12.3"),
        (0.1234, "%0", "12"),
        (1.005, "x", "1.00"),
        (48.5e9, "GB/s", "48.5"),
        ([0.1, 0.2], "%0", "10, 20"),
        (True, "", "yes"),
    ],
)
def test_numbers_in_their_units(value, unit, text) -> None:
    assert shown(value, unit) == text


def test_remarks_are_source_and_note() -> None:
    assert remarks({"source": "a\n b", "note": "c", "claims": []}) == "a b\nc"


@pytest.mark.parametrize("kind", ["bars", "stacked", "lines", "points", "cells"])
def test_a_panel_has_a_series_for_each_column_in_its_unit(kind) -> None:
    one = panel("shares", ROWS, "name", "share.* %", kind=kind)
    assert one.series == {"gemm": [25.0, 50.0], "rest": [75.0, None]}
    assert (one.x, one.unit) == (["a", "b"], "%")
    (axes,) = draw("title", [one]).axes
    assert axes.get_title(loc="left") == "shares"


def test_settings_that_all_places_have_stand_once_below_the_axis() -> None:
    names = [f"{name}, gpu.hbm.bandwidth=5 TB/s, tp={tp}" for name in "ab" for tp in (2, 4)]
    (axes,) = draw(
        "title", [panel("s", [{**ROWS[0], "name": n} for n in names], "name", "share.*")]
    ).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a, 2", "a, 4", "b, 2", "b, 4"]
    assert axes.get_xlabel() == "gpu.hbm.bandwidth=5 TB/s, tp"


def test_places_of_other_settings_keep_their_names() -> None:
    for names in (["a, tp=2", "b"], ["a, tp=2", "b, cp=2"], ["a, small", "b, large"]):
        assert without_shared(names) == (names, [])
