"""A collective on compute units among some GPUs: one algorithm on one set of ranks and links.

A channel is a workgroup that moves its part of the message. What all algorithms send, read and
write is in models/collective_counts.py; phases on different ranks follow each other in
models/hierarchy.py.

**Time.** Before data flow at full rate:

    flight   rounds x latency of the links, whatever the clock
    work     launch + rounds x step_latency + slices x slice / rate of a channel: work of the
             channels' compute units, which slows with their clock and with memory

and then bytes sent / rate. Slices are stored and forwarded, so a ring fills slice by slice, and its
last receiver copies the last one out: slices = steps + 1. Rounds are the steps that follow one
another on the channels; between nodes a step takes longer, as host threads take part.

The rate is in models/phase.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, inf

from c3sim.models.collective_counts import (
    COUNTS,
    SHOTS,
    STRAIGHT,
    Counts,
    Primitive,
    channels_by_size,
    counts_of,
    deal,
    primitives_of,
    rounds,
    shot_primitives,
    shot_step_time,
)
from c3sim.models.groups import Group, Span, group_of, span_of
from c3sim.models.links import Hop, link_to, rate_both_ways, ring_ports, route
from c3sim.models.network import hop_latency, network, shared_rate
from c3sim.models.phase import Level, PhasePlan, Ranks, ranks_of
from c3sim.spec.hardware import Node
from c3sim.spec.libraries import CollectiveLibrary, Protocol
from c3sim.spec.workload import Collective


def plan_phase(
    node: Node,
    task: Collective,
    algorithm: str,
    protocol: str,
    *,
    level: Level = "node",
    launch: float = 0.0,
) -> PhasePlan:
    """*algorithm* with *protocol* among the ranks of *level*, each with ``task.size`` in all.
    *launch*: s of channel work before the first byte.

    Raises KeyError for an algorithm that the operation does not have (checked on input).
    """
    whole, span = span_of(node, None), span_of(node, group_of(node, task))
    group = span.inside if span.inside != whole.inside and level != "rail" else None
    ranks = ranks_of(span, level, algorithm)
    library = node.collective_library(task.backend)
    wire, counts = library.protocols[protocol], _counts(library, task, algorithm, ranks)
    sent = counts.sent * (task.size / ranks.count)
    channels, evenness, in_turn = _dealt(node, task, algorithm, protocol, ranks, sent)
    paths, lanes, link_rate = _links(node, task, wire, ranks, algorithm, group)
    channel, primitives = _channel(node, task, algorithm, ranks, wire.efficiency * evenness)
    plan = PhasePlan(
        op=task.op,
        algorithm=algorithm,
        protocol=protocol,
        level=level,
        channels=channels,
        sent=sent,
        reads=counts.reads / counts.sent,
        writes=counts.writes / counts.sent,
        paths=paths,
        lanes=lanes,
        per_link=ceil(channels / lanes),
        channel_rate=channel,
        link_rate=link_rate,
        connections=rounds(task.op, algorithm, ranks.count),
        saturation_exponent=_saturation(library, algorithm),
        group=group,
        span=span if span != whole else None,
        primitives=primitives,
    )
    plan = _between_nodes(plan, node, task, ranks, span) if ranks.over_nics else plan
    return _timed(plan, node, task, ranks, span, in_turn, launch)


def _counts(library: CollectiveLibrary, task: Collective, algorithm: str, ranks: Ranks) -> Counts:
    """Counts of bytes that *task* sends, reads and writes by *algorithm*. Between registered
    buffers a rank stores its own shard only out of place.
    """
    counts = counts_of(task.op, algorithm, ranks.count, registered=library.registered)
    stored = library.registered and algorithm == "direct" and task.out_of_place
    return counts._replace(writes=counts.writes + stored)


def _between_nodes(
    plan: PhasePlan, node: Node, task: Collective, ranks: Ranks, span: Span
) -> PhasePlan:
    """*plan* with what goes over NICs, which read and write memory too."""
    wire, share = node.collective_library(task.backend).protocols[plan.protocol], ranks.over_nics
    busy, _ = _posting(node, task, plan.channels)
    steps = COUNTS[task.op, plan.algorithm](ranks.count).steps
    nic = _nic_rate(node, wire, ranks, span, plan.sent * share / steps, busy)
    return replace(
        plan,
        link_rate=min(plan.link_rate, nic / share / plan.lanes),
        reads=plan.reads + share,
        writes=plan.writes + share,
        network=share / wire.efficiency,
        peers=ranks.peers,
        by_nic=share,
    )


def _dealt(
    node: Node, task: Collective, algorithm: str, protocol: str, ranks: Ranks, sent: float
) -> tuple[int, float, int]:
    """Channels that work, how evenly peers are dealt to them, and their rounds in turn."""
    library = node.collective_library(task.backend)
    rules, wire = library.channels, library.protocols[protocol]
    channels, in_turn = channels_of(library, task), rounds(task.op, algorithm, ranks.count)
    if task.channels is None and algorithm == "ring" and wire.ring_parts is not None:
        passes = 2 if task.op == "all_reduce" else 1
        channels = channels_by_size(wire.ring_parts, channels, ranks.count, task.size, passes)
    if algorithm != "direct" or rules.peer_channels is None:
        return channels, 1.0, in_turn
    dealt = deal(rules.peer_channels, channels, ranks.count, sent / (ranks.count - 1))
    if rules.peer_channels.rounds == "parts":
        in_turn = dealt.rounds
    return dealt.channels, dealt.evenness, in_turn


def _channel(
    node: Node, task: Collective, algorithm: str, ranks: Ranks, efficiency: float
) -> tuple[float, tuple[tuple[float, float], ...]]:
    """Payload B/s of a channel at the maximum clock, and its primitives."""
    library = node.collective_library(task.backend)
    primitives = _primitives(node, library, task, algorithm, ranks, efficiency)
    per_cycle = _bytes_per_cycle(library, task.op, algorithm)
    if algorithm == "switch" and library.switch_reduction is not None:
        per_cycle, primitives = library.switch_reduction.bytes_per_cycle, ()
    elif algorithm in SHOTS:
        primitives = shot_primitives(node.gpu, algorithm, ranks.count)
    if primitives:
        return 1.0 / sum(time for time, _ in primitives), primitives
    return per_cycle * node.gpu.clock.maximum * efficiency, primitives


def _timed(
    plan: PhasePlan,
    node: Node,
    task: Collective,
    ranks: Ranks,
    span: Span,
    in_turn: int,
    launch: float,
) -> PhasePlan:
    """*plan* with its times before data flow; *in_turn*: steps that follow one another."""
    library = node.collective_library(task.backend)
    wire, count = (
        library.protocols[plan.protocol],
        COUNTS[plan.op, plan.algorithm](ranks.count).steps,
    )
    longer = _posting(node, task, plan.channels)[1] if ranks.over_nics else 0.0
    flight, steps = _steps(node, wire, plan.op, plan.algorithm, ranks, span, in_turn, longer)
    piece = min(library.slice_bytes, plan.sent / (count * plan.channels * library.min_slices))
    slices = 1 if plan.primitives and plan.algorithm != "tree" else count + 1
    loaded = plan.rate(1, 1.0)  # of a channel, with all at work
    if plan.algorithm == "ring" and wire.ring_parts is not None:
        # step_latency was read from messages of at most one pass of a channel's threads: it has it
        a_pass = min(wire.ring_parts.part_per_rank, plan.sent / count / plan.channels)
        steps -= count * min(wire.step_latency, a_pass / loaded)
    if plan.algorithm in SHOTS:  # flags in place of what a step of the library takes
        slices, steps = 0, count * shot_step_time(node.gpu)
    return replace(plan, flight=flight, work=launch + steps + slices * piece / loaded)


def _saturation(library: CollectiveLibrary, algorithm: str) -> float:
    """Exponent with which channels saturate a link."""
    rules = library.channels
    if algorithm in STRAIGHT:
        return rules.direct_link_saturation_exponent
    return rules.link_saturation_exponent


def _bytes_per_cycle(library: CollectiveLibrary, op: str, algorithm: str) -> float:
    """Payload [B] that a channel sends per engine cycle: loads and stores per byte sent differ."""
    rules = library.channels
    own = None
    if algorithm == "direct":
        own = rules.direct_bytes_per_cycle
    elif op == "all_gather":
        own = rules.copy_bytes_per_cycle
    return own or rules.bytes_per_cycle


def channels_of(library: CollectiveLibrary, task: Collective) -> int:
    """Channels of *task*: its own choice or the most that the library takes, of which at most as
    many as can work.
    """
    return min(task.channels or library.channels.default[task.op], library.channels.maximum)


def allowed_protocols(library: CollectiveLibrary, task: Collective) -> list[str]:
    """The protocol that *task* asks for, or those that the library uses for its size."""
    names = [task.protocol] if task.protocol else list(library.protocols)
    return [name for name in names if task.size <= library.protocols[name].maximum_size] or names


def launch_time(library: CollectiveLibrary, protocol: str, algorithm: str = "") -> float:
    """Seconds of channel work before the first byte of a collective."""
    base = library.protocols[protocol].base_latency
    sends = library.channels.peer_channels
    if algorithm == "switch" and library.switch_reduction is not None:
        base = library.switch_reduction.base_latency
    elif algorithm == "direct" and sends is not None and protocol == sends.long_protocol:
        base = base if sends.long_base_latency is None else sends.long_base_latency
    return library.launch_latency + base


def plan_in_node(node: Node, task: Collective, launch: float | None = None) -> PhasePlan:
    """The algorithm and protocol with the smallest estimate on one *node*; the task's own choices
    override the library's. *launch*: as of :func:`plan_phase`, or None: that of the library.
    """
    library = node.collective_library(task.backend)
    plans = [
        plan_phase(
            node,
            task,
            algorithm,
            protocol,
            launch=launch_time(library, protocol, algorithm) if launch is None else launch,
        )
        for algorithm, protocol in _ways(node, library, task)
    ]
    return min(plans, key=lambda plan: plan.estimate)


def _ways(node: Node, library: CollectiveLibrary, task: Collective) -> Iterator[tuple[str, str]]:
    """Algorithms and protocols that *library* weighs on one *node*."""
    rule = library.switch_reduction if switch_reduces(node, library, task) else None
    names = (task.algorithm,) if task.algorithm else library.algorithms[task.op]
    if rule is not None and rule.always and "switch" in names:
        names = ("switch",)
    for algorithm in names:
        if algorithm != "switch":
            for protocol in _protocols(node, library, task, algorithm):
                yield algorithm, protocol
        elif rule is not None:
            yield algorithm, rule.protocol


def _protocols(
    node: Node, library: CollectiveLibrary, task: Collective, algorithm: str
) -> list[str]:
    """The protocols of *algorithm*: what the rule for direct sends names, or all allowed."""
    rule = library.channels.peer_channels
    if task.protocol is None and algorithm == "direct" and rule is not None:
        group = group_of(node, task)
        short = task.size / (node.gpus if group is None else group.size) <= rule.short_size
        named = rule.short_protocol if short else rule.long_protocol
        if named is not None:
            return [named]
    return allowed_protocols(library, task)


def switch_reduces(node: Node, library: CollectiveLibrary, task: Collective) -> bool:
    """True if *library* may let the switch of *node* reduce for *task*."""
    rule = library.switch_reduction
    if rule is None or not node.links.reduction or node.gpus < rule.ranks:
        return False
    group = group_of(node, task)
    if group is not None and group.size < rule.ranks:
        return False
    return task.dtype in rule.dtypes


def _links(
    node: Node, task: Collective, wire: Protocol, ranks: Ranks, algorithm: str, group: Group | None
) -> tuple[tuple[tuple[Hop, float], ...], int, float]:
    """In the node: wire bytes on each port per payload byte sent, lanes, payload B/s of a lane."""
    if ranks.over_nics == 1.0:
        return (), 1, inf
    library = node.collective_library(task.backend)
    ports, lanes = local_ports(node, algorithm, wire.efficiency, group, library.rings)
    draw = {port: amount * (1.0 - ranks.over_nics) for port, amount in ports.items()}
    hop_load = max(draw.values()) * lanes * wire.efficiency  # > 1 where routes share links
    bandwidth = rate_both_ways(node.links) * library.channels.link_efficiency
    return tuple(draw.items()), lanes, bandwidth * wire.efficiency / hop_load


def local_ports(
    node: Node,
    algorithm: str,
    efficiency: float,
    group: Group | None = None,
    most: int | None = None,
) -> tuple[dict[Hop, float], int]:
    """Wire bytes on each port of GPU 0 per payload byte sent in the node, or in a *group*, and the
    number of lanes; *most*: rings at once, None: all that there are.
    """
    topology, gpus = node.links.topology, node.gpus
    draw: dict[Hop, float] = {}
    if algorithm not in STRAIGHT:
        rings = ring_ports(topology, gpus)
        if group is not None and topology == "full_mesh":
            rings = tuple((link_to(peer),) for peer in group.members(0)[1:])
        rings = rings[:most]
        for ring in rings:
            for port in ring:
                draw[0, port] = draw.get((0, port), 0.0) + 1.0 / (len(rings) * efficiency)
        return draw, len(rings)
    peers = range(1, gpus) if group is None else group.members(0)[1:]
    for peer in peers:
        for hop in route(topology, gpus, 0, peer):
            draw[hop] = draw.get(hop, 0.0) + 1.0 / (len(peers) * efficiency)
    return draw, 1 if topology == "switch" else len({port for _, port in draw})


def _posting(node: Node, task: Collective, channels: int) -> tuple[float, float]:
    """Seconds between nodes for which a message keeps busy who posts it, and by which a step takes
    longer. A host thread sees a slice and posts message after message; or each of the *channels*
    posts its own, and no thread is waited for.
    """
    between = network(node)
    if task.proxies == "host":
        return between.post_time, between.step_latency
    each = between.kernel_post_time or 0.0  # given (checked on input)
    return each / channels, each


def _nic_rate(
    node: Node, wire: Protocol, ranks: Ranks, span: Span, step_bytes: float, busy: float
) -> float:
    """Payload B/s of a GPU's NIC, with a message per receiver and step: at most message / *busy*,
    for which each keeps busy who posts it.
    """
    rate = shared_rate(node) * wire.efficiency
    others = span.size - span.inside.size
    receivers = {"next": 1, "rail": span.between.size - 1, "all": others}[ranks.peers]
    return min(rate, step_bytes / receivers / busy) if busy else rate


def _steps(
    node: Node, wire: Protocol, op: str, algorithm: str, ranks: Ranks, span: Span, count: int,
    longer: float,
) -> tuple[float, float]:  # fmt: skip
    """Seconds on the links, and of channel work, of the *count* steps that follow one another;
    between nodes a step takes *longer*.

    A step of a ring goes between nodes as often as its bytes do; a step to all peers takes as long
    as the farthest. The rounds of an all-to-all cost the channels a step each, wherever the peer
    is; NICs carry one while the next goes on, so that the network's latency counts once.
    """
    latency, step = node.links.latency, wire.step_latency
    if not ranks.over_nics:
        return count * latency, count * step
    steps = COUNTS[op, algorithm](ranks.count).steps
    far = ranks.over_nics if algorithm == "ring" else 1.0
    flight = steps * (far * hop_latency(node, ranks.peers, span) + (1.0 - far) * latency)
    work = steps * (step + far * longer)
    further = count - steps
    return flight + further * (1.0 - ranks.over_nics) * latency, work + further * step


def _primitives(
    node: Node,
    library: CollectiveLibrary,
    task: Collective,
    algorithm: str,
    ranks: Ranks,
    efficiency: float,
) -> tuple[tuple[float, float], ...]:
    """(s of one channel at the maximum clock, bytes sent) of each primitive, per payload byte sent
    in all of them; none where the library does not say what a channel loads and stores.
    """
    rules = library.channels
    load, store = rules.load_bytes_per_cycle, rules.store_bytes_per_cycle
    if load is None or store is None:
        return ()
    counts = _counts(library, task, algorithm, ranks)
    known = primitives_of(task.op, algorithm, ranks.count, out_of_place=task.out_of_place)
    each = known or (Primitive(counts.reads, counts.writes, counts.sent),)
    cycle = 1.0 / (node.gpu.clock.maximum * efficiency)
    payload = 1.0 if known else float(counts.sent)
    return tuple(
        (
            (payload / rules.bytes_per_cycle + loads / load + stores / store) * cycle / counts.sent,
            parts / counts.sent,
        )
        for loads, stores, parts in each
    )
