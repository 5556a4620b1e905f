"""Axes of a study as lists of values in SI units: ranges counted out, units converted, paths made
canonical.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError
from c3sim.input.aliases import canonical
from c3sim.input.loading import LoadedStudy
from c3sim.input.paths import convert_value, is_whole, unit_of
from c3sim.input.yaml_nodes import join
from c3sim.specs.hardware import Node
from c3sim.specs.study import Range, Values
from c3sim.specs.workload import Workload

MOST = 10_000_000  # points of a study, or values of a range; more are a slip of the pen


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One *path* (canonical), the *values* it takes in SI *unit* (words and lists as they are).

    *written*: the path as in the file; *texts*: the values, too, those of a range with their unit.
    """

    path: str
    written: str
    unit: str
    values: tuple[Any, ...]
    texts: tuple[Any, ...]

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers (or nothing): a column of floats."""
        return all(
            value is None or (isinstance(value, int | float) and not isinstance(value, bool))
            for value in self.values
        )

    @property
    def label(self) -> str:
        """The path in words, as for a picture: ``dma engines bandwidth``."""
        return " ".join(self.path.replace("_", " ").split(".")[-2:])


def axis_groups(
    loaded: LoadedStudy, node: Node, workloads: Sequence[Workload]
) -> tuple[tuple[Axis, ...], ...]:
    """The axes of the study, each a group of its own, then the linked ones, a group each. Raises
    InputError with its line.
    """
    study = loaded.study
    groups = [
        _group(loaded, "axes", {path: values}, node, workloads)
        for path, values in study.axes.items()
    ]
    groups += [
        _group(loaded, f"linked[{index}]", entry, node, workloads)
        for index, entry in enumerate(study.linked)
    ]
    places = [
        *(["axes"] * len(study.axes)),
        *(f"linked[{index}]" for index in range(len(study.linked))),
    ]
    seen: dict[str, str] = {}
    for place, axis in (
        (place, axis) for place, group in zip(places, groups, strict=True) for axis in group
    ):
        if axis.path in seen:
            message = f"the same value as {seen[axis.path]!r}; a path is one axis"
            raise loaded.error(message, join(place, axis.written))
        seen[axis.path] = axis.written
    return tuple(groups)


def _group(
    loaded: LoadedStudy,
    where: str,
    entries: Mapping[str, Values],
    node: Node,
    workloads: Sequence[Workload],
) -> tuple[Axis, ...]:
    """Axes that move together."""
    found = []
    for path, values in entries.items():
        try:
            found.append(make_axis(path, values, node, workloads))
        except InputError as error:
            message = error.message if error.path in ("", path) else str(error)
            raise loaded.error(message, join(where, path)) from None
    if not found:
        raise loaded.error("no path; write path: [values]", where)
    if len({len(axis.values) for axis in found}) > 1:
        counts = ", ".join(f"{axis.written} {len(axis.values)}" for axis in found)
        raise loaded.error(
            f"linked axes of different lengths: {counts}; must have as many values each", where
        )
    return tuple(found)


def make_axis(path: str, values: Values, node: Node, workloads: Sequence[Workload]) -> Axis:
    """The axis of *path*, which must lead to a value in the node or in every one of *workloads*.
    Raises InputError.
    """
    for workload in workloads:
        unit, whole = unit_of(node, workload, path), is_whole(node, workload, path)
    if isinstance(values, Range):
        start, end = ends_of(values, path, node, workload)
        found = _counted(values, start, end, whole)
        texts: tuple[Any, ...] = tuple(f"{value!r} {unit}" if unit else value for value in found)
    else:
        if not values:
            raise InputError("no values; write [a, b, ...] or {from: a, to: b, steps: n}")
        found, texts = [convert_value(node, workload, path, value) for value in values], values
    return Axis(path=canonical(path), written=path, unit=unit, values=tuple(found), texts=texts)


def ends_of(values: Range, path: str, node: Node, workload: Workload) -> tuple[float, float]:
    """Both ends of a range in SI units. Raises InputError."""
    ends = []
    for end in (values.start, values.to):
        found = convert_value(node, workload, path, end)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise InputError(
                f"{end!r} is not a number; a range has numbers for ends, words need a list"
            )
        ends.append(float(found))
    if ends[0] == ends[1]:
        raise InputError(f"from {values.start} to {values.to}; the ends must differ")
    if (values.log or values.factor) and min(ends) <= 0:
        raise InputError(f"from {values.start} to {values.to}; in ratios both ends must be above 0")
    return ends[0], ends[1]


def _counted(values: Range, start: float, end: float, whole: bool) -> list[Any]:
    """The values of a range, both ends included; those of a factor up to the other end."""
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
    if count > MOST:
        raise InputError(f"{count} values; must be at most {MOST}")
    if values.factor is not None or values.log:
        found = [start * ratio**index for index in range(count)]
    else:
        found = [start + (end - start) * index / (count - 1) for index in range(count)]
    if whole:  # counts and bytes: the nearest, each once
        return list(dict.fromkeys(round(value) for value in found))
    ends = (start, end)
    return [next((e for e in ends if math.isclose(e, v)), float(f"{v:.12g}")) for v in found]
