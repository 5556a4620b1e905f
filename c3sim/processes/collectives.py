"""Collectives on compute units: channels become resident, wait for their peers on every rank, and move data.

A channel makes progress only when it is resident on every rank. Channels that become complete at the same instant
form a cohort: after the fill time of the algorithm they move their part of the data at the plan's rate, all ranks in
step, and then give their compute units back.
"""

from __future__ import annotations

from collections.abc import Callable

from c3sim.machine import Traffic
from c3sim.models.collective import CollectivePlan
from c3sim.processes.context import Context
from c3sim.processes.dispatcher import Batch, Claim, Grid, Group

__all__ = ["ChannelCollective"]


class ChannelCollective:
    """One run of a collective over all ranks; calls *started(rank)* when its channels get room, *chunk_done(i)*
    as chunks arrive everywhere, and *done(rank)*."""

    def __init__(
        self,
        context: Context,
        task: str,
        plan: CollectivePlan,
        claim: Claim,
        chunks: int,
        *,
        started: Callable[[int], None],
        chunk_done: Callable[[int], None],
        done: Callable[[int], None],
    ):
        self.context, self.task, self.plan, self.chunks = context, task, plan, chunks
        self.started, self.chunk_done, self.done = started, chunk_done, done
        self.ranks = context.machine.gpus
        self.claim = claim
        self.grids: dict[int, Grid] = {}
        self.resident: dict[int, list[tuple[Group, int]]] = {rank: [] for rank in self.ranks}
        self.count = dict.fromkeys(self.ranks, 0)
        self.moving = 0  # channels that have started to move data
        self.ended = 0
        self.chunk_progress = [0] * chunks
        self._check_pending = False

    def launch(self, rank: int) -> None:
        """The kernel of *rank* arrives at its dispatcher."""
        context = self.context
        grid = Grid(
            self.task, context.shapes[self.task], self.claim, context.stream_of(self.task).priority,
            False, lambda batch: self._placed(rank, batch), lambda: None,
        )  # fmt: skip
        self.grids[rank] = grid
        context.dispatcher(rank, self.task).launch(grid)

    def _placed(self, rank: int, batch: Batch) -> None:
        self.started(rank)
        self.resident[rank].extend(batch.parts)
        self.count[rank] += batch.workgroups
        if not self._check_pending:
            self._check_pending = True
            self.context.after(0.0, self._check)

    def _check(self) -> None:
        """Start the channels that are now resident on every rank."""
        self._check_pending = False
        ready = min(self.count.values()) - self.moving
        if ready > 0:
            self.moving += ready
            held = {rank: self._take(rank, ready) for rank in self.ranks}
            self.context.after(self.plan.fill, lambda: self._chunk(ready, 0, held))

    def _take(self, rank: int, channels: int) -> list[tuple[Group, int]]:
        """The first *channels* resident workgroups of *rank* that belong to no cohort yet."""
        taken, queue = [], self.resident[rank]
        while channels > 0:
            group, workgroups = queue.pop(0)
            per_engine = min(workgroups, -(-channels // group.multiplicity))
            if per_engine < workgroups:
                queue.insert(0, (group, workgroups - per_engine))
            taken.append((group, per_engine))
            channels -= per_engine * group.multiplicity
        return taken

    def _chunk(self, channels: int, chunk: int, held: dict[int, list[tuple[Group, int]]]) -> None:
        """All ranks move chunk number *chunk* of the part of *channels*."""
        plan, waiting = self.plan, set(self.ranks)

        def arrived(rank: int) -> None:
            waiting.discard(rank)
            if waiting:
                return
            self.chunk_progress[chunk] += channels
            if self.chunk_progress[chunk] >= plan.channels:
                self.chunk_done(chunk)
            if chunk + 1 < self.chunks:
                self._chunk(channels, chunk + 1, held)
            else:
                self._end(channels, held)

        for rank in self.ranks:
            self.context.machine.flow(
                self.task,
                task=self.task,
                gpu=rank,
                work=plan.sent * channels / plan.channels / self.chunks,
                cap=lambda state: plan.rate(channels, state.clock * state.memory),
                traffic=Traffic(
                    cache=plan.reads + plan.writes,
                    hbm_read=plan.reads,
                    hbm_write=plan.writes,
                    inserted=plan.reads + plan.writes,
                    ports=tuple(
                        (((rank + offset) % self.context.node.gpus, port), amount)
                        for (offset, port), amount in plan.paths
                    ),
                ),
                compute_units=float(channels),
                share=channels / plan.channels,
                done=lambda _flow, rank=rank: arrived(rank),  # type: ignore[misc]
            )

    def _end(self, channels: int, held: dict[int, list[tuple[Group, int]]]) -> None:
        self.ended += channels
        last = self.ended >= self.plan.channels
        for rank in self.ranks:
            dispatcher = self.context.dispatcher(rank, self.task)
            dispatcher.release(self.grids[rank], held[rank], 0)
            if last:
                dispatcher.retire(self.grids[rank])
                self.done(rank)
