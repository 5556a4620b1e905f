"""The entries of hardware files: a number, where it comes from, and what a fit says of it.

read_bandwidth:
  value: 28.8 B/cycle
  source: HBM saturates near 67 CUs      where the value, or the start of its fit, comes from
  interval: [24.6 B/cycle, 64 B/cycle]   what it may be
  calibrated:                            a free parameter that a fit has determined
    {suite: cu_scaling+streams, date: 2026-11-21, records: 137, data: b621181f975194d2,
     residual: 0.011, interval: [28.2 B/cycle, 29.4 B/cycle]}
  fitted: cu_scaling+streams             instead: a free parameter that no fit has determined yet
  estimate: true                         no source gives it; source says of what order and why
  note: ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from c3sim.input.conform import BAD, Conform
from c3sim.input.hints import unknown
from c3sim.input.renamed import new_name
from c3sim.input.shapes import Shape, is_numeric
from c3sim.input.units import parse_quantity
from c3sim.input.yaml_nodes import Item, join

LEAF_FIELDS = ("value", "source", "interval", "calibrated", "fitted", "note", "estimate")
#: Field of ``calibrated`` -> its shape, its description.
CALIBRATED_FIELDS = {
    "suite": (Shape(kind="text"), "suites it was fitted to, joined by +"),
    "date": (Shape(kind="text"), "day of the fit, as in 2026-11-21"),
    "records": (Shape(kind="integer", limits={"gt": 0}), "how many records it was fitted to"),
    "data": (Shape(kind="text"), "hash of those records"),
    "residual": (
        Shape(kind="number", limits={"ge": 0}),
        "median of |predicted / measured - 1| over them",
    ),
}
#: How schema 1 told a fit in words: date, records, data, residual [%], interval, start.
FIT_IN_WORDS = re.compile(
    r"calibrated (?P<date>\S+) on (?P<records>\d+) records \(data (?P<data>\w+)\),"
    r" median residual (?P<residual>[\d.]+) %,"
    r" 95 % interval \[(?P<low>[^,\]]+), (?P<high>[^,\]]+)\](?:; start: (?P<start>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """What a fit says of a value. *residual*: median over the records; *interval*: 95 %, in SI."""

    suite: str
    date: str
    records: int
    data: str
    residual: float
    interval: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One number of a hardware file and where it comes from. *value* and *interval* are in SI
    *unit*; *fitted*: the suites of a free parameter, whether a fit has determined it or not.
    """

    text: str
    value: Any
    unit: str
    source: str
    interval: tuple[float, float] | None = None
    calibrated: Calibrated | None = None
    fitted: str = ""
    note: str = ""
    estimate: bool = False
    file: str = ""
    line: int = 0
    at: str = ""  # its path in that file

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites of a free parameter, one by one; empty for any other value."""
        return tuple(part.strip() for part in self.fitted.split("+")) if self.fitted else ()


def in_file_units(leaf: Leaf, value: float) -> str:
    """SI *value* with three digits, in the unit in which the file gives *leaf*."""
    if leaf.unit == "B":
        return f"{float(f'{value:.3g}'):.0f} B"
    number, _, unit = leaf.text.strip().partition(" ")
    if not leaf.unit:
        return _three_digits(value)
    unit = unit or re.sub(r"^[-+.\d]+(e[-+]?\d+)?", "", number)
    return f"{_three_digits(value / parse_quantity(f'1 {unit}', leaf.unit))} {unit}"


def _three_digits(value: float) -> str:
    """Three digits, no exponent, no idle zeros."""
    text = f"{Decimal(f'{value:.3g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def provenance(leaf: Leaf) -> str:
    """Where the value comes from, in words: its source, and before it what a fit says."""
    fit = leaf.calibrated
    if fit is None:
        return leaf.source
    low, high = (in_file_units(leaf, end) for end in fit.interval)
    return (
        f"calibrated {fit.date} on {fit.records} records (data {fit.data}),"
        f" median residual {100 * fit.residual:.1f} %, 95 % interval [{low}, {high}];"
        f" start: {leaf.source}"
    )


@dataclass
class ConformLeaves(Conform):
    """One pass over a hardware file. Afterwards *leaves* has its numbers by path.

    Single words may be leaves as well.
    """

    leaves: dict[str, Leaf] = field(default_factory=dict)

    def unknown_field(self, key: str, path: str, known: list[str]) -> str:
        if (new := new_name(join(path, key))) is None:
            return super().unknown_field(key, path, known)
        file = self.file or "FILE"
        return f"field {key!r} is called {new!r} now; c3sim upgrade {file} renames it"

    def value(self, item: Item, shape: Shape, path: str) -> Any:
        if item.value is None and shape.optional:
            return self.plain(item, shape, path)
        is_leaf = isinstance(item.value, Mapping) and "value" in item.value
        if is_numeric(shape) or (is_leaf and shape.kind in ("text", "choice", "boolean")):
            return self.leaf(item, shape, path)
        return self.plain(item, shape, path)

    def leaf(self, item: Item, shape: Shape, path: str) -> Any:
        """The value of the entry *item*; the entry itself goes to ``self.leaves``."""
        self.places[path] = item.line
        entries = item.value
        if not isinstance(entries, Mapping) or "value" not in entries:
            message = f"{item.text()} has no source; write {{value: ..., source: ...}}"
            return self.fail(message, path, item.line)
        for key, entry in entries.items():
            if key not in LEAF_FIELDS:
                self.note(unknown("field", key, LEAF_FIELDS), path, entry.line)
        words = {
            key: self._words(entries[key], join(path, key))
            for key in ("source", "fitted", "note")
            if key in entries
        }
        self._check_words(entries, words.get("source", ""), path, item.line)
        estimate = "estimate" in entries and self.plain(
            entries["estimate"], Shape(kind="boolean"), join(path, "estimate")
        )
        value = self.plain(entries["value"], shape, path)
        self.places[path] = item.line
        interval = calibrated = None
        if "interval" in entries:
            where = join(path, "interval")
            interval = self._interval(entries["interval"], shape, where, path, value)
        if "calibrated" in entries:
            calibrated = self._calibrated(entries["calibrated"], shape, path, value)
        if calibrated is not None:
            words["fitted"] = calibrated.suite
        self.leaves[path] = Leaf(
            text=entries["value"].bare(),
            value=value,
            unit=_unit(shape),
            interval=interval,
            calibrated=calibrated,
            estimate=estimate is True,
            file=self.file,
            line=item.line,
            at=path,
            **{"source": "", **words},
        )
        return value

    def _check_words(self, entries: Mapping[str, Item], source: str, path: str, line: int) -> None:
        """What has to stand beside a value, and what must not."""
        if "source" not in entries:
            message = "the value has no source; say where it comes from, as source: ..."
            self.note(message, path, line)
        if FIT_IN_WORDS.match(source):
            message = (
                "the source tells a fit in words, as in schema 1; it has a field of its own,"
                f" calibrated: c3sim upgrade {self.file or 'FILE'}"
            )
            self.note(message, join(path, "source"), entries["source"].line)
        if (
            "estimate" in entries
            and entries["estimate"].value is True
            and "interval" not in entries
        ):
            self.note("an estimate needs an interval; write interval: [low, high]", path, line)
        if "fitted" in entries and "calibrated" in entries:
            message = "'calibrated' names its suite; leave 'fitted' out"
            self.note(message, join(path, "fitted"), entries["fitted"].line)

    def _words(self, item: Item, path: str) -> str:
        if isinstance(item.value, str) and item.value.strip():
            return item.value
        self.note(f"{item.text()} is not text; must be words", path, item.line)
        return ""

    def _interval(
        self, item: Item, shape: Shape, where: str, path: str, value: Any
    ) -> tuple[float, float] | None:
        """The interval at *where*, in SI; it holds the *value* of the entry at *path*."""
        if shape.kind not in ("number", "integer"):
            self.note("a list has no interval; only single numbers have", where, item.line)
            return None
        number = Shape(kind="number", unit=shape.unit)
        ends = self.plain(item, Shape(kind="fixed", items=(number, number)), where)
        if ends is BAD or BAD in ends or value is BAD:
            return None
        low, high = ends
        if not low <= value <= high:
            message = (
                f"{item.text()} does not hold the value {self.written[path].text()};"
                " must be [low, high] around it"
            )
            self.note(message, where, item.line)
        return low, high

    def _calibrated(self, item: Item, shape: Shape, path: str, value: Any) -> Calibrated | None:
        where, entries = join(path, "calibrated"), item.value
        names = (*CALIBRATED_FIELDS, "interval")
        if not isinstance(entries, Mapping):
            message = f"{item.text()} is not a mapping; needs the fields {', '.join(names)}"
            self.note(message, where, item.line)
            return None
        wrong = [unknown("field", key, names) for key in entries if key not in names]
        wrong += [
            f"missing field {name!r}; it has no default" for name in names if name not in entries
        ]
        for message in wrong:
            self.note(message, where, item.line)
        if wrong:
            return None
        given = {
            name: self.plain(entries[name], wanted, join(where, name))
            for name, (wanted, _) in CALIBRATED_FIELDS.items()
        }
        inner = join(where, "interval")
        interval = self._interval(entries["interval"], shape, inner, path, value)
        if interval is None or BAD in given.values():
            return None
        records, residual, day = given["records"], given["residual"], given["date"]
        for name, fits, message in (
            ("records", records >= 1, f"got {records}; must be greater than 0"),
            ("residual", 0 <= residual < 10, f"got {residual:g}; must be a share, as in 0.011"),
            ("date", _is_day(day), f"got {day!r}; must be a day, as in 2026-11-21"),
        ):
            if not fits:
                self.note(message, join(where, name), entries[name].line)
        return Calibrated(interval=interval, **given)


def _unit(shape: Shape) -> str:
    while shape.kind in ("list", "fixed"):
        shape = shape.items[0]
    return shape.unit.si if shape.unit else ""


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
