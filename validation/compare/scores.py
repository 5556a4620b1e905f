"""Figures per suite and metric: how far predictions are from measurements, beside the plain
predictors and the bounds.

Rows that were fitted to (role ``calibration``) and rows that were held out are never mixed: the metric of the former
ends in ``_calibration``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .baselines import PREDICTORS
from .bounds import Bound
from .figures import Case
from .repeats import Spread, spread

CALIBRATION = "_calibration"
BoundsBySuite = Mapping[str, Mapping[str, Bound]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One suite, one metric. Errors are relative; *baselines*: median absolute errors of the plain
    predictors.
    """

    name: str
    metric: str
    role: str
    cases: tuple[Case, ...] = field(repr=False)
    median_error: float
    p90_error: float
    bias: float  # median signed error
    baselines: Mapping[str, float | None]
    bound: Bound | None
    repeats: Spread | None = None  # between repeats of the same figures

    @property
    def passed(self) -> bool:
        """Whether both bounds hold; a suite without bounds passes."""
        bound = self.bound
        return bound is None or (self.median_error <= bound.median and self.p90_error <= bound.p90)

    @property
    def on_target(self) -> bool | None:
        """Whether the design's target holds; None where there is none."""
        bound = self.bound
        if bound is None:
            return None
        return self.median_error <= bound.target_median and self.p90_error <= bound.target_p90

    @property
    def worst(self) -> tuple[Case, ...]:
        """The cases, largest absolute error first."""
        return tuple(sorted(self.cases, key=lambda case: -abs(case.error)))


def metric_of(case: Case) -> str:
    """The metric a case counts for: with ``_calibration`` if its record may be fitted to."""
    return case.metric + (CALIBRATION if case.role == "calibration" else "")


def rows(cases: Iterable[Case], bounds: BoundsBySuite) -> list[Row]:
    """Cases grouped by suite, then metric, both in alphabetical order. *bounds*: suite -> metric ->
    bound.
    """
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.suite, metric_of(case)), []).append(case)
    return [_row(suite, metric, found, bounds) for (suite, metric), found in sorted(groups.items())]


def _row(suite: str, metric: str, cases: Sequence[Case], bounds: BoundsBySuite) -> Row:
    errors = np.array([case.error for case in cases])
    return Row(
        name=suite,
        metric=metric,
        role=cases[0].role,
        cases=tuple(cases),
        median_error=float(np.median(np.abs(errors))),
        p90_error=float(np.quantile(np.abs(errors), 0.9)),
        bias=float(np.median(errors)),
        baselines={name: plain_error(cases, name) for name in PREDICTORS},
        bound=bounds.get(suite, {}).get(metric),
        repeats=spread([value for case in cases for value in case.differences]),
    )


def plain_error(cases: Sequence[Case], predictor: str) -> float | None:
    """Median absolute error of a plain predictor; None unless it has a value for every case."""
    values = [getattr(case.plain, predictor) for case in cases]
    if any(value is None for value in values):
        return None
    return float(
        np.median(
            [abs(value / case.measured - 1) for value, case in zip(values, cases, strict=True)]
        )
    )
