"""Engine clock under the power limit, and energy.

Power of a GPU at clock factor f (f = 1 at the maximum clock):

    P(f)   = P_idle + sum_i [ (core_i g_i(f) + held_i f) f^x + uncore_i g_i(f) ]
    g_i(f) = (a_i / f^2 + 1 - a_i)^(-1/2)

    core_i    power of flow i in the clocked, voltage-scaled domain (matrix units, L2) at f = 1
    held_i    power of the compute units it holds, beside that
    uncore_i  power of its memory and link traffic
    g_i       the pace that is left at f
    a_i       the part of the square of its time that follows the clock: 1 for a channel of a
              collective, 0 for a DMA engine, in between for a GEMM (models/gemm.py)
    x         joins frequency with the voltage it needs (P ~ f V(f)^2)

The clock is the largest f in [minimum, 1] with P(f) <= limit. All terms are declared by the flows;
none is a solved rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

#: Halvings of [minimum, 1]: to the last digit.
BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class Load:
    """Power [W] of a flow at full clock; how much of (the square of) its time follows the clock."""

    core: float = 0.0
    held: float = 0.0
    uncore: float = 0.0
    clocked: float = 1.0


def pace(clocked: float, factor: float) -> float:
    """g(f) of the module docstring."""
    return float((clocked / factor**2 + 1.0 - clocked) ** -0.5)


def power(factor: float, idle: float, exponent: float, loads: Iterable[Load]) -> float:
    """P(f) [W] of the module docstring; *exponent* is x."""
    total, scale = idle, factor**exponent
    for load in loads:
        rate = pace(load.clocked, factor)
        total += (load.core * rate + load.held * factor) * scale + load.uncore * rate
    return total


def merged(loads: Iterable[Load]) -> tuple[Load, ...]:
    """Loads that follow the clock alike, as one: P(f) depends on their sums."""
    sums: dict[float, tuple[float, float, float]] = {}
    for load in loads:
        core, held, uncore = sums.get(load.clocked, (0.0, 0.0, 0.0))
        sums[load.clocked] = core + load.core, held + load.held, uncore + load.uncore
    return tuple(Load(*parts, clocked) for clocked, parts in sums.items())


@lru_cache(maxsize=65536)
def clock_factor(
    limit: float, idle: float, exponent: float, minimum: float, loads: tuple[Load, ...]
) -> float:
    """Largest clock factor in [*minimum*, 1] at which the power stays within *limit* [W]."""
    if power(1.0, idle, exponent, loads) <= limit:
        return 1.0
    if power(minimum, idle, exponent, loads) >= limit:
        return minimum
    low, high = minimum, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if power(middle, idle, exponent, loads) > limit:
            high = middle
        else:
            low = middle
    return low
