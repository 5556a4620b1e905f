"""Functions that cost a simulation: each grid point is evaluated once, the rest interpolated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from math import floor, log, prod


class Grid:
    """*function*, linear between the points *ratio*^i of each argument (rounded if *whole*).

    Times of kernels are nearly linear in bytes, FLOP and, between the steps of a staircase, tokens,
    so that linear interpolation is exact where it matters. An argument 0 is a point of its own.
    """

    def __init__(self, function: Callable[..., float], ratio: float = 2.0, *, whole: bool = False):
        self.ratio, self.whole = ratio, whole
        self._evaluate = cache(function)

    def __call__(self, *arguments: float) -> float:
        axes = [self._around(argument) for argument in arguments]
        total = 0.0
        for corner in product(*axes):
            weight = prod(part for _, part in corner)
            if weight:
                total += weight * self._evaluate(*(point for point, _ in corner))
        return total

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
