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
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from c3sim.input.hints import unknown
from c3sim.input.shapes import Shape
from c3sim.input.units import parse_quantity
from c3sim.input.yaml_nodes import Item, join

if TYPE_CHECKING:
    from c3sim.input.conform import Conform


class _Bad:
    def __repr__(self) -> str:
        return "BAD"


#: Stands for a value whose mistake has been noted.
BAD: Any = _Bad()

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


def read_leaf(document: Conform, item: Item, shape: Shape, path: str) -> Any:
    """The value of the entry *item*; the entry itself goes to ``document.leaves``."""
    document.places[path] = item.line
    entries = item.value
    if not isinstance(entries, Mapping) or "value" not in entries:
        message = f"{item.text()} has no source; write {{value: ..., source: ...}}"
        return document.fail(message, path, item.line)
    for key, entry in entries.items():
        if key not in LEAF_FIELDS:
            document.note(unknown("field", key, LEAF_FIELDS), path, entry.line)
    words = {
        key: _words(document, entries[key], join(path, key))
        for key in ("source", "fitted", "note")
        if key in entries
    }
    _check_words(document, entries, words.get("source", ""), path, item.line)
    estimate = "estimate" in entries and document.plain(
        entries["estimate"], Shape(kind="boolean"), join(path, "estimate")
    )
    value = document.plain(entries["value"], shape, path)
    document.places[path], document.values[path] = item.line, value
    interval = calibrated = None
    if "interval" in entries:
        interval = _interval(document, entries["interval"], shape, path, join(path, "interval"))
    if "calibrated" in entries:
        calibrated = _calibrated(document, entries["calibrated"], shape, path)
    if calibrated is not None:
        words["fitted"] = calibrated.suite
    document.leaves[path] = Leaf(
        text=entries["value"].bare(),
        value=value,
        unit=_unit(shape),
        interval=interval,
        calibrated=calibrated,
        estimate=estimate is True,
        file=document.file,
        line=item.line,
        **{"source": "", **words},
    )
    return value


def _check_words(
    document: Conform, entries: Mapping[str, Item], source: str, path: str, line: int
) -> None:
    """What has to stand beside a value, and what must not."""
    if "source" not in entries:
        message = "the value has no source; say where it comes from, as source: ..."
        document.note(message, path, line)
    if FIT_IN_WORDS.match(source):
        message = (
            "the source tells a fit in words, as in schema 1; it has a field of its own,"
            f" calibrated: c3sim upgrade {document.file or 'FILE'}"
        )
        document.note(message, join(path, "source"), entries["source"].line)
    if "estimate" in entries and entries["estimate"].value is True and "interval" not in entries:
        document.note("an estimate needs an interval; write interval: [low, high]", path, line)
    if "fitted" in entries and "calibrated" in entries:
        message = "'calibrated' names its suite; leave 'fitted' out"
        document.note(message, join(path, "fitted"), entries["fitted"].line)


def _words(document: Conform, item: Item, path: str) -> str:
    if isinstance(item.value, str) and item.value.strip():
        return item.value
    document.note(f"{item.text()} is not text; must be words", path, item.line)
    return ""


def _interval(
    document: Conform, item: Item, shape: Shape, path: str, where: str
) -> tuple[float, float] | None:
    """The interval at *where*, in SI; it holds the value of the entry at *path*."""
    if shape.kind not in ("number", "integer"):
        document.note("a list has no interval; only single numbers have", where, item.line)
        return None
    number = Shape(kind="number", unit=shape.unit)
    ends = document.plain(item, Shape(kind="fixed", items=(number, number)), where)
    value = document.values[path]
    if ends is BAD or BAD in ends or value is BAD:
        return None
    low, high = ends
    if not low <= value <= high:
        message = (
            f"{item.text()} does not hold the value {document.texts[path]};"
            " must be [low, high] around it"
        )
        document.note(message, where, item.line)
    return low, high


def _calibrated(document: Conform, item: Item, shape: Shape, path: str) -> Calibrated | None:
    where, entries = join(path, "calibrated"), item.value
    names = (*CALIBRATED_FIELDS, "interval")
    if not isinstance(entries, Mapping):
        message = f"{item.text()} is not a mapping; needs the fields {', '.join(names)}"
        document.note(message, where, item.line)
        return None
    wrong = [unknown("field", key, names) for key in entries if key not in names]
    wrong += [f"missing field {name!r}; it has no default" for name in names if name not in entries]
    for message in wrong:
        document.note(message, where, item.line)
    if wrong:
        return None
    given = {
        name: document.plain(entries[name], wanted, join(where, name))
        for name, (wanted, _) in CALIBRATED_FIELDS.items()
    }
    interval = _interval(document, entries["interval"], shape, path, join(where, "interval"))
    if interval is None or BAD in given.values():
        return None
    if given["records"] < 1:
        message = f"got {given['records']}; must be greater than 0"
        document.note(message, join(where, "records"), entries["records"].line)
    if not 0 <= given["residual"] < 10:
        message = f"got {given['residual']:g}; must be a share, as in 0.011"
        document.note(message, join(where, "residual"), entries["residual"].line)
    try:
        date.fromisoformat(given["date"])
    except ValueError:
        message = f"got {given['date']!r}; must be a day, as in 2026-11-21"
        document.note(message, join(where, "date"), entries["date"].line)
    return Calibrated(interval=interval, **given)


def _unit(shape: Shape) -> str:
    while shape.kind in ("list", "fixed"):
        shape = shape.items[0]
    return shape.unit.si if shape.unit else ""
