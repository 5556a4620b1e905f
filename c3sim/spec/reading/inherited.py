"""Values that a file takes over from a machine whose numbers it changes: scaled where it is known
what they scale with (``scales_with``), said to be taken over where it is not (``depends_on``).

    my value = its value * product over factors of (my number / its number) ^ power

*Its* numbers are those of the first machine, in the line of ``like``, whose file has the value: a
file that is like one that is like another gets the same as if it were like the last one. A GPU's
value that depends on links is of the node that the line begins with; a node that is like no other
one is taken to be the machine that its GPU's values are of.

A number set by hand (``--set``) moves alone: what else would follow is said, not moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.reading.paths import NO_WORKLOAD, get_value, set_si, tuned
from c3sim.spec.sourced import Leaf, in_file_units
from c3sim.spec.units import format_si, parse_quantity

#: Machines that a file is like, the first of all first: their files, and what they say.
Bases = Sequence[tuple[frozenset[str], Mapping[str, Any]]]
Part = TypeVar("Part")

SHOWN = 3  # values in one note


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """A number that is another one than where a value was found: texts; none where it is not
    there.
    """

    path: str
    was: str
    now: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Inherited:
    """The value at *path*, *text*, which lies in a file *origin* and was *fitted* there (or given),
    though numbers that it depends on have *moved*. *factor*: by which it was scaled; None: by
    nothing.
    """

    path: str
    text: str
    origin: str
    fitted: bool
    factor: float | None
    moved: tuple[Moved, ...]

    def __str__(self) -> str:
        how = "fitted" if self.fitted else "given"
        scaled = "" if self.factor is None else f", scaled by {self.factor:.3g}"
        at = f"{how} at {_at_numbers(self.moved)}"
        return f"{self.path} {self.text}: inherited from {self.origin}, {at}{scaled}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def carry(
    node: Node, leaves: Mapping[str, Leaf], bases: Bases
) -> tuple[Node, dict[str, Leaf], tuple[Inherited, ...]]:
    """*node* and what is said of its values, those scaled that were fitted on *bases* with other
    numbers; and these, with those that no law scales. Raises InputError: a path that there is not.
    """
    if len(bases) < 2:
        return node, dict(leaves), ()
    work = _Carrying(node, dict(leaves), bases)
    for path in leaves:
        work.settle(path)
    return work.node, work.leaves, tuple(work.found.values())


class _Carrying:
    """The work of :func:`carry`: a value is settled once those that it scales with are."""

    def __init__(self, node: Node, leaves: dict[str, Leaf], bases: Bases) -> None:
        self.node, self.leaves, self.bases = node, leaves, bases
        self.found: dict[str, Inherited] = {}
        self._settled: set[str] = set()

    def settle(self, path: str) -> None:
        """Scale the value at *path*, and note what it depends on."""
        if path in self._settled:
            return
        self._settled.add(path)
        leaf = self.leaves[path]
        factor, moved = 1.0, list[Moved]()
        for other, power in leaf.law.items():
            if other in self.leaves:
                self.settle(other)
            for each, ratio in self._ratios(leaf, other):
                moved.append(each)
                factor *= ratio**power
        if factor != 1 and leaf.value:
            self._scale(path, factor)
        unknown = [each for other in leaf.unknown for each, _ in self._ratios(leaf, other)]
        if moved or unknown:
            self.found[path] = Inherited(
                path=path,
                text=self.leaves[path].text,
                origin=Path(leaf.file).stem,
                fitted=bool(leaf.fitted),
                factor=factor if moved else None,
                moved=(*moved, *unknown),
            )

    def _ratios(self, leaf: Leaf, path: str) -> Iterator[tuple[Moved, float]]:
        """Numbers at, or in, *path* that are others than where *leaf* is from; and how many times
        as large.
        """
        for files, data in self.bases:
            if leaf.file in files and (there := _at(data, path)) is not None:
                break
        else:
            return
        below = [each for each in self.leaves if each == path or each.startswith(f"{path}.")]
        if not below:
            if get_value(self.node, NO_WORKLOAD, path) is None and there:
                yield Moved(path=path, was="there", now="none"), 1.0
            return
        for each in below:
            now, raw = self.leaves[each], _at(data, each)
            was = None if raw is None else _si(raw, now.unit)
            if was != now.value and raw is not None:
                numbers = isinstance(was, int | float) and was
                yield (
                    Moved(path=each, was=_text(raw), now=now.text),
                    now.value / was if numbers else 1.0,
                )

    def _scale(self, path: str, factor: float) -> None:
        leaf = self.leaves[path]
        value = leaf.value * factor
        value = float(round(value)) if leaf.unit == "B" else value
        try:
            self.node = tuned(set_si(self.node, NO_WORKLOAD, path, value)[0], None)
        except InputError as error:
            message = f"scaled with {leaf.scales_with}, {error.message}"
            raise InputError(message, path, leaf.file, leaf.line) from None
        note = f"scaled by {factor:.3g} with {leaf.scales_with}"
        changes: dict[str, Any] = {"note": f"{note}; {leaf.note}" if leaf.note else note}
        if leaf.interval is not None:
            changes["interval"] = _times(leaf.interval, factor)
        if (fit := leaf.calibrated) is not None:
            interval = _times(fit.interval, factor)
            changes["calibrated"] = fit.changed(interval=interval)
        text = in_file_units(leaf, value)
        self.leaves[path] = replace(leaf, text=text, value=value, scaled=factor, **changes)


def _times(ends: tuple[float, float], factor: float) -> tuple[float, float]:
    return ends[0] * factor, ends[1] * factor


def _at(data: Any, path: str) -> Any:
    """The value in *data* of a file at *path*; None: nothing."""
    for step in path.split("."):
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _text(raw: Any) -> str:
    value = raw["value"] if isinstance(raw, dict) and "value" in raw else raw
    return str(list(value) if isinstance(value, tuple) else value)


def _si(raw: Any, unit: str) -> Any:
    """The value of a file's entry in SI *unit*."""
    value = raw["value"] if isinstance(raw, dict) and "value" in raw else raw
    return parse_quantity(value, unit) if unit and isinstance(value, str) else value


def left_behind(
    leaves: Mapping[str, Leaf], before: Node, after: Node, paths: Iterable[str]
) -> tuple[Inherited, ...]:
    """Values that stay as they are while numbers at *paths*, which they depend on, are set by hand:
    *before* and *after*.
    """
    moved = {}
    for path in paths:
        was, now = (get_value(node, NO_WORKLOAD, path) for node in (before, after))
        if was != now and path in leaves:
            unit = leaves[path].unit
            text = format_si(now, unit) if isinstance(now, float) else str(now)
            moved[path] = Moved(path=path, was=leaves[path].text, now=text)
    found = []
    for path, leaf in leaves.items():
        if path in moved or not (leaf.scales_with or leaf.depends_on):
            continue
        of = (*leaf.law, *leaf.unknown)
        causes = tuple(
            each
            for at, each in moved.items()
            if any(at == part or at.startswith(f"{part}.") for part in of)
        )
        if causes:
            found.append(
                Inherited(
                    path=path,
                    text=leaf.text,
                    origin=Path(leaf.file).stem,
                    fitted=bool(leaf.fitted),
                    factor=None,
                    moved=causes,
                )
            )
    return tuple(found)


def notes_on(values: Sequence[Inherited]) -> Iterator[str]:
    """Sentences on *values*: those that were scaled, and those that nothing scales."""
    scaled = [each for each in values if each.factor is not None]
    if scaled:
        texts = [f"{each.path} {each.text} ({each.factor:.3g}x)" for each in scaled]
        yield f"scaled to the numbers of this node: {few(texts)}"
    kept: dict[str, list[Inherited]] = {}
    for each in values:
        if each.factor is None:
            kept.setdefault(each.origin, []).append(each)
    for origin, every in kept.items():
        how = " or ".join(dict.fromkeys("fitted" if each.fitted else "given" for each in every))
        moved = tuple(dict.fromkeys(chain.from_iterable(each.moved for each in every)))
        texts = [f"{each.path} {each.text}" for each in every]
        yield f"inherited from {origin}, {how} at {_at_numbers(moved)}: {few(texts)}"


def _at_numbers(moved: Sequence[Moved]) -> str:
    return ", ".join(f"{each.path} {each.was} (here {each.now})" for each in moved)


def few(texts: Sequence[str]) -> str:
    """The first of *texts* on one line, the others counted."""
    more = f" and {len(texts) - SHOWN} more ('c3sim show' lists them)" if texts[SHOWN:] else ""
    return f"{', '.join(texts[:SHOWN])}{more}"
