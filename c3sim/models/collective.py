"""Collectives on compute units: algorithm, protocol, channels, and the memory traffic they cause.

Per GPU and per message of S bytes (the nccl-tests size: the full buffer) on n GPUs, in units of S/n:

    ==============  =====  =====  ======  ======  =========================================================
    operation       sent   steps  reads   writes  algorithm
    ==============  =====  =====  ======  ======  =========================================================
    all_reduce      2n-2   2n-2   3n-2    3n-2    ring: reduce-scatter, then all-gather
    all_gather      n-1    n-1    n       2n-1    ring, through the neighbour's buffer
    reduce_scatter  n-1    n-1    2n-1    n       ring
    all_to_all      n-1    n-1    2n-1    2n-1    direct: to the peers' buffers in rounds, copied out there
    all_reduce      3n     2 ld n 5n      4n      binary tree, up and down, the GPU inside that sends most
    ==============  =====  =====  ======  ======  =========================================================

Writes include those that arrive from peers. For all_reduce the count is confirmed by counters: 2.75 S read and
2.75 S written at n = 8 (cache_counters.json). ``direct`` for the other operations sends straight to every peer.

**Calls.** Where a library says what a channel loads and stores per cycle, each chunk is a row of calls that follow one another on
every rank at once: a ring of n sends its own part, n - 2 times takes what arrived and sends it on, and at last only receives.
A call takes what the channel needs for the payload, its loads and its stores, or what the link needs, softly the longer;
a call that sends nothing needs no link. All ranks send from the first call on, so the ring is never empty: one slice is waited for.

Else time = launch + steps x (link latency + step_latency) + (steps + 1) x slice / rate of a channel + sent / rate (the steps of an all-to-all, a send
and a receive each, only add their latencies: no byte goes through more than one); slices are stored and forwarded, so a ring fills slice
by slice, and its last receiver copies the last one out. In the calls in which a channel of a
ring only receives, its link idles: 1/p of the soft minimum of channels and link (models/links.py) grows by their share. All but the link latency is work of the channels' compute units and slows with
their clock and with memory. ``base_latency`` of a protocol comes on top of the launch. The library picks the protocol with the smallest estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, log2

from c3sim.models.links import Hop, ring_ports, route, soft_minimum
from c3sim.models.network import Peers
from c3sim.specs.hardware import Node
from c3sim.specs.libraries import Channels
from c3sim.specs.workload import Collective

Counts = tuple[int, int, int, int]  # sent, steps, reads, writes in units of S/n
COUNTS: dict[tuple[str, str], Callable[[int], Counts]] = {
    ("all_reduce", "ring"): lambda n: (2 * n - 2, 2 * n - 2, 3 * n - 2, 3 * n - 2),
    ("all_reduce", "tree"): lambda n: (3 * n, 2 * ceil(log2(n)), 5 * n, 4 * n),
    ("all_reduce", "direct"): lambda n: (2 * n - 2, 2, 3 * n - 2, 3 * n - 2),
    ("all_gather", "ring"): lambda n: (n - 1, n - 1, n, 2 * n - 1),
    ("all_gather", "direct"): lambda n: (n - 1, 1, n, 2 * n - 1),
    ("reduce_scatter", "ring"): lambda n: (n - 1, n - 1, 2 * n - 1, n),
    ("reduce_scatter", "direct"): lambda n: (n - 1, 1, 2 * n - 1, n),
    ("all_to_all", "direct"): lambda n: (n - 1, 1, 2 * n - 1, 2 * n - 1),
}


Call = tuple[
    int, int, int
]  # loads, stores, and sent to a peer, in units of S/n; a store to a peer counts as one

_CALLS: dict[tuple[str, str], Callable[[int], tuple[Call, ...]]] = {
    ("all_gather", "ring"): lambda n: (_SEND, *[(1, 2, 1)] * (n - 2), (1, 1, 0)),
    ("reduce_scatter", "ring"): lambda n: (_SEND, *[(2, 1, 1)] * (n - 2), (2, 1, 0)),
    ("all_reduce", "ring"): lambda n: (
        _SEND,
        *[(2, 1, 1)] * (n - 2),
        (2, 2, 1),
        *[(1, 2, 1)] * (n - 2),
        (1, 1, 0),
    ),
    ("all_to_all", "direct"): lambda n: ((2, 2, 1),) * (n - 1),  # sends and receives at once
}
_SEND: Call = (1, 1, 1)

#: Steps that follow one another, where they are more than those a byte goes through: rounds of a
#: send and a receive.
_ROUNDS: dict[tuple[str, str], Callable[[int], int]] = {("all_to_all", "direct"): lambda n: n - 1}

ALGORITHMS = {op: tuple(name for of, name in COUNTS if of == op) for op, _ in COUNTS}


@dataclass(frozen=True, slots=True)
class CollectivePlan:
    """What a library decided for one collective."""

    op: str
    algorithm: str
    protocol: str
    channels: int
    sent: float  # payload bytes each GPU sends
    work: float  # s of channel work before the pipeline delivers at full rate, at full speed
    flight: float  # s on the links in that time, whatever the clock
    reads: float  # memory bytes per payload byte sent
    writes: float
    paths: tuple[tuple[Hop, float], ...]  # ((GPU offset, port), wire bytes per payload byte sent)
    per_link: int  # channels on the fullest link
    lanes: int  # links (rings or peers) the channels are spread over
    channel_rate: (
        float  # B/s payload of one channel at the maximum clock, had it no link to wait for
    )
    link_rate: float  # B/s payload of one lane
    saturation_exponent: float
    network: float = 0.0  # wire bytes between nodes per payload byte sent, each direction
    peers: Peers = "next"  # whom those go to
    by_nic: float = 0.0  # memory bytes that NICs read, and write, per payload byte sent

    @property
    def moved(self) -> float:
        """Memory bytes of each GPU."""
        return self.sent * (self.reads + self.writes)

    calls: tuple[
        tuple[float, float], ...
    ] = ()  # (s of a channel, payload bytes sent) per payload byte in all calls

    def rate(self, channels: float, speed: float) -> float:
        """Payload rate [B/s] of *channels* resident channels that run at *speed* (clock times
        memory's share).

        The data are dealt evenly to the channels, so the fullest lane decides.
        """
        return channels * self._lane_rate(speed) / self.per_link

    def _lane_rate(self, speed: float) -> float:
        """Payload rate [B/s] of the channels of the fullest lane."""
        if not self.calls:
            return soft_minimum(
                self.per_link * self.channel_rate * speed, self.link_rate, self.saturation_exponent
            )
        if speed <= 0.0:
            return 0.0
        working = self.per_link * speed
        return 1.0 / sum(
            1.0 / soft_minimum(working / time, self.link_rate / sent, self.saturation_exponent)
            if sent
            else time / working
            for time, sent in self.calls
        )


def local_paths(node: Node, algorithm: str, efficiency: float) -> tuple[dict[Hop, float], int]:
    """Wire bytes on each port per payload byte sent, and the number of lanes."""
    topology, gpus = node.links.topology, node.gpus
    draw: dict[Hop, float] = {}
    if algorithm != "direct":
        rings = ring_ports(topology, gpus)
        for ring in rings:
            for port in ring:
                draw[0, port] = draw.get((0, port), 0.0) + 1.0 / (len(rings) * efficiency)
        return draw, len(rings)
    for peer in range(1, gpus):
        for hop in route(topology, gpus, 0, peer):
            draw[hop] = draw.get(hop, 0.0) + 1.0 / ((gpus - 1) * efficiency)
    return draw, 1 if topology == "switch" else len({port for _, port in draw})


def receiving_share(algorithm: str, gpus: int, op: str) -> float:
    """Share of a channel's calls in a ring in which it only receives: one of n, of an all-reduce's
    one of 2n - 1.
    """
    if algorithm != "ring":
        return 0.0
    return 1.0 / (2 * gpus - 1 if op == "all_reduce" else gpus)


def _deal(channels: int, gpus: int, size: float, part: float) -> tuple[int, float]:
    """Channels that get something of the *size* for each peer, and the mean over the most that one
    of them gets.

    There is a power of two of them; each peer has its share, or twice as many as long as a
    channel's part is larger than *part*. The parts of all peers are dealt to the channels in turn.
    """
    total = 2 ** ceil(log2(channels))
    each = max(1, total // gpus)
    while size / each > part and 2 * each <= total:
        each *= 2
    parts = each * (gpus - 1)
    used = min(parts, total)
    return used, parts / used / ceil(parts / used)


def _plan(node: Node, task: Collective, algorithm: str, protocol: str) -> CollectivePlan:
    library = node.collective_library(task.backend)
    wire = library.protocols[protocol]
    sent, steps, reads, writes = COUNTS[task.op, algorithm](node.gpus)
    in_rounds = _ROUNDS.get((task.op, algorithm))
    rounds = in_rounds(node.gpus) if in_rounds else steps
    unit = task.size / node.gpus
    asked = task.channels or library.channels.default[task.op]
    channels, evenness = min(asked, library.channels.maximum), 1.0
    if algorithm == "direct" and library.channels.direct_part is not None:
        channels, evenness = _deal(
            channels, node.gpus, sent * unit / (node.gpus - 1), library.channels.direct_part
        )
    draw, lanes = local_paths(node, algorithm, wire.efficiency)
    per_link = ceil(channels / lanes)
    hop_load = max(draw.values()) * lanes * wire.efficiency  # > 1 where routes share links
    link = (
        node.links.bandwidth
        * node.links.per_peer
        * library.channels.link_efficiency
        * wire.efficiency
        / hop_load
    )
    channel = library.channels.bytes_per_cycle * node.gpu.clock.maximum * wire.efficiency
    calls = _calls(node, library.channels, task.op, algorithm, wire.efficiency * evenness)
    saturation_exponent = library.channels.direct_link_saturation_exponent
    if algorithm != "direct":
        idle = 0.0 if calls else receiving_share(algorithm, node.gpus, task.op)
        saturation_exponent = 1.0 / (1.0 / library.channels.link_saturation_exponent + idle)
    plan = CollectivePlan(
        op=task.op,
        algorithm=algorithm,
        protocol=protocol,
        channels=channels,
        sent=sent * unit,
        work=0.0,
        flight=rounds * node.links.latency,
        reads=reads / sent,
        writes=writes / sent,
        paths=tuple(draw.items()),
        per_link=per_link,
        lanes=lanes,
        channel_rate=1.0 / sum(time for time, _ in calls) if calls else channel,
        link_rate=link,
        saturation_exponent=saturation_exponent,
        calls=calls,
    )
    piece = min(library.slice_bytes, sent * unit / (steps * channels * library.min_slices))
    slices = 1 if calls and algorithm != "tree" else steps + 1
    loaded = plan.rate(1, 1.0)  # of a channel, with all at work
    first = library.launch_latency + wire.base_latency
    return replace(plan, work=first + rounds * wire.step_latency + slices * piece / loaded)


def _calls(
    node: Node, channels: Channels, op: str, algorithm: str, efficiency: float
) -> tuple[tuple[float, float], ...]:
    """(s of one channel at the maximum clock, payload bytes sent) of each call, per payload byte
    sent in all of them.
    """
    load, store = channels.load_bytes_per_cycle, channels.store_bytes_per_cycle
    if load is None or store is None:
        return ()
    sent, _, reads, writes = COUNTS[op, algorithm](node.gpus)
    known = _CALLS.get((op, algorithm))
    each = known(node.gpus) if known else ((reads, writes, sent),)
    cycle = 1.0 / (node.gpu.clock.maximum * efficiency)
    payload = 1.0 if known else float(sent)
    return tuple(
        (
            (payload / channels.bytes_per_cycle + loads / load + stores / store) * cycle / sent,
            parts / sent,
        )
        for loads, stores, parts in each
    )


def plan_collective(node: Node, task: Collective) -> CollectivePlan:
    """Algorithm, protocol and channels for *task* on one *node* (across nodes:
    models/hierarchy.py); the task's own choices override the library's.

    Raises KeyError for an algorithm that the operation does not have (checked on input).
    """
    library = node.collective_library(task.backend)
    names = [task.protocol] if task.protocol else list(library.protocols)
    allowed = [name for name in names if task.size <= library.protocols[name].maximum_size] or names
    algorithms = [task.algorithm] if task.algorithm else library.algorithms[task.op]
    plans = [_plan(node, task, algorithm, name) for algorithm in algorithms for name in allowed]
    return min(
        plans, key=lambda plan: plan.work + plan.flight + plan.sent / plan.rate(plan.channels, 1.0)
    )
