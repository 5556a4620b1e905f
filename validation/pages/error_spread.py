"""A picture: a row of dots for the errors of the model and of each baseline, -100 to +100 %."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compare.baselines import PREDICTORS
from ..compare.scores import SuiteScore
from .kit import Scale, circle, diamond, label, line, picture, rectangle, ticks

WIDTH, LEFT, RIGHT = 340.0, 12.0, 12.0
ROW, HEAD, FOOT = 15.0, 17.0, 32.0
FARTHEST = 100.0  # per cent; what is farther is drawn at the edge


def error_spread(scores: Sequence[SuiteScore], title: str) -> str:
    """For each score its metric, the model's errors and the baselines' on the same figures."""
    blocks = [(score, _series(score)) for score in scores]
    height = FOOT + sum(HEAD + ROW * len(series) for _, series in blocks)
    scale = Scale(-FARTHEST, FARTHEST, LEFT, WIDTH - RIGHT)
    shapes = _axis(scale, height)
    y = 0.0
    for score, series in blocks:
        shapes.append(label(LEFT, y + 12, score.label, kind="label"))
        y += HEAD
        for name, kind, errors in series:
            shapes += _row(scale, y + ROW / 2, name, kind, errors)
            y += ROW
    return picture(WIDTH, height, shapes, title)


def _series(score: SuiteScore) -> list[tuple[str, str, list[float]]]:
    """(name, style, errors in per cent): the model first."""
    style = "held" if score.held_out else "fitted"
    series = [("", style, [100 * figure.error for figure in score.figures])]
    for place, name in enumerate(PREDICTORS):
        pairs = [(figure.baselines[place], figure.measured) for figure in score.figures]
        errors = [100 * (value / measured - 1) for value, measured in pairs if value is not None]
        if len(errors) == len(pairs):
            series.append((name, name, errors))
    return series


def _row(scale: Scale, y: float, name: str, kind: str, errors: Sequence[float]) -> list[str]:
    shown = [min(max(error, -FARTHEST), FARTHEST) for error in errors]
    low, middle, high = (float(value) for value in np.quantile(shown, (0.1, 0.5, 0.9)))
    shapes = [rectangle(scale(low), y - 1.5, scale(high) - scale(low), 3, kind, 0.35)]
    for error, place in zip(errors, shown, strict=True):
        tip = f"{name or 'model'}: {error:+.1f} %"
        shapes.append(
            diamond(scale(place), y, 2.6, kind, tip)
            if kind == "held"
            else circle(scale(place), y, 2.2, kind, tip)
        )
    shapes.append(line(scale(middle), y - 5, scale(middle), y + 5, "diagonal"))
    side = WIDTH - RIGHT if middle < FARTHEST / 3 else scale(-FARTHEST) + 30
    return [*shapes, label(side, y + 4, name, "end")] if name else shapes


def _axis(scale: Scale, height: float) -> list[str]:
    shapes = [line(scale(0), 0, scale(0), height - FOOT, "axis")]
    for value, words in ticks(scale):
        shapes += [line(scale(value), 0, scale(value), height - FOOT, "rule")]
        shapes += [label(scale(value), height - FOOT + 13, words, "middle")]
    return [
        *shapes,
        label(
            WIDTH / 2, height - 4, "error (%): predicted over measured, less one", "middle", "label"
        ),
    ]
