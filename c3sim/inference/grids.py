"""Functions that cost a simulation, evaluated on a grid of powers and interpolated between, each
point once.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import floor, log


class Grid:
    """*function* of positive arguments, linear between the points *ratio*^i (whole numbers if
    *whole*) of each.

    Times of kernels are nearly linear in bytes, FLOP and, between the steps of a staircase, tokens,
    so that linear interpolation is exact where it matters. An argument 0 is a point of its own.
    """

    def __init__(self, function: Callable[..., float], ratio: float = 2.0, *, whole: bool = False):
        self.function, self.ratio, self.whole = function, ratio, whole
        self._known: dict[tuple[float, ...], float] = {}

    def __call__(self, *arguments: float) -> float:
        axes = [self._around(argument) for argument in arguments]
        total = 0.0
        for corner in product(*axes):
            weight = 1.0
            for _, part in corner:
                weight *= part
            if weight:
                total += weight * self._at(tuple(point for point, _ in corner))
        return total

    def _at(self, point: tuple[float, ...]) -> float:
        if point not in self._known:
            self._known[point] = self.function(*point)
        return self._known[point]

    def _around(self, value: float) -> list[tuple[float, float]]:
        """The neighbours of *value* on the grid with their weights."""
        if value <= 0:
            return [(0.0, 1.0)]
        step = floor(log(value, self.ratio) + 1e-9)
        low, high = self._point(step), self._point(step + 1)
        if low == high or value <= low:
            return [(low, 1.0)]
        above = min(1.0, (value - low) / (high - low))
        return [(low, 1.0 - above), (high, above)]

    def _point(self, step: int) -> float:
        value = self.ratio**step
        return float(max(1, round(value))) if self.whole else value


def snap(value: float, ratio: float) -> float:
    """The power of *ratio* nearest to *value*; 0 stays 0."""
    return 0.0 if value <= 0 else ratio ** round(log(value, ratio))
