"""Coverage of numbers by measurements. Each number of a node is scaled, and the suites that notice
are named.

A suite notices a number where the number times 0.7 or 1.4

- makes a suite miss a bound that it holds (``bound``),
- or moves the median error of one of its metrics by half a point (``moves``),
- or moves a single figure by two hundredths, and by more than its repeats differ (``rows``).

A number that no suite notices is *unseen*: nothing here would tell if it were wrong. Either runs
read it and nothing follows (``nothing``: hidden behind something larger), or none reads it
(``unread``). A 0 has no scale; the far end of its interval takes its place, and without an interval
it is not tried. :mod:`.coverage_suite` says which rows are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.reading.paths import set_value
from c3sim.spec.sourced import Leaf

from .record_files import NO_WORKLOAD

FACTORS = (0.7, 1.4)
# The number of GPUs is part of a record's conditions: other numbers are other machines.
CONDITIONS = ("gpus",)
NOTICED = ("bound", "moves", "rows")  # the most telling first


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """One number of a hardware file, on every node with records that takes it from there."""

    path: str
    leaf: Leaf = field(repr=False)
    nodes: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The file it stands in, and its path."""
        return self.leaf.file, self.path

    @property
    def values(self) -> tuple[float, ...]:
        """Other SI values to put in its place."""
        value, ends = self.leaf.value, self.leaf.interval
        if value == 0:
            return tuple(end for end in ends or () if end)
        if isinstance(value, int):
            steps = (min(value - 1, round(0.7 * value)), max(value + 1, round(1.4 * value)))
            return tuple(step for step in steps if step > 0)
        return tuple(factor * value for factor in FACTORS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """The suites that notice a number."""

    number: Number
    bound: tuple[str, ...] = ()  # suites that miss a bound
    moves: tuple[str, ...] = ()  # suites of which only a median moves
    rows: tuple[str, ...] = ()  # suites of which only single figures move
    tried: bool = True
    read: bool = True  # whether any run reads it

    @property
    def seen(self) -> bool:
        return self.state in NOTICED

    @property
    def state(self) -> str:
        """``bound``, ``moves``, ``rows``, ``nothing``, ``unread``, or ``not tried``."""
        for state in NOTICED:
            if getattr(self, state):
                return state
        if not self.tried:
            return "not tried"
        return "nothing" if self.read else "unread"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"state": self.state, **{state: list(getattr(self, state)) for state in NOTICED}}


def numbers_of(nodes: Mapping[str, LoadedNode], only: str = "") -> list[Number]:
    """The numbers of *nodes*, once each, with nodes that are like no other first; *only* those
    whose path is *only* or lies below it. Raises InputError where there is none.
    """
    known: dict[tuple[str, str], Number] = {}
    for name, loaded in sorted(nodes.items(), key=lambda each: bool(each[1].like)):
        for path, leaf in loaded.provenance.items():
            value = leaf.value
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and path not in CONDITIONS and f"{path}.".startswith(_below(only)):
                earlier = known.get((leaf.file, path))
                others = earlier.nodes if earlier else ()
                known[leaf.file, path] = Number(path=path, leaf=leaf, nodes=(*others, name))
    if not known:
        raise InputError(f"no number of {', '.join(nodes)} is {only!r} or lies below it", "--only")
    return list(known.values())


def _below(path: str) -> str:
    return f"{path}." if path else ""


def with_value(node: Node, number: Number, value: float) -> Node:
    """*node* with SI *value* in place of a number. Raises InputError for a value out of range."""
    leaf = number.leaf
    text: object = f"{float(value)!r} {leaf.unit}" if leaf.unit else value
    if leaf.unit == "B":
        text = f"{round(value)} B"
    changed, _ = set_value(node, NO_WORKLOAD, number.path, text)
    return changed
