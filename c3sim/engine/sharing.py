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
LEFT_OVER = 1e-9  # share of a capacity that is more than rounding


class Demand(NamedTuple):
    """Demand of one flow. Its share at a bottleneck: rate = weight * level."""

    weight: float  # > 0
    cap: float  # >= 0, the rate it never exceeds; may be math.inf
    # (index of a capacity, amount > 0 drawn from it per unit of rate)
    uses: tuple[tuple[int, float], ...]


def solve(capacities: Sequence[float], demands: Sequence[Demand]) -> list[float]:
    """Return the weighted max-min rate of each of *demands*, in their order.

    Raises `ValueError` if a number is outside its range, or if nothing limits a flow.
    """
    scarce = _scarce(capacities, demands)
    if scarce is not None:
        if not scarce:
            return [cap for _, cap, _ in demands]
        demands = [
            Demand(weight, cap, tuple([use for use in uses if use[0] in scarce]))
            for weight, cap, uses in demands
        ]
    return fill(capacities, demands)


def fill(capacities: Sequence[float], demands: Sequence[Demand]) -> list[float]:
    """Rates as :func:`solve` gives them, where all *demands* are on scarce capacities."""
    users, slope = _book(capacities, demands)
    left = {c: capacities[c] for c in users}
    full = slope.copy()
    heap = [(left[c] / slope[c], c) for c in users if left[c] < math.inf]
    heapify(heap)
    capped = [(cap / weight, i) for i, (weight, cap, _) in enumerate(demands) if cap < math.inf]
    capped.sort(reverse=True)

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
                    slope[c] -= amount * weight
                    left[c] -= amount * rate
    return rates


def alone(capacities: Sequence[float], demand: Demand) -> float | None:
    """The rate that :func:`fill` gives *demand*, of finite weight and cap, where nobody else is on
    its capacities; None: ask that, which knows mistakes and two uses of one capacity.
    """
    weight, cap, uses = demand
    level = math.inf
    for c, amount in uses:
        if not (amount < math.inf and capacities[c] >= 0.0):
            return None
        exhausted = capacities[c] / (amount * weight)
        if exhausted < level:
            level = exhausted
    if len(uses) > 1 and len(dict(uses)) < len(uses):
        return None
    return cap if cap / weight <= level else min(weight * level, cap)


def _scarce(capacities: Sequence[float], demands: Sequence[Demand]) -> set[int] | None:
    """Capacities that could be exhausted: of which all flows at their caps leave nothing. None: all
    could, or a flow has no cap, or a number is outside its range.
    """
    drawn: dict[int, float] = defaultdict(float)
    infinite, known = math.inf, len(capacities)
    for weight, cap, uses in demands:
        if not (0.0 < weight < infinite and 0.0 <= cap < infinite):
            return None
        for c, amount in uses:
            if not (0.0 < amount < infinite and 0 <= c < known and capacities[c] >= 0.0):
                return None
            drawn[c] += amount * cap
    scarce = {c for c in drawn if not drawn[c] < (1.0 - LEFT_OVER) * capacities[c]}
    return None if scarce and len(scarce) == len(drawn) else scarce


Users = dict[int, list[tuple[int, float]]]


def _book(capacities: Sequence[float], demands: Sequence[Demand]) -> tuple[Users, dict[int, float]]:
    """The users of each used capacity, with what each draws per unit of level, and the sums.

    Raises `ValueError` if a number is outside its range.
    """
    users: Users = defaultdict(list)
    slope: dict[int, float] = defaultdict(float)
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
            draw = amount * weight
            users[c].append((flow, draw))
            slope[c] += draw
    for c in users:
        if not 0 <= c < len(capacities):
            raise ValueError(f"flow {users[c][0][0]}: no capacity {c}; there are {len(capacities)}")
        if not capacities[c] >= 0.0:
            raise ValueError(f"capacity {c} is {capacities[c]}; a capacity is >= 0")
    return users, slope
