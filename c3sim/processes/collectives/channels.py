"""Collectives on compute units: channels become resident, wait for their peers on every rank, and
move data.

A channel makes progress only when it is resident on every rank. Channels that become complete at the same instant
form a cohort: after the fill time of the algorithm they move their part of the data at the plan's rate, all ranks in
step, and then give their compute units back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from c3sim.engine.flow import Flow
from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.collective import CollectivePlan
from c3sim.models.network import mirrored
from c3sim.processes.context import Context
from c3sim.processes.kernels.dispatcher import Batch, Grid
from c3sim.processes.kernels.residency import Claim, Group
from c3sim.specs.hardware import Node

Held = dict[int, list[tuple[Group, int]]]  # per rank: the groups and workgroups of some channels


def at_speed(state: GpuState) -> float:
    """Progress of work that follows clock and memory, as a share of that at full speed."""
    return state.clock * state.memory


def nothing(_rank: int) -> Traffic:
    return Traffic()


def plan_traffic(node: Node, plan: CollectivePlan, rank: int) -> Traffic:
    """Per payload byte that *rank* sends."""
    moved = plan.reads + plan.writes
    return Traffic(
        cache=moved,
        hbm_read=plan.reads,
        hbm_write=plan.writes,
        inserted=moved,
        ports=tuple(
            ((node.peer(rank, offset), port), amount) for (offset, port), amount in plan.paths
        ),
        network=mirrored(node, rank, plan.peers, plan.network) if plan.network else (),
        together=True,
        vector=moved
        - 2 * plan.by_nic,  # loads, local stores, and as many stores to peers as arrive from them
    )


class ChannelCollective:
    """One run of a collective over all ranks, how it moves its data left open; calls
    *started(rank)* when its channels get room, *chunk_done(i)* as chunks arrive everywhere, and
    *done(rank)*.
    """

    def __init__(
        self,
        context: Context,
        task: str,
        channels: int,
        claim: Claim,
        chunks: int,
        *,
        started: Callable[[int], None],
        chunk_done: Callable[[int], None],
        done: Callable[[int], None],
    ):
        self.context, self.task, self.channels, self.chunks = context, task, channels, chunks
        self.started, self.chunk_done, self.done = started, chunk_done, done
        self.ranks = context.machine.gpus
        self.claim = claim
        self.grids: dict[int, Grid] = {}
        self.resident: dict[int, list[tuple[Group, int]]] = {rank: [] for rank in self.ranks}
        self.count = dict.fromkeys(self.ranks, 0)
        self.units = dict.fromkeys(self.ranks, 0)  # compute units that hold them
        self.moving = 0  # channels that have started to move data
        self.ended = 0
        self.chunk_progress = [0] * chunks
        self._check_pending = False

    def launch(self, rank: int) -> None:
        """The kernel of *rank* arrives at its dispatcher."""
        context = self.context
        grid = Grid(
            self.task,
            context.shapes[self.task],
            self.claim,
            context.stream_of(self.task).priority,
            False,
            lambda batch: self._placed(rank, batch),
            lambda: None,
        )
        self.grids[rank] = grid
        context.dispatcher(rank, self.task).launch(grid)

    def _placed(self, rank: int, batch: Batch) -> None:
        self.started(rank)
        self.resident[rank].extend(batch.parts)
        self.count[rank] += batch.workgroups
        self.units[rank] += batch.units
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
            self._begin(ready, held)

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

    def describe(self) -> dict[str, Any]:
        """What the library decided, for the result."""
        raise NotImplementedError

    def _begin(self, channels: int, held: Held) -> None:
        """These channels are resident on every rank: move their part, then ``_end``."""
        raise NotImplementedError

    def _arrived(self, channels: int, chunk: int) -> None:
        """The part of *channels* of a chunk has arrived everywhere."""
        self.chunk_progress[chunk] += channels
        if self.chunk_progress[chunk] >= self.channels:
            self.chunk_done(chunk)

    def _on_all_ranks(
        self,
        channels: int,
        work: float,
        cap: Callable[[GpuState], float],
        traffic: Callable[[int], Traffic],
        done: Callable[[], None],
        *,
        units: float = 1.0,
        share: float = 1.0,
    ) -> None:
        """The same flow on every rank; *done()* when the last one has ended. *units*, *share*: what
        it has of the compute units and of what the collective may declare, where it runs beside
        others of the same channels.
        """
        left = len(self.ranks)

        def one(_flow: Flow) -> None:
            nonlocal left
            left -= 1
            if not left:
                done()

        for rank in self.ranks:
            self.context.machine.flow(
                self.task,
                task=self.task,
                gpu=rank,
                work=work,
                cap=cap,
                traffic=traffic(rank),
                compute_units=units * channels * self.units[rank] / self.count[rank],
                share=share * channels / self.channels,
                done=one,
            )

    def _end(self, channels: int, held: Held) -> None:
        self.ended += channels
        last = self.ended >= self.channels
        for rank in self.ranks:
            dispatcher = self.context.dispatcher(rank, self.task)
            dispatcher.release(self.grids[rank], held[rank])
            if last:
                dispatcher.retire(self.grids[rank])
                self.done(rank)


class FlatCollective(ChannelCollective):
    """All ranks move the message as one *plan* says, chunk by chunk."""

    def __init__(self, plan: CollectivePlan, *arguments: Any, **calls: Any):
        super().__init__(*arguments, **calls)
        self.plan = plan

    def describe(self) -> dict[str, Any]:
        plan = self.plan
        return {"channels": plan.channels, "algorithm": plan.algorithm, "protocol": plan.protocol}

    def _begin(self, channels: int, held: Held) -> None:
        self.context.after(self.plan.flight, lambda: self._fill(channels, held))

    def _fill(self, channels: int, held: Held) -> None:
        """The pipeline fills: latency-bound work of the channels on every rank."""
        self._on_all_ranks(
            channels, self.plan.work, at_speed, nothing, lambda: self._chunk(channels, 0, held)
        )

    def _chunk(self, channels: int, chunk: int, held: Held) -> None:
        """All ranks move chunk number *chunk* of the part of *channels*."""
        plan = self.plan

        def arrived() -> None:
            self._arrived(channels, chunk)
            if chunk + 1 < self.chunks:
                self._chunk(channels, chunk + 1, held)
            else:
                self._end(channels, held)

        self._on_all_ranks(
            channels,
            plan.sent * channels / plan.channels / self.chunks,
            lambda state: plan.rate(channels, state.clock * state.memory),
            lambda rank: plan_traffic(self.context.node, plan, rank),
            arrived,
        )
