"""Engine clock under the power limit, and energy.

Power of a GPU at clock factor f (f = 1 at the maximum clock):

    P(f) = P_idle + sum_i [ (core_i r_i(f) + held_i f) f^x + uncore_i r_i(f) + busy_i ]

    r_i(f)    rate of flow i at f: what it asks for when memory is as loaded as at f, and no more
              than it could do alone
    core_i    J per unit of its work in the clocked, voltage-scaled domain (matrix units, L2)
    held_i    power of the compute units it holds, beside that, at f = 1
    uncore_i  J per unit of its work in memory and links
    busy_i    power of its DMA engine
    x         joins frequency with the voltage it needs (P ~ f V(f)^2)

The clock is the largest f in [minimum, 1] with P(f) <= limit. Flows that share a capacity take less
than P(f), so no more than the limit is drawn, unless the clock is at its minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, sqrt
from typing import NamedTuple

from c3sim.models.roots import last_within


class Load(NamedTuple):
    """Power of a flow: J per unit of its work, and W while it runs."""

    core: float = 0.0
    uncore: float = 0.0
    held: float = 0.0
    busy: float = 0.0


def power(
    idle: float, flows: Iterable[tuple[Load, float]], factor: float, exponent: float
) -> float:
    """P(f) [W] of *flows*, each with its rate, at *factor* f; *idle* power; *exponent* is x."""
    total, scale = idle, factor**exponent
    for (core, uncore, held, busy), rate in flows:
        total += (core * rate + held * factor) * scale + uncore * rate + busy
    return total


def clock_factor(limit: float, minimum: float, drawn: Callable[[float], float]) -> float:
    """Largest clock factor in [*minimum*, 1] at which *drawn*(f) [W], growing, keeps to *limit*.

    Power grows with about the third power of the clock: its root is nearer to a line, and crosses
    that of the limit where power does.
    """
    root = sqrt(limit)

    def above(factor: float) -> float:
        watts = drawn(factor)
        excess = watts - limit
        return excess / (sqrt(watts) + root) if 0.0 < limit < inf else excess

    return last_within(above, minimum, 1.0)
