"""Axes of a study as lists of values in SI units, with canonical paths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import yaml

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.reading.documents import join
from c3sim.spec.reading.documents import plain as plain_of
from c3sim.spec.reading.loading import LoadedStudy
from c3sim.spec.reading.paths import canonical, convert_value, is_whole, unit_of
from c3sim.spec.study import Range, Values
from c3sim.spec.workload import Workload

Settings = tuple[tuple[str, Any], ...]  # (path, value in SI units)
# more are a slip of the pen
MOST = 10_000_000  # points of a study
MOST_VALUES = 100_000  # values of a range


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One canonical *path* and its *values*: numbers in SI *unit*, words and lists as they are.

    *written* is the path as in the file; *texts* are the values as in the file, those of a range
    with their unit.
    """

    path: str
    written: str
    unit: str
    values: tuple[Any, ...]
    texts: tuple[Any, ...]

    @classmethod
    def as_written(cls, path: str, values: Sequence[Any]) -> Axis:
        """An axis whose values nobody converts."""
        return cls(path=path, written=path, unit="", values=tuple(values), texts=tuple(values))

    @property
    def numeric(self) -> bool:
        return are_numbers(self.values)

    @property
    def label(self) -> str:
        return path_label(self.path)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Names of *scenarios* crossed with *groups* of axes and with *strategies*, the last fastest.

    A place is a number in each of them, in that order.
    """

    scenarios: tuple[str, ...]
    groups: tuple[tuple[Axis, ...], ...]
    strategies: tuple[str, ...] = ("as_written",)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(axis for group in self.groups for axis in group)

    @property
    def size(self) -> int:
        return math.prod(self._sizes)

    def places(self) -> Iterator[tuple[int, ...]]:
        return product(*map(range, self._sizes))

    def settings(self, place: Sequence[int]) -> Settings:
        """Canonical paths and SI values at *place*, in the order of the axes."""
        return tuple((axis.path, axis.values[number]) for axis, number in self._numbered(place))

    def texts(self, place: Sequence[int]) -> dict[str, Any]:
        """Paths and values at *place* as the file has them."""
        return {axis.written: axis.texts[number] for axis, number in self._numbered(place)}

    @property
    def _sizes(self) -> tuple[int, ...]:
        values = (len(group[0].values) for group in self.groups)
        return (len(self.scenarios), *values, len(self.strategies))

    def _numbered(self, place: Sequence[int]) -> Iterator[tuple[Axis, int]]:
        for group, number in zip(self.groups, place[1:-1], strict=True):
            for axis in group:
                yield axis, number


def are_numbers(values: Sequence[Any]) -> bool:
    """True if *values* are numbers or None, so that their column holds floats."""
    return all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for value in values
    )


def path_label(path: str) -> str:
    """The last two steps of *path* in words: ``dma engines bandwidth``."""
    return " ".join(path.replace("_", " ").split(".")[-2:])


def axis_groups(
    loaded: LoadedStudy, node: Node, workloads: Sequence[Workload]
) -> tuple[tuple[Axis, ...], ...]:
    """The axes of a study: each is a group of its own; linked axes form one group together.

    Raises InputError with file and line.
    """
    entries = [("axes", {path: values}) for path, values in loaded.study.axes.items()]
    entries += [(f"linked[{index}]", entry) for index, entry in enumerate(loaded.study.linked)]
    groups = []
    written: dict[str, str] = {}
    for place, entry in entries:
        group = _group(loaded, place, entry, node, workloads)
        for axis in group:
            if axis.path in written:
                message = f"the same value as {written[axis.path]!r}; a path is one axis"
                raise loaded.error(message, join(place, axis.written))
            written[axis.path] = axis.written
        groups.append(group)
    return tuple(groups)


def _group(
    loaded: LoadedStudy,
    place: str,
    entry: Mapping[str, Values],
    node: Node,
    workloads: Sequence[Workload],
) -> tuple[Axis, ...]:
    axes = []
    for path, values in entry.items():
        try:
            axes.append(make_axis(path, values, node, workloads))
        except InputError as error:
            message = error.message if error.path in ("", path) else str(error)
            raise loaded.error(message, join(place, path)) from None
    if not axes:
        raise loaded.error("no path; write path: [values]", place)
    if len({len(axis.values) for axis in axes}) > 1:
        counts = ", ".join(f"{axis.written} {len(axis.values)}" for axis in axes)
        message = f"linked axes of different lengths: {counts}; must have as many values each"
        raise loaded.error(message, place)
    return tuple(axes)


def make_axis(path: str, values: Values, node: Node, workloads: Sequence[Workload]) -> Axis:
    """The axis of *path*, which must exist in the node or in every workload. Raises InputError."""
    for workload in workloads:
        unit, whole = unit_of(node, workload, path), is_whole(node, workload, path)
    if isinstance(values, Range):
        start, end = ends_of(values, path, node, workload)
        plain = _range_values(values, start, end, whole)
        texts: tuple[Any, ...] = tuple(f"{value!r} {unit}" if unit else value for value in plain)
    else:
        if not values:
            raise InputError("no values; write [a, b, ...] or {from: a, to: b, steps: n}")
        texts = tuple(_text(each) if _is_layout(each) else each for each in values)
        plain = [convert_value(node, workload, path, each) for each in texts]
        for number, value in enumerate(values):
            if _is_layout(value):
                plain[number] = texts[number]
    return Axis(path=canonical(path), written=path, unit=unit, values=tuple(plain), texts=texts)


def _is_layout(value: Any) -> bool:
    """True of a mapping, or a list of them: such a value is named by its text."""
    inside = value if isinstance(value, tuple | list) else (value,)
    return any(isinstance(each, Mapping) for each in inside)


def _text(layout: Any) -> str:
    """*layout* on one line of a file: ``{dp_shard: 4, tp: 2}``."""
    text: str = yaml.safe_dump(
        plain_of(layout), default_flow_style=True, sort_keys=False, width=math.inf
    )
    return text.strip()


def ends_of(values: Range, path: str, node: Node, workload: Workload) -> tuple[float, float]:
    """Both ends of a range in SI units. Raises InputError."""
    ends = []
    for written in (values.start, values.to):
        end = convert_value(node, workload, path, written)
        if isinstance(end, bool) or not isinstance(end, int | float):
            raise InputError(
                f"{written!r} is not a number; a range has numbers for ends, words need a list"
            )
        ends.append(float(end))
    if ends[0] == ends[1]:
        raise InputError(f"from {values.start} to {values.to}; the ends must differ")
    if (values.log or values.factor) and min(ends) <= 0:
        raise InputError(f"from {values.start} to {values.to}; in ratios both ends must be above 0")
    return ends[0], ends[1]


def _range_values(values: Range, start: float, end: float, whole: bool) -> list[Any]:
    """The values of a range: with steps both ends are included, with a factor perhaps only one."""
    if values.steps is None and values.factor is None:
        raise InputError("a range of an axis needs steps: n, or factor: f")
    if values.steps is not None and values.factor is not None:
        raise InputError("a range has steps or a factor, not both")
    if values.factor is not None:
        ratio = values.factor if end > start else 1 / values.factor
        count = math.floor(math.log(end / start) / math.log(ratio) * (1 + 1e-12)) + 1
    else:
        assert values.steps is not None  # one of them is given
        count = values.steps
        ratio = (end / start) ** (1 / (count - 1)) if values.log else 1.0
    if count > MOST_VALUES:
        raise InputError(f"{count} values; must be at most {MOST_VALUES}")
    if values.factor is not None or values.log:
        numbers = [start * ratio**index for index in range(count)]
    else:
        numbers = [start + (end - start) * index / (count - 1) for index in range(count)]
    if whole:  # counts and bytes: the nearest, each once
        return list(dict.fromkeys(round(number) for number in numbers))
    ends = (start, end)
    return [next((e for e in ends if math.isclose(e, n)), float(f"{n:.12g}")) for n in numbers]
