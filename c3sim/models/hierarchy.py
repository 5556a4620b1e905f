"""Collectives as phases: flat ones have one, hierarchical ones follow the levels of a cluster.

N nodes of g GPUs, message of S bytes (the size of nccl-tests). A rail is the GPUs in the same place
of every node; S/g on each of g rails is all of S. Hierarchical, over NICs: 2 (N-1)/N S/g of an
all_reduce, (N-1)/N S/g of an all_gather or reduce_scatter, (N-1)/N S of an all_to_all:

    ==============  ==============================================================================
    all_reduce      reduce_scatter of S in the node, all_reduce of S/g on each rail, all_gather of
                    S in the node
    all_gather      all_gather of S/g on each rail, all_gather of S in the node
    reduce_scatter  reduce_scatter of S in the node, of S/g on each rail
    all_to_all      all_to_all of S in the node, to the GPU on the receiver's rail; of S on each
                    rail (what NCCL calls PXN). Flat direct is the way without forwarding: it
                    changes rails
    ==============  ==============================================================================

(Bandwidth terms of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
operations in MPICH", 2005, per level.)

A hierarchical collective is cut into parts that follow each other through the phases; with one part
the phases run one after the other. Parts in different phases run side by side on channels dealt to
the phases by the bytes these send. Across nodes the library takes the algorithm, protocol and
number of parts with the smallest estimate,

    launch + sum of (latency + sent / rate) over phases + (parts - 1) x slowest

with the slowest of each phase (by its channels) and of the phases of each level together (by links
or NIC). It knows its NICs, and nothing of what lies behind the leaf switches.

Bytes for a NIC go through a send buffer in the GPU's memory: written by the channel and read by the
NIC, beside the counts of models/collective_counts.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from c3sim.models.collective import (
    allowed_protocols,
    channels_of,
    launch_time,
    plan_in_node,
    plan_phase,
)
from c3sim.models.collective_counts import ALGORITHMS, SHOTS
from c3sim.models.groups import group_of, span_of
from c3sim.models.latest import OfLatest
from c3sim.models.network import network
from c3sim.models.phase import Level, PhasePlan
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Collective

PHASES: dict[str, tuple[tuple[Level, str], ...]] = {
    "all_reduce": (("node", "reduce_scatter"), ("rail", "all_reduce"), ("node", "all_gather")),
    "all_gather": (("rail", "all_gather"), ("node", "all_gather")),
    "reduce_scatter": (("node", "reduce_scatter"), ("rail", "reduce_scatter")),
    "all_to_all": (("node", "all_to_all"), ("rail", "all_to_all")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePlan:
    """Plan of a library for one collective. *phases*: of one part each, and each with its own
    latency behind what it sends; a flat plan has its latency in *flight* and *work* instead.
    """

    algorithm: str
    protocol: str
    channels: int
    flight: float  # s on the links before the first byte, whatever the clock
    work: float  # s of channel work before the first byte
    parts: int  # in all; those of one chunk follow one another
    connections: int  # steps and peers of a channel, of a flat plan
    phases: tuple[PhasePlan, ...]

    @property
    def hierarchical(self) -> bool:
        return self.algorithm == "hierarchical"

    @property
    def sent(self) -> float:
        """Payload bytes each GPU sends, in all phases."""
        return self.parts * sum(phase.sent for phase in self.phases)

    @property
    def moved(self) -> float:
        """Memory bytes of each GPU."""
        return self.parts * sum(phase.moved for phase in self.phases)

    @property
    def estimate(self) -> float:
        """Seconds alone, at full speed."""
        by_level: dict[str, float] = {}
        for phase in self.phases:
            by_level[phase.level] = by_level.get(phase.level, 0.0) + phase.on_links
        slowest = max(*by_level.values(), *(phase.moving for phase in self.phases))
        first = sum(phase.estimate for phase in self.phases)
        return self.flight + self.work + first + (self.parts - 1) * slowest


def plan_collective(node: Node, task: Collective) -> CollectivePlan:
    """Algorithm, protocol, channels and parts for *task*; its own choices override the library's.

    Raises KeyError for an algorithm that the operation does not have (checked on input).
    """
    inside, between = span_of(node, group_of(node, task))
    if inside.size == 1 and between.size > 1 and node.gpus > 1:
        return _on_rails(node, task)
    if between.size == 1:  # nothing is left of phases
        hierarchical = task.algorithm == "hierarchical"
        alone = task.changed(algorithm=None) if hierarchical else task
        return flat(plan_in_node(node, alone), task.chunks)
    library = node.collective_library(task.backend)
    wanted = task.algorithm or ("hierarchical" if task.pipeline else None)  # only that has parts
    plans = [
        plan
        for algorithm in ((wanted,) if wanted else network(node).algorithms[task.op])
        for protocol in allowed_protocols(library, task)
        for plan in _plans(node, task, algorithm, protocol)
    ]
    return min(plans, key=lambda plan: plan.estimate)


def collective_plan(node: Node, task: Collective) -> CollectivePlan:
    """Plan of *task* as :func:`plan_collective` makes it; that of equal pieces is made once."""
    of_node, like = _known.of(node), task.at_any_time()
    plan = of_node.get(like)
    if plan is None:
        plan = of_node[like] = plan_collective(node, task)
    return plan


_known: OfLatest[CollectivePlan] = OfLatest()  # by node


def _on_rails(node: Node, task: Collective) -> CollectivePlan:
    """Phase among GPUs in the same place of several nodes."""
    library = node.collective_library(task.backend)
    between = ("ring", "direct") if task.op != "all_to_all" else ("direct",)
    phases = [
        plan_phase(node, task, name, protocol, level="rail", launch=launch_time(library, protocol))
        for name in ((task.algorithm,) if task.algorithm else between)
        for protocol in allowed_protocols(library, task)
    ]
    return flat(min(phases, key=lambda phase: phase.estimate), task.chunks)


def cluster_algorithms(op: str) -> tuple[str, ...]:
    """Algorithms of *op* across nodes."""
    inside = ("tree", "switch", *SHOTS)
    return ("hierarchical", *(name for name in ALGORITHMS[op] if name not in inside))


def flat(phase: PhasePlan, chunks: int) -> CollectivePlan:
    """*phase* as a whole collective: all its latency comes first, then chunk after chunk."""
    return CollectivePlan(
        algorithm=phase.algorithm,
        protocol=phase.protocol,
        channels=phase.channels,
        flight=phase.flight,
        work=phase.work,
        parts=chunks,
        connections=phase.connections,
        phases=(replace(phase, sent=phase.sent / chunks, flight=0.0, work=0.0),),
    )


def _plans(node: Node, task: Collective, algorithm: str, protocol: str) -> Iterator[CollectivePlan]:
    if algorithm != "hierarchical":
        launch = launch_time(node.collective_library(task.backend), protocol)
        phase = plan_phase(node, task, algorithm, protocol, level="all", launch=launch)
        yield flat(phase, task.chunks)
        return
    between = ("ring", "direct") if task.op != "all_to_all" else ("direct",)
    parts, most = 1, task.pipeline or network(node).pipeline
    while parts < most and not task.pipeline:
        yield from (_hierarchical(node, task, name, protocol, parts) for name in between)
        parts *= 2
    yield from (_hierarchical(node, task, name, protocol, most) for name in between)


def _hierarchical(
    node: Node, task: Collective, between: str, protocol: str, parts: int
) -> CollectivePlan:
    """Phases in which *between* is the algorithm on the rails."""
    library = node.collective_library(task.backend)
    channels = channels_of(library, task)
    parts = task.chunks * ceil(parts / task.chunks)
    phases: list[PhasePlan] = []
    inside = span_of(node, group_of(node, task)).inside
    for level, op in PHASES[task.op]:
        share = inside.size if level == "rail" and op != "all_to_all" else 1
        part = task.changed(
            op=op,
            size=task.size / parts / share,
            algorithm=None,
            protocol=protocol,
            channels=channels,
        )
        if level == "rail":
            phases.append(plan_phase(node, part, between, protocol, level=level))
        elif inside.size > 1:
            own = part.changed(group=inside.size, stride=inside.stride)
            phases.append(plan_in_node(node, own, launch=0.0))
    if parts > 1:
        total = sum(phase.sent for phase in phases)
        phases = [phase.beside_others(total) for phase in phases]
    return CollectivePlan(
        algorithm="hierarchical",
        protocol=protocol,
        channels=max(phase.channels for phase in phases),
        flight=0.0,
        work=launch_time(library, protocol),
        parts=parts,
        connections=0,
        phases=tuple(phases),
    )
