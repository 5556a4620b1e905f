"""Root of a growing function."""

from __future__ import annotations

from collections.abc import Callable

#: Distance, as a share of the root, within which the result comes to the true one.
PRECISION = 1e-14
MOST_STEPS = 100
ALIKE = 0.5  # slopes on both sides of a point that are no kink
CURVED = 10  # steps along a curve; from then on the interval is halved


def last_within(growing: Callable[[float], float], least: float, most: float) -> float:
    """The largest x in [*least*, *most*] at which *growing*(x) is at most zero, within PRECISION;
    *least* where it is above zero everywhere.

    By the parabola through both ends and the one before (x as a function of the value), by the line
    through both ends where that leads out of them, and by halves where neither ends soon. No step
    falls onto an end, so that both close in, until they have or the lower end is :func:`_there`.
    """
    above = growing(most)
    if above <= 0.0:
        return most
    below = growing(least)
    if below >= 0.0:
        return least
    low, high = least, most
    before, there = most, above  # an end that has been left, and its value
    for step in range(MOST_STEPS):
        apart = PRECISION * abs(high)
        if high - low <= apart or _there(low, below, high, above, before, there, apart):
            break
        middle = 0.5 * (low + high)
        if step < CURVED:
            middle = _crossing(low, below, high, above, before, there)
        middle = min(max(middle, low + 0.5 * apart), high - 0.5 * apart)
        value = growing(middle)
        if value > 0.0:
            before, there = high, above
            high, above = middle, value
        else:
            before, there = low, below
            low, below = middle, value
    return low


def _there(
    low: float, below: float, high: float, above: float, before: float, there: float, apart: float
) -> bool:
    """True if zero is no further than *apart* from *low* by the slope to *high*, and the slope from
    either to the third point beside it says that no kink lies between.
    """
    slope = (above - below) / (high - low)
    if -below > slope * apart or low <= before <= high:
        return False
    beside = (there - below) / (before - low) if before < low else (there - above) / (before - high)
    return ALIKE * slope < beside < slope / ALIKE


def _crossing(
    low: float, below: float, high: float, above: float, before: float, there: float
) -> float:
    """Estimate of where zero is, between *low* and *high*: by a third point too, where it is one
    whose value differs.
    """
    if there not in (below, above):
        found = low * above * there / ((below - above) * (below - there))
        found += high * below * there / ((above - below) * (above - there))
        found += before * below * above / ((there - below) * (there - above))
        if low < found < high:
            return found
    return (low * above - high * below) / (above - below)
