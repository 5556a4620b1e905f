"""A picture: predicted against measured, logarithmic axes, a band of 10 % either way."""

from __future__ import annotations

from collections.abc import Sequence

from ..compare.figures import Figure
from .kit import Scale, circle, diamond, label, line, picture, polygon, ticks

WIDTH, HEIGHT = 340.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 24.0, 10.0, 38.0
BAND = 0.10
NARROWEST = 2.5  # an axis spans at least this factor


def scatter(figures: Sequence[Figure], unit: str, title: str) -> str:
    """Filled diamonds for figures that no fit uses, open circles for the others."""
    values = [value for each in figures for value in (each.predicted, each.measured)]
    low, high = min(values) / 1.15, max(values) * 1.15
    middle, least = (low * high) ** 0.5, NARROWEST**0.5
    low, high = min(low, middle / least), max(high, middle * least)
    across = Scale(low, high, LEFT, WIDTH - RIGHT, logarithmic=True)
    up = Scale(low, high, HEIGHT - BOTTOM, TOP, logarithmic=True)
    shapes = [*_axes(across, up, unit), *_band(across, up)]
    for figure in sorted(figures, key=lambda each: each.held_out):
        tip = f"{figure.name} ({figure.metric}): {figure.comparison}"
        x, y = across(figure.measured), up(figure.predicted)
        point = (
            diamond(x, y, 3.4, "held", tip) if figure.held_out else circle(x, y, 2.8, "fitted", tip)
        )
        shapes.append(point)
    return picture(WIDTH, HEIGHT, shapes, title)


def _axes(across: Scale, up: Scale, unit: str) -> list[str]:
    shapes = []
    for value, words in ticks(across):
        shapes += [line(across(value), TOP, across(value), HEIGHT - BOTTOM, "rule")]
        shapes += [label(across(value), HEIGHT - BOTTOM + 14, words, "middle")]
    for value, words in ticks(up):
        shapes += [
            line(LEFT, up(value), WIDTH - RIGHT, up(value), "rule"),
            label(LEFT - 5, up(value) + 4, words, "end"),
        ]
    shapes += [
        line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis"),
        line(LEFT, TOP, LEFT, HEIGHT - BOTTOM, "axis"),
    ]
    shapes.append(label((LEFT + WIDTH) / 2, HEIGHT - 6, f"measured ({unit})", "middle", "label"))
    turn = f'<g transform="translate(11 {(TOP + HEIGHT - BOTTOM) / 2:.1f}) rotate(-90)">'
    return [*shapes, turn + label(0, 0, f"predicted ({unit})", "middle", "label") + "</g>"]


def _band(across: Scale, up: Scale) -> list[str]:
    low, high, more = across.low, across.high, 1 + BAND
    corners = [
        (low, low),
        (low, low * more),
        (high / more, high),
        (high, high),
        (high, high / more),
        (low * more, low),
    ]
    return [
        polygon([(across(x), up(y)) for x, y in corners], "band"),
        line(across(low), up(low), across(high), up(high), "diagonal"),
    ]
