"""Hierarchical collectives on compute units: parts of the message follow each other through the
phases.

The channels that hold compute units do all phases. A phase takes the parts in order, one at a time; a part enters the
next phase when it has been sent on every rank and its latency (steps, last slice) has passed, which overlaps with the
sending of the part behind it.
"""

from __future__ import annotations

from typing import Any

from c3sim.models.hierarchy import HierarchicalPlan, plan_task
from c3sim.processes.collectives.channels import (
    ChannelCollective,
    FlatCollective,
    Held,
    at_speed,
    nothing,
    plan_traffic,
)
from c3sim.processes.context import Context
from c3sim.processes.kernels.residency import Claim
from c3sim.specs.workload import Collective


def channel_collective(
    context: Context, name: str, task: Collective, **calls: Any
) -> ChannelCollective:
    """The run of *task* as its library decides; *calls* as of :class:`ChannelCollective`."""
    plan, library = (
        plan_task(context.node, task),
        context.node.collective_library(task.backend).channels,
    )
    claim = Claim(library.lds, library.registers, library.waves)
    arguments = (context, name, plan.channels, claim, task.chunks)
    if isinstance(plan, HierarchicalPlan):
        return HierarchicalCollective(plan, *arguments, **calls)
    return FlatCollective(plan, *arguments, **calls)


class HierarchicalCollective(ChannelCollective):
    """A *plan* in phases. ``phases``: of each its name, when it began and ended [s], and for how
    long it sent.
    """

    def __init__(self, plan: HierarchicalPlan, *arguments: Any, **calls: Any):
        super().__init__(*arguments, **calls)
        self.plan = plan
        self.phases: list[dict[str, Any]] = [{"name": phase.name} for phase in plan.phases]

    def describe(self) -> dict[str, Any]:
        plan = self.plan
        decided = {
            "channels": plan.channels,
            "algorithm": plan.algorithm,
            "protocol": plan.protocol,
        }
        return {**decided, "parts": plan.parts, "phases": self.phases}

    def _begin(self, channels: int, held: Held) -> None:
        way = _Way(self, channels, held)
        self._on_all_ranks(channels, self.plan.launch, at_speed, nothing, way.start)


class _Way:
    """The way of some channels' part of the message through the phases."""

    def __init__(self, run: HierarchicalCollective, channels: int, held: Held):
        self.run, self.channels, self.held = run, channels, held
        phases = range(len(run.plan.phases))
        self.ready = [0 for _ in phases]  # parts that may be sent
        self.sent = [0 for _ in phases]
        self.busy = [False for _ in phases]
        self.arrived = 0  # parts, at the end
        # Phases of one level use the same links, and get half of them when there are two.
        levels = [phase.where for phase in run.plan.phases]
        self.share = [1.0 / levels.count(level) if run.plan.parts > 1 else 1.0 for level in levels]
        sizes = [phase.plan.sent for phase in run.plan.phases]
        self.units = [size / sum(sizes) if run.plan.parts > 1 else 1.0 for size in sizes]

    def start(self) -> None:
        self.ready[0] = self.run.plan.parts
        self._send(0)

    def _send(self, index: int) -> None:
        """Send the next part of a phase, if there is one and the phase is free."""
        if self.busy[index] or self.sent[index] >= self.ready[index]:
            return
        self.busy[index] = True
        run, phase, since = self.run, self.run.plan.phases[index], self.run.context.env.now
        run.phases[index].setdefault("start_s", since)
        plan, channels = phase.plan, self.channels
        run._on_all_ranks(
            channels,
            plan.sent * channels / run.channels,
            lambda state: plan.rate(channels, at_speed(state)),
            lambda rank: plan_traffic(run.context.node, plan, rank),
            lambda: self._was_sent(index, since),
            units=self.units[index],
            share=self.share[index],
        )

    def _was_sent(self, index: int, since: float) -> None:
        run, plan, part = self.run, self.run.plan.phases[index].plan, self.sent[index]
        self.sent[index] += 1
        self.busy[index] = False
        self._note(index, part, since)
        units = float(run.plan.parts == 1)  # else they are with the next part
        run.context.after(
            plan.flight,
            lambda: run._on_all_ranks(
                self.channels,
                plan.work,
                at_speed,
                nothing,
                lambda: self._arrive(index),
                units=units,
            ),
        )
        self._send(index)

    def _arrive(self, index: int) -> None:
        """A part has gone through a phase everywhere."""
        run = self.run
        run.phases[index]["end_s"] = run.context.env.now
        if index + 1 < len(run.plan.phases):
            self.ready[index + 1] += 1
            self._send(index + 1)
            return
        per_chunk = run.plan.parts // run.chunks
        self.arrived += 1
        if self.arrived % per_chunk == 0:
            run._arrived(self.channels, self.arrived // per_chunk - 1)
        if self.arrived == run.plan.parts:
            run._end(self.channels, self.held)

    def _note(self, index: int, part: int, since: float) -> None:
        """What a timeline shows of the part, and how long the phase has sent in all (of the first
        channels).
        """
        run, now = self.run, self.run.context.env.now
        noted = run.phases[index]
        noted["sending_s"] = (
            noted.get("sending_s", 0.0) + (now - since) * self.channels / run.channels
        )
        name = f"{noted['name']}, part {part + 1} of {run.plan.parts}"
        for rank in run.ranks:
            run.context.span(
                rank, f"phases of {run.task}", name, run.task, since, channels=self.channels
            )
