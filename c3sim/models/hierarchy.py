"""Collectives across nodes: flat over all GPUs, or hierarchical, in phases inside and between
nodes.

N nodes of g GPUs, n = N g, message of S bytes (nccl-tests size). Payload each GPU sends, and where (bandwidth terms of
Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005, per level):

    ==============  ==================================================================================================
    flat ring       as rings over all n GPUs, that pass all GPUs of a node before they leave it: 1/g of what a GPU sends
                    goes over NICs, to the same rail (a full mesh of g GPUs, g even, splits into g such paths)
    flat direct     each part straight to its peer: (n-g)/(n-1) of it over NICs
    hierarchical    all_reduce      reduce_scatter of S in the node, all_reduce of S/g on each rail, all_gather in the node
                    all_gather      all_gather of S/g on each rail, all_gather of S in the node
                    reduce_scatter  reduce_scatter of S in the node, of S/g on each rail
                    all_to_all      all_to_all of S in the node, to the GPU on the receiver's rail; of S on each rail
                                    (what NCCL calls PXN). Flat direct is the way without forwarding: it changes rails
    ==============  ==================================================================================================

A rail is the GPUs in the same place of every node; S/g on each of g rails is all of S. So hierarchical over NICs:
2 (N-1)/N S/g (all_reduce), (N-1)/N S/g (all_gather, reduce_scatter), (N-1)/N S (all_to_all).

Bytes for a NIC go through a send buffer in the GPU's memory: written by the channel and read by the NIC, beside the counts of
models/collective.py. A host thread posts a message per receiver and step, one after the other: at most message / post time on
a NIC, which is why many direct receivers need long messages. A hierarchical collective is cut into parts that follow each other through the phases; with one part the
phases run one after the other. Parts in different phases run side by side on channels dealt to the phases by the bytes these
send. The library takes the algorithm, protocol and number of parts with the smallest estimate,

    launch + sum of (latency + sent / rate) over phases + (parts - 1) x slowest

with the slowest of each phase (by its channels) and of the phases of each level together (by links or NIC).

It knows its NICs, and nothing of what lies behind the leaf switches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from c3sim.models.collective import (
    COUNTS,
    CollectivePlan,
    local_paths,
    plan_collective,
    receiving_share,
)
from c3sim.models.links import soft_minimum
from c3sim.models.network import Peers, hop_latency, network, shared_rate
from c3sim.specs.hardware import Node
from c3sim.specs.libraries import CollectiveLibrary
from c3sim.specs.workload import Collective

PHASES: dict[str, tuple[tuple[str, str], ...]] = {
    "all_reduce": (("node", "reduce_scatter"), ("rail", "all_reduce"), ("node", "all_gather")),
    "all_gather": (("rail", "all_gather"), ("node", "all_gather")),
    "reduce_scatter": (("node", "reduce_scatter"), ("rail", "reduce_scatter")),
    "all_to_all": (("node", "all_to_all"), ("rail", "all_to_all")),
}


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: *where* (node, rail), and the *plan* of one part of it."""

    where: str
    plan: CollectivePlan

    @property
    def name(self) -> str:
        return (
            f"{self.plan.op} in the node"
            if self.where == "node"
            else f"{self.plan.op} on the rails"
        )

    @property
    def moving(self) -> float:
        """Seconds in which one part is sent, by all channels at full speed."""
        return self.plan.sent / self.plan.rate(self.plan.channels, 1.0)

    @property
    def on_links(self) -> float:
        """Seconds that it takes of its links or NIC, however many channels there are."""
        return self.plan.sent / (self.plan.lanes * self.plan.link_rate)


@dataclass(frozen=True, slots=True)
class HierarchicalPlan:
    """What a library decided for one collective in phases; *parts* in all, those of one chunk
    together.
    """

    op: str
    protocol: str
    channels: int
    launch: float  # s of channel work before the first byte
    parts: int
    phases: tuple[Phase, ...]
    algorithm: str = "hierarchical"

    @property
    def sent(self) -> float:
        """Payload bytes each GPU sends, in all phases."""
        return self.parts * sum(phase.plan.sent for phase in self.phases)

    @property
    def moved(self) -> float:
        """Memory bytes of each GPU."""
        plans = [phase.plan for phase in self.phases]
        return self.parts * sum(plan.sent * (plan.reads + plan.writes) for plan in plans)

    @property
    def estimate(self) -> float:
        """Seconds alone, at full speed."""
        first = sum(phase.plan.flight + phase.plan.work + phase.moving for phase in self.phases)
        levels = [
            sum(p.on_links for p in self.phases if p.where == where) for where in ("node", "rail")
        ]
        return (
            self.launch + first + (self.parts - 1) * max(*levels, *(p.moving for p in self.phases))
        )


AnyPlan = CollectivePlan | HierarchicalPlan


def plan_task(node: Node, task: Collective) -> AnyPlan:
    """What the library decides for *task*: :func:`plan_collective` on one node, else the best
    across nodes.

    Raises KeyError for an algorithm that the operation does not have (checked on input).
    """
    if node.nodes == 1:  # nothing is left of phases
        flat = task.algorithm == "hierarchical"
        return plan_collective(node, task.model_copy(update={"algorithm": None}) if flat else task)
    library = node.collective_library(task.backend)
    names = [task.protocol] if task.protocol else list(library.protocols)
    allowed = [name for name in names if task.size <= library.protocols[name].maximum_size] or names
    asked = task.algorithm or ("hierarchical" if task.pipeline else None)  # only that has parts
    algorithms = (asked,) if asked else network(node).algorithms[task.op]
    found = [
        plan for name in algorithms for wire in allowed for plan in _plans(node, task, name, wire)
    ]
    return min(found, key=_estimate)


def cluster_algorithms(op: str) -> tuple[str, ...]:
    """Algorithms of *op* across nodes."""
    return ("hierarchical", *(name for of, name in COUNTS if of == op and name != "tree"))


def _estimate(plan: AnyPlan) -> float:
    if isinstance(plan, HierarchicalPlan):
        return plan.estimate
    return plan.work + plan.flight + plan.sent / plan.rate(plan.channels, 1.0)


def _plans(node: Node, task: Collective, algorithm: str, protocol: str) -> Iterator[AnyPlan]:
    if algorithm != "hierarchical":
        yield _flat(node, task, algorithm, protocol)
        return
    between = ("ring", "direct") if task.op != "all_to_all" else ("direct",)
    parts, most = 1, task.pipeline or network(node).pipeline
    while parts < most and not task.pipeline:
        yield from (_hierarchical(node, task, name, protocol, parts) for name in between)
        parts *= 2
    yield from (_hierarchical(node, task, name, protocol, most) for name in between)


def _hierarchical(
    node: Node, task: Collective, between: str, protocol: str, parts: int
) -> HierarchicalPlan:
    library, plans = node.collective_library(task.backend), []
    parts = task.chunks * ceil(parts / task.chunks)
    for where, op in PHASES[task.op]:
        if where == "node" and node.gpus == 1:
            continue
        share = node.gpus if where == "rail" and op != "all_to_all" else 1
        size = task.size / parts / share
        part = task.model_copy(
            update={"op": op, "size": size, "algorithm": None, "protocol": protocol}
        )
        if where == "rail":
            plans.append(Phase(where, _on_rails(node, part, between, protocol)))
        else:
            plan = plan_collective(node, part)
            plans.append(Phase(where, replace(plan, work=plan.work - library.launch_latency)))
    if parts > 1:  # each channel divides itself between the phases
        total = sum(phase.plan.sent for phase in plans)
        plans = [
            Phase(p.where, replace(p.plan, channel_rate=p.plan.channel_rate * p.plan.sent / total))
            for p in plans
        ]
    channels = _channels(library, task)
    return HierarchicalPlan(
        task.op, protocol, channels, library.launch_latency, parts, tuple(plans)
    )


def _channels(library: CollectiveLibrary, task: Collective) -> int:
    return min(task.channels or library.channels.default[task.op], library.channels.maximum)


def _on_rails(node: Node, task: Collective, algorithm: str, protocol: str) -> CollectivePlan:
    """One phase between nodes: N GPUs, one of each node, all bytes over NICs."""
    peers: Peers = "next" if algorithm == "ring" else "rail"
    return _plan(
        node, task, algorithm, protocol, ranks=node.nodes, over_nics=1.0, peers=peers, launch=0.0
    )


def _flat(node: Node, task: Collective, algorithm: str, protocol: str) -> CollectivePlan:
    """All GPUs as one level."""
    gpus, ranks = node.gpus, node.ranks
    ring = algorithm == "ring"
    return _plan(
        node,
        task,
        algorithm,
        protocol,
        ranks=ranks,
        peers="next" if ring else "all",
        over_nics=1.0 / gpus if ring else (ranks - gpus) / (ranks - 1),
        launch=node.collective_library(task.backend).launch_latency,
    )


def _plan(
    node: Node,
    task: Collective,
    algorithm: str,
    protocol: str,
    *,
    ranks: int,
    over_nics: float,
    peers: Peers,
    launch: float,
) -> CollectivePlan:
    """A plan of *ranks* GPUs that send *over_nics* of their bytes to other nodes. *launch*: s of
    work before the first.
    """
    library, wide = node.collective_library(task.backend), network(node)
    wire = library.protocols[protocol]
    sent, steps, reads, writes = COUNTS[task.op, algorithm](ranks)
    unit, channels = task.size / ranks, _channels(library, task)
    remote = {"next": 1, "rail": node.nodes - 1, "all": node.ranks - node.gpus}[
        peers
    ]  # it sends to in a step
    message = sent * unit * over_nics / steps / remote
    by_nic = shared_rate(node) * wire.efficiency
    if wide.post_time:
        by_nic = min(by_nic, message / wide.post_time)
    limit, draw, lanes = by_nic / over_nics, {}, 1
    if over_nics < 1.0:
        whole, lanes = local_paths(node, algorithm, wire.efficiency)
        draw = {port: amount * (1.0 - over_nics) for port, amount in whole.items()}
        link = node.links.bandwidth * node.links.per_peer * library.channels.link_efficiency
        limit = min(limit, link / max(draw.values()))
    per_link = ceil(channels / lanes)
    channel = library.channels.bytes_per_cycle * node.gpu.clock.maximum * wire.efficiency
    saturation_exponent = library.channels.direct_link_saturation_exponent
    if algorithm == "ring":
        saturation_exponent = 1.0 / (
            1.0 / library.channels.link_saturation_exponent
            + receiving_share(algorithm, ranks, task.op)
        )
    loaded = soft_minimum(per_link * channel, limit / lanes, saturation_exponent) / per_link
    piece = min(library.slice_bytes, sent * unit / (steps * channels * library.min_slices))
    far = over_nics if algorithm == "ring" else 1.0  # share of the steps that go between nodes
    flight = steps * (far * hop_latency(node, peers) + (1.0 - far) * node.links.latency)
    work = (
        launch
        + steps * (wire.step_latency + far * wide.step_latency)
        + (steps + 1) * piece / loaded
    )
    return CollectivePlan(
        op=task.op,
        algorithm=algorithm,
        protocol=protocol,
        channels=channels,
        sent=sent * unit,
        work=work,
        flight=flight,
        reads=reads / sent + over_nics,
        writes=writes / sent + over_nics,
        paths=tuple(draw.items()),
        per_link=per_link,
        lanes=lanes,
        channel_rate=channel,
        link_rate=limit / lanes,
        saturation_exponent=saturation_exponent,
        network=over_nics / wire.efficiency,
        peers=peers,
        by_nic=over_nics,
    )
