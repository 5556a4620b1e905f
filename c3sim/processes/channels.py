"""The channels of one collective: workgroups that hold compute units on every rank, one for each
channel, or for as many as its library packs on a compute unit. All that is counted here is
workgroups.

A channel makes progress only when it is resident on every rank, and holds its compute unit while it
waits for that. Channels that become complete at the same instant move their part of the message
together.
"""

from __future__ import annotations

from collections.abc import Callable

from c3sim.processes.kernels.dispatcher import Batch, Grid
from c3sim.processes.kernels.residency import Claim, EngineGroup
from c3sim.processes.plan import Context

#: per rank: engine groups, and workgroups on each of their engines, of some channels
HeldWorkgroups = dict[int, list[tuple[EngineGroup, int]]]


class Channels:
    """The channels of *task* on *ranks*; calls *placed(rank)* when some get room, and
    *ready(channels, held)* for those that have just become resident on every rank.
    """

    def __init__(
        self,
        context: Context,
        task: str,
        claim: Claim,
        ranks: tuple[int, ...],
        *,
        placed: Callable[[int], None],
        ready: Callable[[int, HeldWorkgroups], None],
    ):
        self.context, self.task, self.claim = context, task, claim
        self.placed, self.ready = placed, ready
        self.ranks = ranks
        self._grids: dict[int, Grid] = {}
        self._waiting: HeldWorkgroups = {rank: [] for rank in self.ranks}
        self._placed_on = dict.fromkeys(self.ranks, 0)
        self._units = dict.fromkeys(self.ranks, 0)  # compute units that hold them
        self._moving = 0  # channels that have started to move data
        self._check_pending = False

    def launch(self, rank: int) -> None:
        """The kernel of *rank* arrives at its dispatcher."""
        planned = self.context.plan[self.task]
        grid = Grid(
            self.task,
            self.context.plan.shapes[self.task],
            self.claim,
            planned.priority,
            False,
            lambda batch: self._on_placed(rank, batch),
            lambda: None,
        )
        self._grids[rank] = grid
        self.context.dispatcher(rank, self.task).launch(grid)

    def units(self, rank: int, channels: float) -> float:
        """Compute units that *channels* hold on *rank*."""
        return channels * self._units[rank] / self._placed_on[rank]

    def release(self, rank: int, held: HeldWorkgroups, *, last: bool) -> None:
        """Give the compute units of some channels on *rank* back."""
        dispatcher = self.context.dispatcher(rank, self.task)
        dispatcher.release(self._grids[rank], held[rank])
        if last:
            dispatcher.retire(self._grids.pop(rank))
            if not self._grids:  # no circle is left for the garbage collector
                del self.ready, self.placed

    def _on_placed(self, rank: int, batch: Batch) -> None:
        self.placed(rank)
        self._waiting[rank].extend(batch.parts)
        self._placed_on[rank] += batch.workgroups
        self._units[rank] += batch.units
        if not self._check_pending:
            self._check_pending = True
            self.context.after(0.0, self._check)

    def _check(self) -> None:
        """Start the channels that are now resident on every rank."""
        self._check_pending = False
        channels = min(self._placed_on.values()) - self._moving
        if channels > 0:
            self._moving += channels
            self.ready(channels, {rank: self._take(rank, channels) for rank in self.ranks})

    def _take(self, rank: int, channels: int) -> list[tuple[EngineGroup, int]]:
        """The first *channels* workgroups of *rank* that still wait for their peers."""
        taken, queue = [], self._waiting[rank]
        while channels > 0:
            group, workgroups = queue.pop(0)
            per_engine = min(workgroups, -(-channels // group.multiplicity))
            if per_engine < workgroups:
                queue.insert(0, (group, workgroups - per_engine))
            taken.append((group, per_engine))
            channels -= per_engine * group.multiplicity
        return taken
