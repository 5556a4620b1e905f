"""Parameters of a node that are known within an interval, and samples of them.

A number of a node file may have an interval. Of a free parameter that is where a fit may look; what
the fit left open is the narrower 95 % interval under ``calibrated``, and that one is used. Within
its interval a parameter is uniform; log-uniform where the ends are more than a decade apart.
Parameters are taken as independent: where a fit ties two together, the band is wider than it need
be.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from c3sim.input.leaves import Leaf
from c3sim.input.loading import LoadedNode

if TYPE_CHECKING:
    import numpy as np

_DECADE = 10.0
Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One *path* of a node: its *value*, and from *low* to *high* what it may be, in SI *unit*.

    *fitted*: the interval is what a fit left open, not the one of the file; *whole*: only whole
    numbers.
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
        """The value at *place*, 0 to 1, of the interval."""
        if self.whole:  # each with the same share
            return min(int(self.low + place * (self.high - self.low + 1)), int(self.high))
        if self.log:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + place * (self.high - self.low)
        return float(round(value)) if self.unit == "B" else value


def parameters_of(loaded: LoadedNode, but: Container[str] = ()) -> tuple[Parameter, ...]:
    """Every number of the node that has an interval, in the order of the files, less those in
    *but*, set by hand.
    """
    found = []
    for path, leaf in loaded.provenance.items():
        if leaf.interval is None or path in but:
            continue
        ends = _left_open(leaf)
        low, high = ends or leaf.interval
        if low < high:
            found.append(
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
    return tuple(found)


def _left_open(leaf: Leaf) -> tuple[float, float] | None:
    """The 95 % interval of a fit, within that of the file; None where there is no fit."""
    if leaf.calibrated is None or leaf.interval is None:
        return None
    low, high = leaf.calibrated.interval
    return max(low, leaf.interval[0]), min(high, leaf.interval[1])


def latin_hypercube(parameters: Sequence[Parameter], samples: int, seed: int) -> np.ndarray:
    """Places, 0 to 1: a row of each sample, a column of each parameter."""
    import numpy as np
    from scipy.stats import qmc

    return qmc.LatinHypercube(len(parameters), seed=np.random.default_rng(seed)).random(samples)


def settings_of(parameters: Sequence[Parameter], places: Sequence[float]) -> Settings:
    """The values at *places*, as settings of a point."""
    return tuple(
        (each.path, each.at(float(place))) for each, place in zip(parameters, places, strict=True)
    )


def spread(values: Sequence[float]) -> dict[str, float]:
    """5th percentile, median and 95th percentile."""
    import numpy as np

    low, middle, high = np.quantile(np.asarray(values, dtype=float), (0.05, 0.5, 0.95))
    return {"p5": float(low), "median": float(middle), "p95": float(high)}
