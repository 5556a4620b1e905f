"""The bounds of every suite, from ``bounds.yaml``: every mistake with file and line.

``targets`` are the design's figures, by metric. Every suite under ``suites`` is held to them. Where
the model does not reach one, the suite has an entry of its own for that metric, a *gap bound*: no
worse than on the day it was set. It carries that day, its reason, and a known gap, which names the
page of ``docs/`` that explains it.

``beaten`` lists the metrics of suites where a plain predictor is better than the model
(``scores.Rival``), with the reason. One that it does not list fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from c3sim.errors import InputError
from c3sim.spec.base import Spec
from c3sim.spec.quantities import Factor
from c3sim.spec.reading.loading import open_file
from c3sim.spec.reading.mistakes import nearest_place, raise_all
from c3sim.spec.record import IsoDate
from c3sim.spec.words import unknown

FILE = Path(__file__).parent.parent / "bounds.yaml"
SUFFIXES = ("", "_calibration")  # of metrics: role validation, role calibration


class Limit(Spec):
    """Allowed median and 90th percentile of the absolute relative error."""

    median: Factor
    p90: Factor
    reason: str = Field(min_length=1)


class Target(Limit):
    """Target of the design for *metrics* of every suite."""

    metrics: tuple[str, ...]


class Override(Limit):
    """The gap bound of one metric of one suite that misses its target."""

    gap: str
    """a known gap"""
    since: IsoDate
    """the day the bound was set"""


class Gap(Spec):
    """A known gap of the model, and the suspected reason."""

    what: str = Field(min_length=1)
    suspected: str = Field(min_length=1)
    page: str = Field(min_length=1)
    """of docs/, with an anchor where a section explains it"""


class Beaten(Spec):
    """Plain predictors that are known to be better than the model in one metric of one suite."""

    by: tuple[Literal["max", "sum", "constant", "roofline"], ...] = Field(min_length=1)
    reason: str = Field(min_length=1)


class BoundsFile(Spec):
    schema_version: Literal[1] = Field(alias="schema")
    targets: dict[str, Target]
    suites: dict[str, dict[str, Override]]
    beaten: dict[str, dict[str, Beaten]] = Field({})
    known_gaps: dict[str, Gap] = Field({})


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound of one metric of one suite, and the aim of the design."""

    limit: Limit
    target: Limit

    @property
    def gap(self) -> str:
        """The known gap that makes the bound wider than the target; empty for none."""
        return self.limit.gap if isinstance(self.limit, Override) else ""

    @property
    def since(self) -> str:
        """The day a gap bound was set; empty for a target."""
        return self.limit.since if isinstance(self.limit, Override) else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """suite -> metric -> bound, the known gaps by name, and the targets by class of metrics."""

    suites: Mapping[str, Mapping[str, Bound]]
    gaps: Mapping[str, Gap]
    targets: Mapping[str, Target]
    beaten: Mapping[str, Mapping[str, Beaten]] = field(default_factory=dict)

    def target_of(self, metric: str) -> Target | None:
        """Target of the design for *metric*; None where there is none."""
        return next((each for each in self.targets.values() if metric in _metrics(each)), None)

    def for_own_records(self) -> Bounds:
        """The targets alone: records that this file does not know are compared, not judged."""
        return replace(self, suites={}, beaten={})


def load_bounds(path: str | Path = FILE) -> Bounds:
    """The bounds in *path*. Raises InputErrors."""
    file, shown, places = open_file(Path(path), BoundsFile)
    raise_all(
        [
            InputError(message, where, shown, nearest_place(where, places))
            for message, where in _mistakes(file)
        ]
    )
    return Bounds(
        suites={suite: _bounds(file, suite) for suite in file.suites},
        gaps=file.known_gaps,
        targets=file.targets,
        beaten=file.beaten,
    )


def _bounds(file: BoundsFile, suite: str) -> dict[str, Bound]:
    overrides = file.suites[suite]
    return {
        metric: Bound(overrides.get(metric, target), target)
        for target in file.targets.values()
        for metric in _metrics(target)
    }


def _metrics(target: Target) -> list[str]:
    return [name + suffix for name in target.metrics for suffix in SUFFIXES]


def _mistakes(file: BoundsFile) -> Iterator[tuple[str, str]]:
    """Mistakes that types cannot express: (message, path)."""
    known = Counter([metric for target in file.targets.values() for metric in _metrics(target)])
    for name in sorted([name for name, times in known.items() if times > 1]):
        yield f"metric {name!r} has two targets; each may have one", "targets"
    limits: list[tuple[str, Target | Override]] = [
        (f"targets.{name}", each) for name, each in file.targets.items()
    ]
    for suite, overrides in file.suites.items():
        for metric, override in overrides.items():
            where = f"suites.{suite}.{metric}"
            limits.append((where, override))
            if metric not in known:
                yield unknown("metric", metric, known), where
            if override.gap not in file.known_gaps:
                yield unknown("known gap", override.gap, file.known_gaps), where + ".gap"
    for suite, metrics in file.beaten.items():
        if suite not in file.suites:
            yield unknown("suite", suite, file.suites), f"beaten.{suite}"
        for metric in metrics:
            if metric not in known:
                yield unknown("metric", metric, known), f"beaten.{suite}.{metric}"
    for where, limit in limits:
        if limit.median > limit.p90:
            yield f"median {limit.median:g} is above p90 {limit.p90:g}; must not be", where
    used = {override.gap for overrides in file.suites.values() for override in overrides.values()}
    for gap in file.known_gaps:
        if gap not in used:
            yield "no suite names this gap; take it out, or say where it shows", f"known_gaps.{gap}"
