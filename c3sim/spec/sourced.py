"""Numbers of hardware files: each is an entry that says where it comes from, and what a fit says.

read_bandwidth:
  value: 28.8 B/cycle
  source: HBM saturates near 67 CUs      where the value, or the start of its fit, comes from
  interval: [24.6 B/cycle, 64 B/cycle]   what it may be
  calibrated:                            a free parameter that a fit has determined
    {suite: cu_scaling+streams, date: 2026-11-21, records: 137, data: b621181f975194d2,
     residual: 0.011, interval: [28.2 B/cycle, 29.4 B/cycle]}
  fitted: cu_scaling+streams             instead: a free parameter that no fit has determined yet
  estimate: true                         no source gives it; source says of what order and why
  scales_with: gpu.clock.maximum         it is proportional to that number; a file that is like this
                                         one and changes it gets the scaled value. A power, several
                                         factors: gpu.hbm.latency^-1 * links.per_peer. nothing: it
                                         follows no number of hardware
  depends_on: gpu.hbm, links.latency     it changes with these, by no known law
  note: ...

The models of hardware hold the values alone, in SI; the entries are kept beside them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache, partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import InitErrorDetails, core_schema

from c3sim.spec.base import Reading, Spec, said, shown
from c3sim.spec.fields import form_of, is_numeric, is_word
from c3sim.spec.quantities import Unit, finite
from c3sim.spec.units import parse_quantity

#: A fit in the words of schema 1: date, records, data, residual [%], interval, start.
FIT_IN_WORDS = re.compile(
    r"calibrated (?P<date>\S+) on (?P<records>\d+) records \(data (?P<data>\w+)\),"
    r" median residual (?P<residual>[\d.]+) %,"
    r" 95 % interval \[(?P<low>[^,\]]+), (?P<high>[^,\]]+)\](?:; start: (?P<start>.*))?",
    re.DOTALL,
)
#: A factor of what a value scales with: the path of a number, and a power.
FACTOR = re.compile(r"(?P<path>[A-Za-z_][\w.-]*[\w])(\^(?P<power>-?\d+(\.\d+)?))?")
NOTHING = "nothing"  # in scales_with: of software, or a share by construction
#: Stands for an entry that a file drops from what it is like.
DROPPED: Any = type("Dropped", (), {"__repr__": lambda self: "DROPPED"})()


def _day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"got {text!r}; must be a day, as in 2026-11-21") from None
    return text


def _share(value: float) -> float:
    if not 0 <= value < 10:
        raise ValueError(f"got {value:g}; must be a share, as in 0.011")
    return value


def _words(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise said(f"{shown(value)} is not text; must be words")
    return value


def _end(value: Any, info: ValidationInfo) -> float:
    """*value* in the unit of the number that it is about, which the context says."""
    unit = info.context if isinstance(info.context, Unit) else None
    if unit is not None:
        return unit.in_si(value, "text")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise said(f"{shown(value)} is not a number; must be a plain number, without unit")
    return finite(value)


Steps = tuple[str | int, ...]
Handler = Callable[[Any], Any]
Words = Annotated[str, BeforeValidator(_words), Field(min_length=1)]
End = Annotated[float, BeforeValidator(_end)]
Text = Annotated[str, Field(strict=True)]


class Calibrated(Spec):
    """The outcome of the fit of a value."""

    suite: Text
    """suites it was fitted to, joined by +"""
    date: Annotated[Text, AfterValidator(_day)]
    """day of the fit, as in 2026-11-21"""
    records: Annotated[int, Field(strict=True, gt=0)]
    """how many records it was fitted to"""
    data: Text
    """hash of those records"""
    residual: Annotated[float, Field(strict=True), AfterValidator(_share)]
    """median of |predicted / measured - 1| over them"""
    interval: tuple[End, End]
    """95 % confidence interval"""


class Sourced(Spec):
    """A value of a hardware file as it is written, with its source and what else is said of it."""

    value: Any
    source: Words = ""
    interval: tuple[End, End] | None = None
    calibrated: Calibrated | None = None
    fitted: Words = ""
    note: Words = ""
    estimate: Annotated[bool, Field(strict=True)] = False
    scales_with: Words = ""
    depends_on: Words = ""

    def contradictions(
        self, written: Mapping[str, Any], value: Any, is_number: bool
    ) -> Iterator[tuple[str, Steps]]:
        """Yield what does not go together in *written*, and where. *value*: in SI, or None where it
        is wrong.
        """
        if not self.source:
            yield "the value has no source; say where it comes from, as source: ...", ()
        if FIT_IN_WORDS.match(self.source):
            message = (
                "the source tells a fit in words, as in schema 1; it has a field of its own,"
                " calibrated: c3sim upgrade {file}"
            )
            yield message, ("source",)
        if self.estimate and self.interval is None:
            yield "an estimate needs an interval; write interval: [low, high]", ()
        if self.fitted and self.calibrated is not None:
            yield "'calibrated' names its suite; leave 'fitted' out", ("fitted",)
        if self.scales_with and not all(map(FACTOR.fullmatch, _parts(self.scales_with, "*"))):
            message = (
                f"{shown(self.scales_with)} is no product of numbers; write PATH or PATH^POWER"
            )
            yield f"{message}, as in gpu.clock.maximum * links.per_peer^-1", ("scales_with",)
        if self.scales_with not in ("", NOTHING) and not is_number:
            yield "a list scales with nothing; only single numbers do", ("scales_with",)
        fit = None if self.calibrated is None else self.calibrated.interval
        for ends, at in ((self.interval, ("interval",)), (fit, ("calibrated", "interval"))):
            if ends is not None and not is_number:
                yield "a list has no interval; only single numbers have", at
            elif ends is not None and value is not None and not ends[0] <= value <= ends[1]:
                given = written[at[0]] if len(at) == 1 else written[at[0]][at[1]]
                what = f"{shown(given)} does not hold the value {shown(written['value'])}"
                yield f"{what}; must be [low, high] around it", at


def _parts(text: str, sign: str) -> list[str]:
    return [part.strip() for part in text.split(sign)]


@cache
def _law(text: str) -> Mapping[str, float]:
    factors = map(FACTOR.fullmatch, _parts(text, "*"))
    return {e["path"]: float(e["power"] or 1) for e in factors if e and e["path"] != NOTHING}


@cache
def _paths(text: str) -> tuple[str, ...]:
    return tuple(_parts(text, ",")) if text else ()


class Entry(NamedTuple):
    """An entry as *written*, and its value in SI *unit*."""

    written: Mapping[str, Any]
    value: Any
    unit: str
    said: Sourced


#: Marks what takes entries already.
_DONE: dict[str, Any] = {"entry": True}


class Hardware(Spec):
    """A part of a node or GPU. Its file has each number as an entry, and words where they need a
    source.
    """

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        schema = handler(source)
        inner: Any = handler.resolve_ref_schema(schema)
        while inner["type"] != "model-fields":
            inner = inner["schema"]
        for name, field in inner["fields"].items():
            about = field["schema"] if field["schema"]["type"] == "default" else field
            if about["schema"].get("metadata") != _DONE:  # one that was built before has it
                about["schema"] = core_schema.with_info_wrap_validator_function(
                    partial(_without_source, _way_of(cls, name)), about["schema"], metadata=_DONE
                )
        return schema


def _without_source(way: _Way, value: Any, handler: Handler, info: ValidationInfo) -> Any:
    """The value of a field that is written in that *way*. Raises ValidationError."""
    reading = Reading.of(info)
    if reading is None or reading.style != "leaf":
        return handler(value)
    if value is DROPPED:
        value = None
    if way.named and isinstance(value, Mapping):
        value = {key: each for key, each in value.items() if each is not DROPPED}
        return _values(value, handler, way, reading) if way.entries else handler(value)
    if way.named or not way.entries or (value is None and way.optional):
        return handler(value)
    return _values({None: value}, lambda values: handler(values[None]), way, reading)


class _Way(NamedTuple):
    """The way to write a field: as *entries*, one, or one for each name; *number*: a single one."""

    entries: Literal["", "may", "must"]
    named: bool
    optional: bool
    number: bool
    unit: Unit | None


def _way_of(model: type[Spec], field: str) -> _Way:
    form = whole = form_of(model.model_fields[field].rebuild_annotation())
    if named := form.origin is dict:
        form = form_of(form.arguments[1])
    entries: Any = "must" if is_numeric(form.bare) else "may" if is_word(form.bare) else ""
    inner = form
    while inner.origin is tuple:
        inner = form_of(inner.arguments[0])
    return _Way(entries, named, whole.optional, form.bare in (int, float), inner.unit)


def _values(given: Mapping[str | None, Any], handler: Handler, way: _Way, reading: Reading) -> Any:
    """The results of *handler* for the values of *given* entries, by name. Their sources go to
    *reading*. Raises ValidationError, with all mistakes.
    """
    problems: list[InitErrorDetails] = []
    values, entries = dict(given), dict[str | None, Mapping[str, Any]]()
    for name, written in given.items():
        if isinstance(written, Mapping) and "value" in written:
            entries[name], values[name] = written, written["value"]
        elif way.entries == "must":
            del values[name]
            message = f"{shown(written)} has no source; write {{value: ..., source: ...}}"
            problems.append(_problem(message, _steps(name), written))
    result = None
    try:
        result = handler(values) if values or way.named else None
    except ValidationError as error:
        problems += _problems(error, ())
    for name, written in entries.items():
        value = result.get(name) if way.named and result is not None else result
        try:
            entry = Sourced.model_validate(written, context=way.unit or "")
        except ValidationError as error:
            problems += _problems(error, _steps(name))
            continue
        problems += [
            _problem(message, (*_steps(name), *at), written)
            for message, at in entry.contradictions(written, value, way.number)
        ]
        unit = way.unit.si if way.unit else ""
        reading.entries[id(written)] = Entry(written, value, unit, entry)
    if problems:
        raise ValidationError.from_exception_data("entry", problems)
    return result


def _steps(name: str | None) -> Steps:
    return () if name is None else (name,)


def _problem(message: str, loc: Steps, value: Any) -> InitErrorDetails:
    return {"type": said(message), "loc": loc, "input": value}


def _problems(error: ValidationError, at: Steps) -> Iterator[InitErrorDetails]:
    """The mistakes of *error*, one by one, as those of what is *at* the steps."""
    for each in error.errors(include_url=False):
        kind: Any = each["type"]
        if kind == "said":
            kind = said(each["ctx"]["said"])
        details: InitErrorDetails = {
            "type": kind,
            "loc": (*at, *each["loc"]),
            "input": each["input"],
        }
        yield {**details, "ctx": each["ctx"]} if "ctx" in each and kind == each["type"] else details


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
    scales_with: str = ""
    depends_on: str = ""
    scaled: float = 1.0
    file: str = ""
    line: int = 0
    at: str = ""  # its path in that file

    @staticmethod
    def of(entry: Entry, file: str, line: int, at: str) -> Leaf:
        """The *entry* that stands on *line* of *file*."""
        value, about = entry.written["value"], entry.said
        return Leaf(
            text=value if isinstance(value, str) else shown(value),
            value=entry.value,
            unit=entry.unit,
            source=about.source,
            interval=about.interval,
            calibrated=about.calibrated,
            fitted=about.calibrated.suite if about.calibrated else about.fitted,
            note=about.note,
            estimate=about.estimate,
            scales_with=about.scales_with,
            depends_on=about.depends_on,
            file=file,
            line=line,
            at=at,
        )

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites of a free parameter, one by one; empty for any other value."""
        return tuple(_parts(self.fitted, "+")) if self.fitted else ()

    @property
    def law(self) -> Mapping[str, float]:
        """Path of each number that it scales with -> power."""
        return _law(self.scales_with)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Paths of numbers, or of parts, that it changes with by no known law."""
        return _paths(self.depends_on)


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
    """The origin of the value, in words: its source, and before it what a fit says."""
    fit = leaf.calibrated
    if fit is None:
        return leaf.source
    low, high = (in_file_units(leaf, end) for end in fit.interval)
    return (
        f"calibrated {fit.date} on {fit.records} records (data {fit.data}),"
        f" median residual {100 * fit.residual:.1f} %, 95 % interval [{low}, {high}];"
        f" start: {leaf.source}"
    )
