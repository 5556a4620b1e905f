"""Workgroups of a kernel that work in step."""

from __future__ import annotations

from c3sim.engine.flow import Flow
from c3sim.processes.kernels.dispatcher import Batch
from c3sim.processes.kernels.residency import EngineGroup
from c3sim.processes.kernels.spec import CostOfPart, TileCost

Parts = list[tuple[EngineGroup, int]]  # workgroups per engine of each group


class Cohort:
    """The workgroups of *parts* (*count* in all) working on *rounds* tiles each, of *cost*, and on
    *later* ones behind them, of a list whose tiles all cost *listed*. *exact*: they take *count*
    tiles next, whatever *parts*, which are of all engines that are alike, would.
    """

    __slots__ = (
        "batch",
        "cost",
        "count",
        "exact",
        "flow",
        "later",
        "left",
        "listed",
        "parts",
        "rounds",
    )

    def __init__(
        self,
        parts: Parts,
        count: int,
        rounds: float,
        batch: Batch | None = None,
        cost: CostOfPart | None = None,
        *,
        later: float = 0.0,
        exact: bool = False,
        listed: TileCost | None = None,
    ):
        self.parts, self.count, self.rounds, self.batch = parts, count, rounds, batch
        self.cost, self.later, self.exact, self.listed = cost, later, exact, listed
        self.flow: Flow | None = None
        self.left = 0  # pieces to do behind the one in progress

    def only(self, parts: Parts, count: int) -> Cohort:
        """Those of *parts*, *count* in all, behind the rounds in progress."""
        return Cohort(parts, count, 0.0, later=self.later, exact=True, listed=self.listed)

    @property
    def wanted(self) -> int:
        """Tiles that they take next from a pool."""
        if self.exact:
            return self.count
        return sum(group.multiplicity * count for group, count in self.parts)


def split(parts: Parts, wanted: int, total: int) -> tuple[Parts, Parts]:
    """*parts* (*total* workgroups) as about *wanted* of them, evenly over engines, and the rest."""
    chosen, rest, left = [], [], wanted
    for group, count in parts:
        part = max(0, min(count, -(-left // group.multiplicity), -(-count * wanted // total)))
        left -= part * group.multiplicity
        if part:
            chosen.append((group, part))
        if count > part:
            rest.append((group, count - part))
    return chosen, rest
