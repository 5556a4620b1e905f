"""Parameters of a node that are known within an interval, and samples of them.

- The interval of a number is that of the node file. Of a calibrated one it is the narrower 95 %
  interval under ``calibrated``.
- Within its interval a parameter is uniform; log-uniform where the ends are over a decade apart.
- Parameters are independent. Where a fit ties two together, the band is too wide.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from c3sim.input.leaves import Leaf
from c3sim.input.loading import LoadedNode
from c3sim.sweeps.points import Settings

if TYPE_CHECKING:
    import numpy as np

_DECADE = 10.0


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
        ends = _calibrated_interval(leaf)
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


def _calibrated_interval(leaf: Leaf) -> tuple[float, float] | None:
    """The 95 % interval of a fit, within that of the file; None where there is no fit."""
    if leaf.calibrated is None or leaf.interval is None:
        return None
    low, high = leaf.calibrated.interval
    return max(low, leaf.interval[0]), min(high, leaf.interval[1])


def latin_hypercube(names: Sequence[str], samples: int, seed: int) -> np.ndarray:
    """Places from 0 to 1: a row for each sample, a column for each of *names*, what is drawn.

    A column follows from its name and *seed* alone: one more thing to draw changes no other draw.
    """
    import numpy as np
    from scipy.stats import qmc

    def column(name: str) -> np.ndarray:
        random = np.random.default_rng((seed, crc32(name.encode())))
        return qmc.LatinHypercube(1, seed=random).random(samples)

    return np.hstack([np.empty((samples, 0)), *(column(name) for name in names)])


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
