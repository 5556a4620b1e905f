"""Where a plain predictor is better than the model: a defect, listed with a reason or new.

Both are given the same: measured isolated times for concurrent figures, nothing for a task alone.
A plain predictor *wins* a metric of a suite where

    median error of the model > median error of the predictor + median spread between repeats

over the figures for which both have a value, if these are ten or more. Without repeats the spread
counts as 0. Times beside others (``KIND_time``) are left out: given measured isolated times, their
errors are those of the slowdowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from .baselines import PREDICTORS
from .figures import Figure
from .measurements import Spread

TIME = "_time"
LEAST = 10  # figures; fewer are no evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Rival:
    """A plain predictor and the model on the same *count* figures, by their median errors."""

    predictor: str
    count: int
    error: float  # of the predictor
    model: float
    spread: float  # median between repeats; 0 where there are none

    @property
    def wins(self) -> bool:
        """Whether it is better than the model by more than the repeat spread."""
        return self.count >= LEAST and self.model > self.error + self.spread

    @property
    def words(self) -> str:
        """Both errors in one phrase."""
        return (
            f"{self.predictor} {100 * self.error:.1f} %, model {100 * self.model:.1f} %"
            f" on {self.count} figures, repeats {100 * self.spread:.1f} %"
        )


def rivals_of(figures: Sequence[Figure], repeats: Spread | None) -> tuple[Rival, ...]:
    """Every plain predictor that has a value for some of *figures*."""
    spread = repeats.median if repeats else 0.0
    if any(figure.metric.endswith(TIME) and figure.given is not None for figure in figures):
        return ()
    return tuple(
        rival
        for place, name in enumerate(PREDICTORS)
        if (rival := _rival(name, place, figures, spread)) is not None
    )


def _rival(name: str, place: int, figures: Sequence[Figure], spread: float) -> Rival | None:
    errors, own = [], []
    for figure in figures:
        value = figure.baselines[place]
        if value is not None:
            errors.append(abs(value / figure.measured - 1))
            own.append(abs(figure.fair_error))
    if not errors:
        return None
    return Rival(
        predictor=name, count=len(errors), error=median(errors), model=median(own), spread=spread
    )
