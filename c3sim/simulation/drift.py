"""Loops without a barrier: a rank that ended its turn late begins the next one late.

A collective that ends last brings all ranks together. Where a GEMM ends last, ranks on which the
collective came first are behind the others: its channels held compute units while they waited for
the others' (by *D* s, from the turn in which both orders occur). So a turn begins with ranks
together, or with some of them late by *D*, and leaves them in one of these two states, the nearer
one. What is asked for is the stationary mixture of the two:

    share late = P(together -> late) / (P(together -> late) + P(late -> together))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from c3sim.processes.arrivals import Arrival
from c3sim.simulation.draws import Draw
from c3sim.simulation.run import Run

#: Of the turn: ranks that are less apart are together.
APART = 0.02


@dataclass(frozen=True, slots=True)
class Case:
    """A way in which the ranks begin, and the run that follows."""

    draw: Draw
    run: Run

    @property
    def apart(self) -> float:
        """Between the ends of the first and of the last class of ranks [s]."""
        ends: dict[int, float] = {}
        for (_, gpu), task in self.run.times.items():
            ends[gpu] = max(ends.get(gpu, 0.0), task.end + self.run.begins[gpu])
        return max(ends.values()) - min(ends.values())


def drifting(together: Sequence[Case], ranks: int, begin: Callable[[Draw], Case]) -> list[Case]:
    """The cases of a turn in the steady state, from those with all ranks *together*."""
    furthest = max(together, key=lambda case: case.apart)
    if len(together) < 2 or furthest.apart < APART * furthest.run.end:
        return list(together)
    late = [begin(draw) for draw in _late(furthest.draw, ranks, furthest.apart)]
    share = _share_late(together, late, furthest.apart)
    return [*_weighted(together, 1.0 - share), *_weighted(late, share)]


def _late(mixed: Draw, ranks: int, skew: float) -> list[Draw]:
    """The ways to begin with some ranks late: two ranks, one of them late, each with either order;
    or more, among which all combinations occur.
    """
    orders = [arrival.order for arrival in mixed.arrivals.classes]
    ways: list[tuple[Arrival, ...]]
    if ranks == 2:
        ways = [
            (Arrival(0.0, first), Arrival(skew, second))
            for first, second in product(orders, orders)
        ]
    else:
        ways = [tuple(Arrival(late, order) for late in (0.0, skew) for order in orders)]
    return [Draw(1.0 / len(ways), replace(mixed.arrivals, classes=way)) for way in ways]


def _share_late(together: Sequence[Case], late: Sequence[Case], skew: float) -> float:
    """Of turns that begin with ranks apart."""

    def leaves(cases: Sequence[Case], apart: bool) -> float:
        return sum(case.draw.probability for case in cases if (case.apart > skew / 2) == apart)

    comes, goes = leaves(together, True), leaves(late, False)
    return comes / (comes + goes) if comes + goes else 0.0


def _weighted(cases: Sequence[Case], share: float) -> list[Case]:
    return [
        Case(replace(case.draw, probability=case.draw.probability * share), case.run)
        for case in cases
        if share > 0
    ]
