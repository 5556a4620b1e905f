"""Free parameters of a node: where they may move, and what came of a fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from c3sim.input.paths import set_value, unit_of
from c3sim.specs.hardware import Node

from ..compare.nodes import NO_WORKLOAD

# less than any quantity of a node means; a search that ends at a limit of 0 comes close to it
TINY = 1e-24
WIDE = 5.0  # an interval whose ends differ by more than this factor is searched in logarithms


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Its *path* in the node, the *interval* it may move in, where to *start*; in SI units."""

    path: str
    interval: tuple[float, float]
    start: float

    @property
    def _logarithmic(self) -> bool:
        low, high = self.interval
        return low > 0 and high > WIDE * low

    def place(self, value: float) -> float:
        """Where *value* lies in the interval: 0 to 1."""
        low, high = self.interval
        if self._logarithmic:
            where = math.log(value / low) / math.log(high / low)
        else:
            where = (value - low) / (high - low)
        return min(max(where, 0.0), 1.0)

    def value(self, place: float) -> float:
        """The value at *place*."""
        low, high = self.interval
        value = low * (high / low) ** place if self._logarithmic else low + place * (high - low)
        return value if abs(value) > TINY else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """*low* and *high* bound the 95 % interval; not *identified* where the data leave it open."""

    path: str
    value: float
    low: float
    high: float
    identified: bool
    entangled_with: tuple[str, ...] = ()
    width: float = 1.0  # of the confidence interval, as a fraction of the allowed one


def set_values(node: Node, values: Mapping[str, float]) -> Node:
    """*node* with SI *values* by path."""
    for path, value in values.items():
        unit = unit_of(node, NO_WORKLOAD, path)
        number = float(round(value)) if unit == "B" else float(value)  # sizes are whole bytes
        node, _ = set_value(node, NO_WORKLOAD, path, f"{number!r} {unit}" if unit else number)
    return node
