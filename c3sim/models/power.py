"""Engine clock under the power limit, and energy.

Power of a GPU at clock factor f (f = 1 at the maximum clock):

    P(f) = P_idle + sum_i [ core_i f^(1+x) + scaled_i f + fixed_i ]

core_i: dynamic power of flow i in the clocked, voltage-scaled domain (matrix units, CUs, L2) at f = 1;
scaled_i: power of its memory and link traffic when that traffic follows the clock; fixed_i: when it does not.
The exponent 1+x joins frequency and the voltage it needs (P ~ f V(f)^2). The clock is the largest
f in [minimum, 1] with P(f) <= limit; all terms are declared by the flows, none is a solved rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Load", "clock_factor", "power"]


@dataclass(frozen=True, slots=True)
class Load:
    """Power [W] of one flow at full clock, by how it scales with the clock."""

    core: float = 0.0
    scaled: float = 0.0
    fixed: float = 0.0


def power(factor: float, idle: float, exponent: float, core: float, scaled: float, fixed: float) -> float:
    """P(f) [W] of the module docstring, with the sums already taken; *exponent* is x."""
    return idle + core * factor ** (1.0 + exponent) + scaled * factor + fixed


@lru_cache(maxsize=65536)
def clock_factor(
    limit: float, idle: float, exponent: float, minimum: float, core: float, scaled: float, fixed: float
) -> float:
    """Largest clock factor in [*minimum*, 1] at which the power stays within *limit* [W]."""
    if power(1.0, idle, exponent, core, scaled, fixed) <= limit:
        return 1.0
    if power(minimum, idle, exponent, core, scaled, fixed) >= limit:
        return minimum
    low, high = minimum, 1.0  # Newton from above converges monotonically: P is increasing and convex for x >= 0
    factor = high
    for _ in range(60):
        slope = core * (1.0 + exponent) * factor**exponent + scaled
        step = (power(factor, idle, exponent, core, scaled, fixed) - limit) / slope
        factor = max(low, factor - step)
        if abs(step) <= 1e-14 * factor:
            break
    return factor
