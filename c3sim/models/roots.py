"""Where a growing function passes zero."""

from __future__ import annotations

from collections.abc import Callable

#: Distance, as a share of the root, within which the result comes to the true one.
PRECISION = 1e-14
MOST_STEPS = 100


def last_within(growing: Callable[[float], float], least: float, most: float) -> float:
    """The largest x in [*least*, *most*] at which *growing*(x) is at most zero, within PRECISION;
    *least* where it is above zero everywhere.

    By false position; the end that stays is halved (Illinois), and no step falls onto an end, so
    that both ends close in.
    """
    above = growing(most)
    if above <= 0.0:
        return most
    below = growing(least)
    if below >= 0.0:
        return least
    low, high, side = least, most, 0
    for _ in range(MOST_STEPS):
        apart = PRECISION * abs(high)
        if high - low <= apart:
            break
        middle = (low * above - high * below) / (above - below)
        middle = min(max(middle, low + 0.5 * apart), high - 0.5 * apart)
        value = growing(middle)
        if value > 0.0:
            high, above = middle, value
            below *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            low, below = middle, value
            above *= 0.5 if side < 0 else 1.0
            side = -1
    return low
