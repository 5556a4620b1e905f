"""Parameters of a node that are known within an interval, and samples of them.

- The interval of a number is that of the node file. Of a fitted one it is the narrower ``95 %
  interval [a, b]`` that calibration writes into its source, unless the value lies outside it.
- Within its interval a parameter is uniform; log-uniform where the ends are over a decade apart.
- Parameters are independent. Where a fit ties two together, the band is too wide.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from c3sim.errors import InputError
from c3sim.input.conform import Leaf
from c3sim.input.loading import LoadedNode
from c3sim.input.units import parse_quantity
from c3sim.sweeps.points import Settings

if TYPE_CHECKING:
    import numpy as np

_DECADE = 10.0
_FITTED_INTERVAL = re.compile(r"95 % interval\s+\[([^,\]]+),\s*([^,\]]+)\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """The *value* at a *path* of a node, between *low* and *high*, in SI *unit*.

    *fitted*: the interval is that of a fit, not that of the file; *whole*: only whole numbers.
    """

    path: str
    value: float
    low: float
    high: float
    unit: str
    whole: bool
    fitted: bool

    @property
    def log(self) -> bool:
        """Whether it is sampled in logarithms."""
        return self.low > 0 and self.high > _DECADE * self.low

    def at(self, place: float) -> float | int:
        """The value at *place* of the interval, from 0 to 1."""
        if self.whole:  # each whole number has the same share
            return min(int(self.low + place * (self.high - self.low + 1)), int(self.high))
        if self.log:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + place * (self.high - self.low)
        return float(round(value)) if self.unit == "B" else value


def parameters_of(loaded: LoadedNode, but: Container[str] = ()) -> tuple[Parameter, ...]:
    """Every number of the node with an interval, except *but*, in the order of the files."""
    parameters = []
    for path, leaf in loaded.provenance.items():
        if leaf.interval is None or path in but:
            continue
        ends = _fitted_interval(leaf)
        low, high = ends or leaf.interval
        if low < high:
            parameters.append(
                Parameter(
                    path=path,
                    value=leaf.value,
                    low=low,
                    high=high,
                    unit=leaf.unit,
                    whole=isinstance(leaf.value, int),
                    fitted=ends is not None,
                )
            )
    return tuple(parameters)


def _fitted_interval(leaf: Leaf) -> tuple[float, float] | None:
    """The 95 % interval of a fit, cut to that of the file; None where none holds the value."""
    match = _FITTED_INTERVAL.search(leaf.source)
    if not match or leaf.interval is None:
        return None
    try:
        low, high = (
            parse_quantity(end, leaf.unit) if leaf.unit else float(end) for end in match.groups()
        )
    except (InputError, ValueError):
        return None  # prose that looks like an interval
    low, high = max(low, leaf.interval[0]), min(high, leaf.interval[1])
    return (low, high) if low <= leaf.value <= high else None


def latin_hypercube(parameters: Sequence[Parameter], samples: int, seed: int) -> np.ndarray:
    """Places from 0 to 1: a row for each sample, a column for each parameter."""
    import numpy as np
    from scipy.stats import qmc

    return qmc.LatinHypercube(len(parameters), seed=np.random.default_rng(seed)).random(samples)


def settings_of(parameters: Sequence[Parameter], places: Sequence[float]) -> Settings:
    """Settings of a point: each parameter at its place."""
    return tuple(
        (each.path, each.at(float(place))) for each, place in zip(parameters, places, strict=True)
    )


def spread(values: Sequence[float]) -> dict[str, float]:
    """5th percentile, median and 95th percentile."""
    import numpy as np

    low, middle, high = np.quantile(np.asarray(values, dtype=float), (0.05, 0.5, 0.95))
    return {"p5": float(low), "median": float(middle), "p95": float(high)}
