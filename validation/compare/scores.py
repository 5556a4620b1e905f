"""Scores: how far predictions are from measurements, per suite and metric, and per node.

Rows that fits may use (role ``calibration``) and all others are never mixed: the metric of the
former ends in ``_calibration``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from .baselines import PREDICTORS
from .bounds import Beaten, Bound, Limit, Target
from .figures import Figure
from .measurements import Spread, spread
from .rivals import Rival, rivals_of
from .standings import Standing, standing_of

CALIBRATION = "_calibration"
BoundsBySuite = Mapping[str, Mapping[str, Bound]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Errors:
    """Relative errors of several figures, and the median absolute error of each baseline."""

    median: float  # of absolute errors
    p90: float  # of absolute errors
    bias: float  # median signed error
    baselines: Mapping[str, float | None]
    given: float | None = None  # median of absolute errors, given measured isolated times

    def within(self, limit: Limit) -> bool:
        """Whether median and 90th percentile are at most those of *limit*."""
        return self.median <= limit.median and self.p90 <= limit.p90


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteScore:
    """One suite, one metric."""

    suite: str
    metric: str
    standing: str  # see standings.py
    figures: tuple[Figure, ...] = field(repr=False)
    errors: Errors
    bound: Bound | None
    repeats: Spread | None  # between repeats of the same figures
    rivals: tuple[Rival, ...] = ()
    beaten: Beaten | None = None  # plain predictors that may be better, and why

    @property
    def outside(self) -> int:
        """How many figures lie outside what their libraries were calibrated on."""
        return sum(bool(figure.outside) for figure in self.figures)

    @property
    def label(self) -> str:
        """The metric in words."""
        return self.metric.replace("_", " ")

    @property
    def held_out(self) -> bool:
        """Whether no fit may use it (role validation)."""
        return self.figures[0].held_out

    @property
    def passed(self) -> bool | None:
        """Whether the bound holds, and no plain predictor is better that is not listed; None
        without a bound.
        """
        if self.bound is None:
            return None
        return self.errors.within(self.bound.limit) and not self.new_defects

    @property
    def defects(self) -> tuple[Rival, ...]:
        """The plain predictors that are better than the model."""
        return tuple(rival for rival in self.rivals if rival.wins)

    @property
    def new_defects(self) -> tuple[Rival, ...]:
        """Those of them that are not listed with a reason."""
        listed = self.beaten.by if self.beaten else ()
        return tuple(rival for rival in self.defects if rival.predictor not in listed)

    @property
    def on_target(self) -> bool | None:
        """Whether the design's target holds; None where there is none."""
        return None if self.bound is None else self.errors.within(self.bound.target)

    @property
    def gap(self) -> str:
        """The known gap that its bound names; empty for none."""
        return self.bound.gap if self.bound else ""

    @property
    def worst(self) -> tuple[Figure, ...]:
        """The figures, largest absolute error first."""
        return tuple(sorted(self.figures, key=lambda figure: -abs(figure.error)))


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeScore:
    """One class of metrics over every suite of one node, role validation only."""

    node: str
    name: str
    count: int
    inspected: int  # figures of suites that somebody looked at
    errors: Errors
    target: Target

    @property
    def on_target(self) -> bool:
        return self.errors.within(self.target)


def metric_of(figure: Figure) -> str:
    """The metric a figure counts for: with ``_calibration`` if fits may use its record."""
    return figure.metric + ("" if figure.held_out else CALIBRATION)


def score_suites(
    figures: Iterable[Figure],
    bounds: BoundsBySuite,
    standings: Mapping[str, Standing],
    beaten: Mapping[str, Mapping[str, Beaten]] | None = None,
) -> list[SuiteScore]:
    """By suite, then metric, both in alphabetical order. *bounds*, *beaten*: suite -> metric ->
    what stands in bounds.yaml.
    """
    groups: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        groups.setdefault((figure.suite, metric_of(figure)), []).append(figure)
    scores = []
    for (suite, metric), group in sorted(groups.items()):
        repeats = spread([value for figure in group for value in figure.differences])
        scores.append(
            SuiteScore(
                suite=suite,
                metric=metric,
                standing=standing_of(suite, group[0].record.role, standings),
                figures=tuple(group),
                errors=errors_of(group),
                bound=bounds.get(suite, {}).get(metric),
                repeats=repeats,
                rivals=rivals_of(group, repeats),
                beaten=(beaten or {}).get(suite, {}).get(metric),
            )
        )
    return scores


def score_nodes(
    figures: Iterable[Figure], targets: Mapping[str, Target], standings: Mapping[str, Standing]
) -> list[NodeScore]:
    """One score per node and class of metrics in ``bounds.yaml`` that has figures.

    Of concurrent runs, only those whose source measured the tasks alone as well count, and
    slowdowns rather than times: the metric that gives a class its name stands for it.
    """
    held_out = [figure for figure in figures if figure.held_out]
    nodes = sorted({figure.record.node for figure in held_out}, reverse=True)
    scores = []
    for node, (name, target) in product(nodes, targets.items()):
        here = [figure for figure in held_out if figure.record.node == node]
        if name in target.metrics:
            counted = [f for f in here if f.metric == name and f.baselines.max is not None]
        else:
            counted = [f for f in here if f.metric in target.metrics]
        if not counted:
            continue
        words = [standing_of(f.suite, f.record.role, standings) for f in counted]
        scores.append(
            NodeScore(
                node=node,
                name=name,
                count=len(counted),
                inspected=words.count("inspected"),
                errors=errors_of(counted),
                target=target,
            )
        )
    return scores


def errors_of(figures: Sequence[Figure]) -> Errors:
    """A baseline has an error only if it has a value for every figure."""
    errors = np.array([figure.error for figure in figures])
    baselines: dict[str, float | None] = {}
    for place, name in enumerate(PREDICTORS):
        pairs = [(figure.baselines[place], figure.measured) for figure in figures]
        far = [abs(value / measured - 1) for value, measured in pairs if value is not None]
        baselines[name] = float(np.median(far)) if len(far) == len(pairs) else None
    fair = [figure.given_error for figure in figures]
    known = [abs(error) for error in fair if error is not None]
    return Errors(
        given=float(np.median(known)) if len(known) == len(fair) else None,
        median=float(np.median(np.abs(errors))),
        p90=float(np.quantile(np.abs(errors), 0.9)),
        bias=float(np.median(errors)),
        baselines=baselines,
    )
