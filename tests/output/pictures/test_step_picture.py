"""The picture of a step: where layers are left out, groups, stages, on a page."""

from __future__ import annotations

import pytest

from c3sim.output.pictures.timeline import plot_timeline

PAGE = 297 / 210  # height of an A4 page by its width


@pytest.fixture(scope="module")
def figure(step):
    return plot_timeline(step)


def texts(figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_layers_that_are_not_drawn_have_their_places(figure) -> None:
    """Forward and backward, behind the second of four."""
    assert texts(figure).count("8 layers more") == 2


def test_groups_and_stages_have_a_row_each(figure) -> None:
    said = texts(figure)
    for group in ("tp", "cp", "pp"):
        assert any(text.startswith(f"{group}: ") for text in said), group
    assert {"0", "1"} <= set(said)
    assert any(text.startswith("bubbles ") for text in said)


def test_it_is_a_page(figure) -> None:
    width, height = figure.get_size_inches()
    assert height <= PAGE * width


def test_of_a_pipeline_it_says_what_is_drawn_and_no_gain_of_overlap(figure) -> None:
    """Bubbles are in the wall time, and in no sum of tasks."""
    subtitle = figure.texts[1].get_text()
    assert "2 stages; drawn below: the last micro batch in one, and optimizer" in subtitle
    assert "speedup" not in subtitle and "fraction of ideal" not in subtitle
