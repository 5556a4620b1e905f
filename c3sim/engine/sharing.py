"""Weighted max-min fair sharing of capacities, with a cap per flow.

A *capacity* is a number that its users may not exceed together. A *demand* is one flow's weight,
the rate it can never exceed, and how much of each capacity one unit of its rate draws. The rates
x_i satisfy

    sum_i amount_ic * x_i <= capacity_c    for every capacity c          (nothing is exceeded)
    0 <= x_i <= cap_i                      for every flow i              (no flow exceeds its cap)

and the level x_i / weight_i of a flow can rise only by lowering that of one with no higher level.
Equivalently: every flow is at its cap, or uses an exhausted capacity none of whose users has a
higher level.

Progressive filling finds them. All flows rise at one common level, x_i = weight_i * level, until
they freeze: at cap_i / weight_i, or at the level where a capacity that they use is exhausted,

    level_c = (capacity_c - sum_frozen amount_ic * x_i) / sum_rising amount_ic * weight_i
            = left_c / slope_c.

- Freezing another flow before that can only raise level_c. A level once computed is therefore a
  lower bound, and the heap of levels is corrected only where it is read: each use of a capacity is
  booked once and released once.
- Rounding: left_c is known to some 1e-16 of capacity_c, as the capacity itself is. slope_c would
  lose its digits where heavy flows have frozen and a light one still rises, so it is summed afresh
  whenever it has shrunk a lot.
- No tolerance is absolute: multiply all capacities and caps by a factor, and the rates follow.
- A capacity of which all users at their caps leave something, by more than rounding, is never
  exhausted and has no say. Most often none has.

Numbers only: no time, no units, no clock. The slow and obvious version is
:mod:`c3sim.engine.oracle`.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

_RISING = -1.0  # stands for the rate of a flow that is not frozen yet
_SHRUNK = 1 / 16  # a slope below this share of the last full sum has lost too many digits
_LEFT_OVER = 1e-9  # share of a capacity that is more than rounding


class Demand(NamedTuple):
    """What one flow asks for. Its share at a bottleneck: rate = weight * level."""

    weight: float  # > 0
    cap: float  # >= 0, the rate it never exceeds; may be math.inf
    # (index of a capacity, amount > 0 drawn from it per unit of rate)
    uses: tuple[tuple[int, float], ...]


def solve(capacities: Sequence[float], demands: Sequence[Demand]) -> list[float]:
    """Return the weighted max-min rate of each of *demands*, in their order.

    Raises `ValueError` if a number is outside its range, or if nothing limits a flow.
    """
    drawn = _drawn_at_most(capacities, demands)
    scarce = {c for c in drawn if not drawn[c] < (1.0 - _LEFT_OVER) * capacities[c]}
    if not scarce:
        rates = [cap for _, cap, _ in demands]
        if math.inf not in rates:
            return rates
    users, slope = _book(scarce, demands)
    left = {c: capacities[c] for c in users}
    full = slope.copy()
    heap = [(left[c] / slope[c], c) for c in users if left[c] < math.inf]
    heapify(heap)
    capped = [(cap / weight, i) for i, (weight, cap, _) in enumerate(demands) if cap < math.inf]
    capped.sort()
    capped.reverse()

    rates = [_RISING] * len(demands)
    rising = len(demands)
    while rising:
        if capped and (not heap or capped[-1][0] <= heap[0][0]):
            # next, a flow meets its cap, the only limit
            freezing, level = [capped.pop()[1]], math.inf
        elif heap:
            # next, a capacity is exhausted, unless flows that froze meanwhile have left it more
            level, c = heap[0]
            if slope[c] < _SHRUNK * full[c]:
                users[c] = [(i, draw) for i, draw in users[c] if rates[i] == _RISING]
                slope[c] = full[c] = sum([draw for _, draw in users[c]])
            if slope[c] and left[c] / slope[c] > level:
                heapreplace(heap, (left[c] / slope[c], c))
                continue
            heappop(heap)
            freezing = [i for i, _ in users[c]]
        else:
            raise ValueError(
                f"flow {rates.index(_RISING)}: nothing limits it, neither a cap nor a capacity"
            )

        for flow in freezing:
            if rates[flow] == _RISING:
                weight, cap, uses = demands[flow]
                rates[flow] = rate = min(weight * level, cap)
                rising -= 1
                for c, amount in uses:
                    if c in scarce:
                        slope[c] -= amount * weight
                        left[c] -= amount * rate
    return rates


def _drawn_at_most(capacities: Sequence[float], demands: Sequence[Demand]) -> dict[int, float]:
    """What is drawn from each used capacity where all flows are at their caps.

    Raises `ValueError` if a number is outside its range.
    """
    drawn: dict[int, float] = {}
    infinite = math.inf
    for flow, (weight, cap, uses) in enumerate(demands):
        if not (0.0 < weight < infinite and cap >= 0.0):
            raise ValueError(
                f"flow {flow}: weight {weight}, cap {cap}; weight > 0 and finite, cap >= 0"
            )
        for c, amount in uses:
            if not 0.0 < amount < infinite:
                raise ValueError(
                    f"flow {flow}: amount {amount} of capacity {c}; amount > 0 and finite"
                )
            drawn[c] = drawn.get(c, 0.0) + amount * cap
    for c in drawn:
        if not 0 <= c < len(capacities):
            user = next(i for i, demand in enumerate(demands) if c in dict(demand.uses))
            raise ValueError(f"flow {user}: no capacity {c}; there are {len(capacities)}")
        if not capacities[c] >= 0.0:
            raise ValueError(f"capacity {c} is {capacities[c]}; a capacity is >= 0")
    return drawn


Users = dict[int, list[tuple[int, float]]]


def _book(scarce: set[int], demands: Sequence[Demand]) -> tuple[Users, dict[int, float]]:
    """The users of each *scarce* capacity, with what each draws per unit of level, and the sums."""
    users: Users = defaultdict(list)
    slope: dict[int, float] = defaultdict(float)
    for flow, (weight, _, uses) in enumerate(demands):
        for c, amount in uses:
            if c in scarce:
                draw = amount * weight
                users[c].append((flow, draw))
                slope[c] += draw
    return users, slope
