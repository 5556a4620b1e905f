"""Figures that moved against earlier predictions of the same records.

A figure moved if its prediction changed by more than its repeats are apart: the median of
|a - b| / mean over pairs of repeats, of its own, else of its suite; where nothing was repeated
nothing says how much is noise, and every change counts. It moved *towards* its measurement or
*away* from it, each row by itself: a mean that got better excuses none that got worse.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

from pydantic import Field

from c3sim.errors import InputError, short
from c3sim.spec.base import Spec
from c3sim.spec.reading.files import LARGEST_DATA, display, read_text
from c3sim.spec.reading.loading import load_file

from .figures import Figure
from .measurements import spread_by_suite
from .scores import metric_of
from .verdict import Verdict

ROUNDING = 1e-6  # of a prediction: what versions of Python and libraries may change
UNITS = ("us", "w", "j")  # of ``predicted_UNIT`` in a result of ``validate --json``
GIVEN = ", given isolated times"  # ends figures of a golden folder that are not compared here


class Key(NamedTuple):
    """A figure: *metric* as in the scores, *name* of the workload and the task."""

    suite: str
    id: str
    metric: str
    name: str

    def __str__(self) -> str:
        return f"{self.suite}: {self.name}: {self.metric}"


class Accepted(Spec):
    """Figures that may get worse: a pattern of ``SUITE: NAME: METRIC``, and why."""

    figure: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class AcceptedFile(Spec):
    schema_version: Literal[1] = Field(alias="schema")
    accepted: tuple[Accepted, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """A figure that moved from *old* to *new*, in its unit; *accepted*: the reason, if it is."""

    key: Key
    old: float
    new: float
    measured: float
    unit: str
    spread: float
    accepted: str = ""

    @property
    def errors(self) -> tuple[float, float]:
        """Signed relative error before and now."""
        return self.old / self.measured - 1, self.new / self.measured - 1

    @property
    def towards(self) -> bool:
        before, now = self.errors
        return abs(now) <= abs(before)

    @property
    def fails(self) -> bool:
        return not (self.towards or self.accepted)

    @property
    def words(self) -> str:
        before, now = self.errors
        way = "towards" if self.towards else "away from"
        why = f"; accepted: {self.accepted}" if self.accepted else ""
        return (
            f"{self.key}: {self.old:.4g} -> {self.new:.4g} {self.unit}, {way} its measurement"
            f" {self.measured:.4g} ({100 * before:+.2f} -> {100 * now:+.2f} %){why}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Against:
    """All that differs from *old*; *unused*: accepted patterns that no figure needed."""

    old: str
    moved: Sequence[Moved]
    lost: Sequence[Key]
    new: int
    unused: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        return not (self.lost or self.unused or any(each.fails for each in self.moved))

    @property
    def summary(self) -> str:
        """Counts, in words."""
        away = [each for each in self.moved if not each.towards]
        accepted = sum(1 for each in away if each.accepted)
        return (
            f"against {self.old}: {len(self.moved)} figures moved by more than their repeats,"
            f" {len(self.moved) - len(away)} towards and {len(away)} away from their measurement"
            f" ({accepted} accepted); {len(self.lost)} lost, {self.new} new:"
            f" {'pass' if self.passed else 'FAIL'}"
        )

    @property
    def lines(self) -> list[str]:
        """Lines of what differs, by name: failures first, then the largest change."""
        order = sorted(self.moved, key=lambda one: (not one.fails, -abs(one.new / one.old - 1)))
        return [
            *(f"{short(str(key), 250)}: lost, no answer any more" for key in self.lost),
            *(f"accepted {pattern!r}: no figure got worse; take it out" for pattern in self.unused),
            *(each.words for each in order),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        moved = [
            {
                **each.key._asdict(),
                "old": each.old,
                "new": each.new,
                "measured": each.measured,
                "unit": each.unit,
                "spread": each.spread,
                "towards": each.towards,
                "accepted": each.accepted or None,
            }
            for each in self.moved
        ]
        return {
            "old": self.old,
            "moved": moved,
            "lost": [key._asdict() for key in self.lost],
            "new": self.new,
            "unused": list(self.unused),
            "pass": self.passed,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Before:
    """Earlier *answers*, read before the work, and the figures that may get worse."""

    old: str
    answers: Mapping[Key, float]
    accepted: Sequence[Accepted]

    @classmethod
    def read(cls, path: str, accept: str | None) -> Before:
        """Raises InputError and InputErrors."""
        accepted = load_file(Path(accept), AcceptedFile).accepted if accept else ()
        return cls(old=display(Path(path)), answers=earlier(path), accepted=accepted)

    def against(self, verdict: Verdict, suite: str = "") -> Against:
        """The figures that moved up to *verdict*; *suite*: the only one that was asked."""
        old = {key: value for key, value in self.answers.items() if suite in ("", key.suite)}
        now = {_key(figure): figure for figure in verdict.figures}
        spreads = {name: one.median for name, one in spread_by_suite(verdict.measurements).items()}
        moved = [
            one if one.towards else self._accepted(one)
            for key, figure in now.items()
            if key in old and (one := _moved(key, old[key], figure, spreads.get(key.suite, 0.0)))
        ]
        worse = [str(one.key) for one in moved if not one.towards]
        patterns = [each.figure for each in self.accepted]
        return Against(
            old=self.old,
            moved=moved,
            lost=[key for key in old if key not in now],
            new=sum(1 for key in now if key not in old),
            unused=[one for one in patterns if not any(fnmatchcase(key, one) for key in worse)],
        )

    def _accepted(self, one: Moved) -> Moved:
        """*one* with the reason of the first pattern that it matches."""
        reasons = (each.reason for each in self.accepted if fnmatchcase(str(one.key), each.figure))
        return replace(one, accepted=next(reasons, ""))


def earlier(path: str | Path) -> Mapping[Key, float]:
    """Predictions of a result of ``validate --json``, or of a golden folder. Raises InputError."""
    place = Path(path)
    found = _of_folder(place) if place.is_dir() else _of_json(place)
    if not found:
        raise InputError(
            "has no predictions; must be what 'c3sim validate --json' printed, or a golden folder",
            file=display(place),
        )
    return found


def _of_json(path: Path) -> dict[Key, float]:
    try:
        rows = json.loads(read_text(path, LARGEST_DATA))["cases"]
        return {
            Key(row["suite"], row["id"], row["metric"], row["name"]): _value(row) for row in rows
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}


def _value(row: Mapping[str, Any]) -> float:
    values = [row.get(f"predicted_{unit}") for unit in UNITS]
    return float(next((value for value in values if value is not None), "none"))


def _of_folder(folder: Path) -> dict[Key, float]:
    """From Parquet files named like their suites: *case* (id and name), *figure*, *number*."""
    import pyarrow.parquet as pq

    below = folder / "suites" if (folder / "suites").is_dir() else folder
    found = {}
    for file in sorted(below.glob("*.parquet")):
        try:
            rows = pq.read_table(file, columns=["case", "figure", "number"]).to_pylist()
        except (ValueError, OSError):
            raise InputError("not a file of golden figures", file=display(file)) from None
        for row in rows:
            if not row["figure"].endswith(GIVEN):
                identity, _, name = row["case"].partition(" ")
                found[Key(file.stem, identity, row["figure"], name)] = row["number"]
    return found


def _key(figure: Figure) -> Key:
    return Key(figure.suite, figure.record.id, metric_of(figure), figure.name)


def _moved(key: Key, old: float, figure: Figure, of_suite: float) -> Moved | None:
    new, measured = figure.predicted * figure.unit_us, figure.measured * figure.unit_us
    spread = median(figure.differences) if figure.differences else of_suite
    if abs(new - old) <= max(spread * measured, ROUNDING * abs(old)):
        return None
    unit = figure.unit or "us"
    return Moved(key=key, old=old, new=new, measured=measured, unit=unit, spread=spread)
