"""Differences: two records of a suite that differ in one condition, measured and predicted.

With T1, T2 the measured times of both and P1, P2 the predicted ones

    change = T2 / T1 - 1          off by = 100 ((P2 / P1) / (T2 / T1) - 1) points

For a small change these are the points between the predicted and the measured change in per cent;
for a large one they are of its ratio. The sign counts where the measured change is beyond LEAST,
and beyond what repeats of either differ by in the median.

A condition is a kind of field (CONDITIONS; any other field is one by itself), the node, or the
strategy. Records differ in one if all else that their ``id`` is made of is the same. Of conditions
that are numbers each record is paired with the next larger, of others with up to MOST others. A
record stands with one time: that of the run, or of its only task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from .figures import Figure

LEAST = 0.01  # of the first time: a smaller change has no sign
MOST = 8  # values of a condition that has no order, of one group
RUN = ("wall", "sequence", "loop_time")  # metrics of a run as a whole
#: Field of a workload -> what its change is called.
CONDITIONS = {
    **dict.fromkeys(("channels",), "channels"),
    **dict.fromkeys(("workgroups", "blocks", "compute_units", "units"), "blocks"),
    **dict.fromkeys(("order", "launch", "launch_after", "after", "stream"), "order"),
    **dict.fromkeys(("backend", "library", "algorithm", "protocol", "variant"), "backend"),
    **dict.fromkeys(("size", "bytes", "m", "n", "k", "read", "write", "batch"), "size"),
    **dict.fromkeys(("priority", "l2", "memory_side", "cache", "policy"), "policy"),
}
GPU, POLICY, ORDER = "GPU", "policy", "order"
NAMES = ("name", "description", "source", "node", "schema")  # of a workload, and no condition


class Pair(NamedTuple):
    """Two figures that differ in a *condition*."""

    condition: str
    first: Figure
    second: Figure

    @property
    def change(self) -> float:
        """Measured, relative to the first."""
        return self.second.measured / self.first.measured - 1

    @property
    def predicted(self) -> float:
        """Predicted change, relative to the first."""
        return self.second.predicted / self.first.predicted - 1

    @property
    def is_beyond(self) -> bool:
        """True if the measured change is more than noise."""
        noise = (float(np.median(each.differences or 0.0)) for each in (self.first, self.second))
        return abs(self.change) > max(LEAST, *noise)

    @property
    def points(self) -> float:
        """By how much the prediction of it is off (module docstring)."""
        return 100 * ((1 + self.predicted) / (1 + self.change) - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairScore:
    """Pairs of one *suite* (or of several nodes) that differ in one *condition*: how many, how many
    of them *beyond* noise, how many of these have the right sign; *median* and *p90* [points] of
    how far predictions of all are off.
    """

    suite: str
    condition: str
    pairs: int
    beyond: int
    right: int
    median: float
    p90: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @property
    def texts(self) -> list[str]:
        """Cells of a table behind suite and condition."""
        sign = f"{100 * self.right / self.beyond:.0f} %" if self.beyond else "-"
        counts = [str(self.pairs), str(self.beyond), sign]
        return [*counts, f"{self.median:.1f}", f"{self.p90:.1f}"]


HEADERS = ("#pairs", "#beyond noise", "#sign right", "#off, points", "#p90")
EXPLAINED = (
    "Pairs of records of a suite that differ in one condition. *beyond noise*: they were measured"
    " to differ by more than 1 %, and than repeats do; the sign counts there. *off*: the predicted"
    " ratio of both times against the measured one, in points: median and 90th percentile"
)


def score_pairs(figures: Iterable[Figure], by: Mapping[str, str] | None = None) -> list[PairScore]:
    """A score for each suite and condition, in alphabetical order; *by*: suite -> what stands in
    its place.
    """
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs_of(figures):
        suite = pair.first.suite
        groups.setdefault(((by or {}).get(suite, suite), pair.condition), []).append(pair)
    return [_score(*key, pairs) for key, pairs in sorted(groups.items())]


def _score(suite: str, condition: str, pairs: Sequence[Pair]) -> PairScore:
    far = np.abs([pair.points for pair in pairs])
    beyond = [pair for pair in pairs if pair.is_beyond]
    return PairScore(
        suite=suite,
        condition=condition,
        pairs=len(pairs),
        beyond=len(beyond),
        right=sum(pair.change * pair.predicted > 0 for pair in beyond),
        median=float(np.median(far)),
        p90=float(np.quantile(far, 0.9)),
    )


def pairs_of(figures: Iterable[Figure]) -> Iterator[Pair]:
    """The pairs of *figures* that no fit may use."""
    suites: dict[str, list[_Row]] = {}
    for row in _rows(figures):
        suites.setdefault(row.figure.suite, []).append(row)
    for rows in suites.values():
        for condition in sorted({each for row in rows for each in row.conditions}):
            groups: dict[tuple[str, str], list[_Row]] = {}
            for row in rows:
                groups.setdefault(row.without(condition), []).append(row)
            for group in groups.values():
                for one, other in _beside(condition, group):
                    yield Pair(condition, one.figure, other.figure)


@dataclass(frozen=True)
class _Row:
    """The figure that a record stands with."""

    figure: Figure

    @cached_property
    def conditions(self) -> dict[str, dict[str, Any]]:
        """Condition -> path of each of its fields -> value."""
        record = self.figure.record
        workload = record.workload.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        found = {GPU: {"node": record.node}, POLICY: {"strategy": record.strategy}}
        if len(record.workload.tasks) > 1:  # the host launches them as they stand
            found[ORDER] = {"tasks": " ".join(record.workload.tasks)}
        for path, value in _leaves({k: v for k, v in workload.items() if k not in NAMES}, ()):
            named = next((CONDITIONS[step] for step in reversed(path) if step in CONDITIONS), None)
            found.setdefault(named or path[-1], {})[".".join(path)] = value
        return found

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {
            name: json.dumps(values, sort_keys=True) for name, values in self.conditions.items()
        }

    def without(self, condition: str) -> tuple[str, str]:
        """All that it was measured under, but *condition*; that of a metric alone."""
        record = self.figure.record
        rest = [text for name, text in sorted(self._texts.items()) if name != condition]
        return f"{self.figure.metric} {self.figure.task} {record.software}", "".join(rest)

    def value(self, condition: str) -> tuple[Any, ...]:
        """Values of *condition*, in the order of their paths."""
        return tuple(value for _, value in sorted(self.conditions.get(condition, {}).items()))


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _rows(figures: Iterable[Figure]) -> Iterator[_Row]:
    """A row for each record of a run, or of a task alone, that is held out."""
    known: set[tuple[str, str]] = set()
    for figure in figures:
        alone = figure.metric.startswith("isolated_") and len(figure.record.workload.tasks) == 1
        key = figure.suite, figure.record.id
        if figure.held_out and (figure.metric in RUN or alone) and key not in known:
            known.add(key)
            yield _Row(figure)


def _beside(condition: str, rows: Sequence[_Row]) -> Iterator[tuple[_Row, _Row]]:
    """Pairs of *rows* that have different values of *condition*."""
    of_value = {json.dumps(row.value(condition)): row for row in rows}
    different = list(of_value.values())
    values = [row.value(condition) for row in different]
    numbers = all(
        value and all(isinstance(each, int | float) for each in value) for value in values
    )
    if numbers and len({len(value) for value in values}) == 1:
        yield from pairwise(sorted(different, key=lambda row: row.value(condition)))
    else:
        yield from combinations(different[:MOST], 2)
