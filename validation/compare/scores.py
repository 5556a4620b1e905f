"""Scores: how far predictions are from measurements, per suite and metric, and per node.

Rows that fits may use (role ``calibration``) and all others are never mixed: the metric of the
former ends in ``_calibration``. Nor are, per node, runs of the harness, loops as of frameworks, and
rows of others.

A plain predictor is *better* than the model in a metric of a suite where

    median error of the model > median error of the predictor + median spread between repeats

over the figures for which both have a value. Both are given the same: measured isolated times for
concurrent figures, nothing for a task alone. Without repeats the spread counts as 0. Times beside
others (``KIND_time``) are left out: given measured isolated times, their errors are those of the
slowdowns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import median

import numpy as np

from .baselines import PREDICTORS
from .bounds import Beaten, Bound, Limit, Target
from .figures import Figure
from .measurements import Spread, spread
from .standings import SEEN, Standing, runs_of, standing_of

CALIBRATION = "_calibration"
TIME = "_time"
LEAST = 10  # figures; a plain predictor that is better on fewer is named, and fails nothing
BoundsBySuite = Mapping[str, Mapping[str, Bound]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rival:
    """A plain predictor and the model on the same *count* figures, by their median errors."""

    predictor: str
    count: int
    error: float  # of the predictor
    model: float
    spread: float  # median between repeats; 0 where there are none

    @property
    def better(self) -> bool:
        """True if it is better than the model by more than the repeat spread."""
        return self.model > self.error + self.spread

    @property
    def words(self) -> str:
        """Both errors in one phrase."""
        return (
            f"{self.predictor} {100 * self.error:.1f} %, model {100 * self.model:.1f} %"
            f" on {self.count} figures, repeats {100 * self.spread:.1f} %"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Errors:
    """Relative errors of several figures, and the median absolute error of each baseline."""

    median: float  # of absolute errors
    p90: float  # of absolute errors
    bias: float  # median signed error
    baselines: Mapping[str, float | None]
    given: float | None = None  # median of absolute errors, given measured isolated times

    def within(self, limit: Limit) -> bool:
        """True if median and 90th percentile are at most those of *limit*."""
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
        """The number of figures outside what their libraries were calibrated on."""
        return sum(bool(figure.outside) for figure in self.figures)

    @property
    def label(self) -> str:
        """The metric in words."""
        return self.metric.replace("_", " ")

    @property
    def held_out(self) -> bool:
        """True if no fit may use it (role validation)."""
        return self.figures[0].held_out

    @property
    def passed(self) -> bool | None:
        """True if the bound holds, and no plain predictor is better that is not listed; None
        without a bound.
        """
        if self.bound is None:
            return None
        return self.errors.within(self.bound.limit) and not self.new_defects

    @property
    def defects(self) -> tuple[Rival, ...]:
        """The plain predictors that are better than the model, on however few figures."""
        return tuple(rival for rival in self.rivals if rival.better)

    @property
    def unlisted(self) -> tuple[Rival, ...]:
        """Better rivals that are not listed with a reason."""
        listed = self.beaten.by if self.beaten else ()
        return tuple(rival for rival in self.defects if rival.predictor not in listed)

    @property
    def new_defects(self) -> tuple[Rival, ...]:
        """Better rivals that fail the suite: on ten figures or more."""
        return tuple(rival for rival in self.unlisted if rival.count >= LEAST)

    @property
    def on_target(self) -> bool | None:
        """True if the design's target holds; None where there is none."""
        return None if self.bound is None else self.errors.within(self.bound.target)

    @property
    def gap(self) -> str:
        """The known gap that its bound names; empty for none."""
        return self.bound.gap if self.bound else ""

    @property
    def state(self) -> str:
        """``held`` (to its target), ``gap`` (no worse than when its bound was set), ``FAILS``, or
        ``no bound``.
        """
        if self.bound is None:
            return "no bound"
        if not self.passed:
            return "FAILS"
        return "held" if self.on_target else "gap"

    @property
    def worst(self) -> tuple[Figure, ...]:
        """The figures, largest absolute error first."""
        return tuple(sorted(self.figures, key=lambda figure: -abs(figure.error)))


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeScore:
    """One class of metrics over the suites of one node that have the same kind of *runs*, role
    validation only.
    """

    node: str
    runs: str  # see standings.py
    name: str
    count: int
    inspected: int  # figures of suites that somebody looked at
    errors: Errors
    target: Target
    better: tuple[Rival, ...] = ()  # plain predictors that are better than the model

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
    """One score per node, kind of runs and class of metrics in ``bounds.yaml`` that has figures.

    Of concurrent runs, only those whose source measured the tasks alone as well count, and
    slowdowns rather than times: the metric that gives a class its name stands for it.
    """
    groups: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        if figure.held_out:
            key = figure.record.node, runs_of(figure.suite, standings)
            groups.setdefault(key, []).append(figure)
    order = sorted(sorted(groups), key=lambda key: key[0], reverse=True)
    return [
        _node_score(node, runs, name, target, counted, standings)
        for (node, runs), (name, target) in product(order, targets.items())
        if (counted := _counted(groups[node, runs], name, target))
    ]


def _counted(figures: Sequence[Figure], name: str, target: Target) -> list[Figure]:
    if name in target.metrics:
        return [f for f in figures if f.metric == name and f.baselines.max is not None]
    return [f for f in figures if f.metric in target.metrics]


def _node_score(
    node: str,
    runs: str,
    name: str,
    target: Target,
    counted: Sequence[Figure],
    standings: Mapping[str, Standing],
) -> NodeScore:
    words = [standing_of(f.suite, f.record.role, standings) for f in counted]
    repeats = spread([value for figure in counted for value in figure.differences])
    return NodeScore(
        node=node,
        runs=runs,
        name=name,
        count=len(counted),
        inspected=sum(word in SEEN for word in words),
        errors=errors_of(counted),
        target=target,
        better=tuple(rival for rival in rivals_of(counted, repeats) if rival.better),
    )


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
