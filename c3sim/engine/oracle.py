"""The slow and obvious version of `sharing.solve`: the fast one is tested against it.

Progressive filling as a textbook has it. Every round forgets the last one, computes anew at which
level each flow that still rises would meet its cap and each capacity would be exhausted, and
freezes the flows of the lowest level. With `fractions.Fraction` as its number it is exact.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import TypeVar

from c3sim.engine.sharing import Demand

Number = TypeVar("Number", float, Fraction)


def solve(
    capacities: Sequence[float], demands: Sequence[Demand], number: Callable[[float], Number]
) -> list[Number]:
    """Return the weighted max-min rate of each of *demands*, computed in *number* (`float` or
    `Fraction`).

    Raises `ValueError` if nothing limits a flow.
    """
    rates: dict[int, Number] = {}
    level = number(0)
    while len(rates) < len(demands):
        left = {c: number(size) for c, size in enumerate(capacities) if size < math.inf}
        slope = {c: number(0) for c in left}
        users: dict[int, list[int]] = {c: [] for c in left}
        events: list[tuple[Number, list[int]]] = []  # at this level, these flows freeze
        for i, (weight, cap, uses) in enumerate(demands):
            if i not in rates and cap < math.inf:
                events.append((number(cap) / number(weight), [i]))
            for c, amount in uses:
                if c not in left:
                    continue
                if i in rates:
                    left[c] -= number(amount) * rates[i]
                else:
                    slope[c] += number(amount) * number(weight)
                    users[c].append(i)
        events += [(left[c] / slope[c], users[c]) for c in left if users[c]]
        if not events:
            raise ValueError(
                f"flow {min(set(range(len(demands))) - set(rates))}: nothing limits it"
            )
        lowest, freezing = min(events, key=itemgetter(0))
        level = max(level, lowest)  # the level never sinks; rounding might say so
        for i in freezing:
            rates[i] = number(demands[i].weight) * level
    return [rates[i] for i in range(len(demands))]
