"""The rate of each capacity of a node, when nothing reduces it, and the draw of a flow's traffic on
them, per unit of its progress.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import Capacity, of_gpu
from c3sim.models.memory import memory_given
from c3sim.models.network import leaf_switch_rate, network_capacities, nic_rate
from c3sim.spec.hardware import Gpu, Node


def rate_of(node: Node, capacity: Capacity) -> float:
    """Rate [B/s] of *capacity* of *node*; of host memory 1, the whole of what it can do."""
    if capacity.owner == "leaf":
        return leaf_switch_rate(node, capacity.owner_number)
    return RATES[capacity.kind](node)


def l2_rate(node: Node) -> float:
    """All L2s of a GPU together [B/s], at the maximum clock."""
    gpu = node.gpu
    return gpu.l2.bandwidth * gpu.dies.count * gpu.clock.maximum


def memory_time(gpu: Gpu, traffic: Traffic, row_misses: float) -> float:
    """Seconds of memory per unit of progress, each byte at the level that serves it; *row_misses*:
    part of what is written.
    """
    moved = traffic.hbm_read + traffic.hbm_write
    share = traffic.hbm_write / moved if moved else 0.0
    time = (moved + traffic.hbm_busy) / memory_given(gpu, share, row_misses)
    if gpu.memory_side_cache is not None:
        time += max(0.0, traffic.cache - moved) / gpu.memory_side_cache.bandwidth
    return time


def memory_rule(gpu: Gpu, _value: float, users: Sequence[Flow]) -> float:
    """Rate [B/s] that memory gives to the mix of reads and writes that *users* declare."""
    reads = writes = missing = 0.0
    for flow in users:
        tags = flow.tags
        reads += tags.reads
        writes += tags.writes
        missing += tags.writes * tags.lines.row_misses
    written = writes if missing else min(reads, writes)
    share = written / (reads + writes) if reads + writes > 0 else 0.0
    return memory_given(gpu, share, missing / writes if missing else 0.0)


def link_rate(node: Node) -> float:
    """All links to one peer, or to the switch, each direction [B/s]."""
    return node.links.bandwidth * node.links.per_peer


def through_ports(node: Node, traffic: Traffic) -> float:
    """Units of progress per second that the fullest port lets through where every GPU does the
    same: what goes on through another GPU's port then comes from others through this GPU's.
    """
    amounts: dict[object, float] = {}
    for hop, amount in traffic.ports:
        for (_, port), drawn in (
            (hop, amount),
            (traffic.answering(node.gpus, hop), amount * node.links.reverse_share),
        ):
            amounts[port] = amounts.get(port, 0.0) + drawn
    return link_rate(node) / max(amounts.values()) if amounts else math.inf


def host_memory_share(node: Node, direction: str, amount: float) -> float:
    """Share of what the memory of a host can do that *amount* B/s take, "in" or "out" of a GPU."""
    host = node.host
    most = host.memory_write_bandwidth if direction == "out" else host.memory_read_bandwidth
    return amount / most if most else 0.0


#: Least s of a request: weights are positive where latencies are zero, too, and still go by rates.
AT_ONCE = 1e-12


def request_latency(node: Node, traffic: Traffic) -> float:
    """Seconds of a request of *traffic*, there and back."""
    latency = max(node.gpu.hbm.latency, AT_ONCE)
    if traffic.network:
        assert node.scale_out is not None
        return latency + 2 * node.scale_out.latency
    return latency + 2 * node.links.latency if traffic.ports or traffic.host else latency


def _cache_rate(node: Node) -> float:
    assert node.gpu.memory_side_cache is not None
    return node.gpu.memory_side_cache.bandwidth


#: Caches and memory: what is scarce there slows by waiting, before it is exhausted.
WITHIN = ("hbm", "memory_side_cache", "l2")
RATES: dict[str, Callable[[Node], float]] = {
    "hbm": lambda node: memory_given(node.gpu, 0.0),
    "memory_side_cache": _cache_rate,
    "l2": l2_rate,
    "link": link_rate,
    "port": link_rate,
    "dma": lambda node: node.gpu.dma_engines.bandwidth,
    "host": lambda node: node.host.link_bandwidth,
    "memory": lambda _node: 1.0,
    "nic": nic_rate,
}


def with_like(
    amounts: Mapping[Capacity, float], sharers: Mapping[Capacity, int]
) -> dict[Capacity, float]:
    """*amounts*, where every GPU does the same, as in a folded run: so many *sharers* draw on a
    part of the network, and what goes through others' ports comes from others through this one's.
    """
    through: dict[object, float] = {}

    def port(capacity: Capacity) -> object:
        ports = ("link", "port")
        return capacity._replace(owner_number=0) if capacity.kind in ports else capacity

    for capacity, amount in amounts.items():
        through[port(capacity)] = through.get(port(capacity), 0.0) + amount
    return {each: through[port(each)] * sharers.get(each, 1) for each in amounts}


class Drawing:
    """Draws on capacities of *node*, which it declares to *fluid*. *gpus*: how many are simulated;
    *private*: kinds of sharing that are taken away.
    """

    def __init__(
        self, node: Node, fluid: Fluid, *, folded: bool, private: frozenset[str], gpus: int
    ):
        self.node, self.fluid, self.folded, self.private = node, fluid, folded, private
        self._gpus = gpus
        self._rates: dict[Capacity, float] = {}  # [B/s] of what has been drawn on
        self._sharers: dict[Capacity, int] = {}  # GPUs that share a part of the network

    def home(self, gpu: int, here: int | None = None) -> int:
        """Simulated GPU of :meth:`Machine.home`."""
        if not self.folded:
            return gpu % self.node.ranks
        return gpu % self._gpus if here is None else here

    def amounts(self, group: str, gpu: int, traffic: Traffic) -> dict[Capacity, float]:
        """Demand of *traffic* on each capacity, per unit of progress."""
        node, here = self.node, self.home(gpu)
        amounts: dict[Capacity, float] = {}

        def draw(capacity: Capacity, sharing: str, amount: float, sharers: int = 1) -> None:
            if amount > 0:
                own = capacity._replace(task=group) if sharing in self.private else capacity
                drawn = amount * sharers if self.folded else amount
                amounts[own] = amounts.get(own, 0.0) + drawn
                self._declare(own, sharers)

        draw(Capacity("gpu", here, "l2"), "cache", traffic.l2)
        if node.gpu.memory_side_cache is not None:
            draw(Capacity("gpu", here, "memory_side_cache"), "cache", traffic.cache)
        busy = traffic.hbm_read + traffic.hbm_write + traffic.hbm_busy
        draw(Capacity("gpu", here, "hbm"), "hbm", busy)
        for (where, port), amount in traffic.ports:
            draw(of_gpu(self.home(where, here), port), "links", amount)
        for (where, port), amount in traffic.network:
            for capacity, sharers in network_capacities(node, self.home(where, here), port):
                draw(capacity, "links", amount, sharers)
        for where, read, written in traffic.remote:
            draw(Capacity("gpu", self.home(where, here), "hbm"), "hbm", read + written)
        for direction, amount in traffic.host:
            draw(Capacity("gpu", here, "host", direction=direction), "links", amount)
            gpus = node.gpus if self.folded else 1
            drawn = host_memory_share(node, direction, amount * gpus)
            draw(Capacity("host", here // node.gpus, "memory"), "links", drawn)
        if traffic.engine is not None:
            draw(Capacity("gpu", here, "dma", traffic.engine[0]), "dma", traffic.engine[1])
        return amounts

    def shape(self, amounts: dict[Capacity, float]) -> tuple[tuple[str, float, float], ...]:
        """*amounts* with kind and rate of each capacity, whichever it is."""
        rates = self._rates
        return tuple([(each.kind, rates[each], drawn) for each, drawn in amounts.items()])

    def with_answers(
        self, amounts: dict[Capacity, float], group: str, here: int, traffic: Traffic
    ) -> dict[Capacity, float]:
        """*amounts*, and what links draw on in their other direction. That is no part of what a
        flow could do alone: in a folded run its like draws on the port that it sends through.
        """
        share, drawn = self.node.links.reverse_share, dict(amounts)
        for hop, amount in traffic.ports if share else ():
            where, port = traffic.answering(self.node.gpus, hop)
            capacity = of_gpu(self.home(where, here), port)
            own = capacity._replace(task=group) if "links" in self.private else capacity
            drawn[own] = drawn.get(own, 0.0) + amount * share
            self._declare(own, 1)
        return drawn

    def _declare(self, capacity: Capacity, sharers: int) -> None:
        if capacity not in self._rates:
            self._rates[capacity] = rate_of(self.node, capacity)
            self._sharers[capacity] = sharers
            rule = partial(memory_rule, self.node.gpu) if capacity.kind == "hbm" else None
            self.fluid.capacity(capacity, self._rates[capacity], rule)

    def alone(
        self, amounts: dict[Capacity, float], traffic: Traffic, row_misses: float
    ) -> tuple[float, Capacity | None, float]:
        """Units/s that the narrowest capacity gives to it, or to it and its like; that capacity;
        units/s that those outside of caches and memory let through. Where all peers lie behind one
        port, copies are dealt to all engines, so the port is narrower than one of them.
        """
        if traffic.together and not self.folded:
            amounts = with_like(amounts, self._sharers)
        moved = traffic.hbm_read + traffic.hbm_write
        share = traffic.hbm_write / moved if moved else 0.0
        memory = memory_given(self.node.gpu, share, row_misses) if moved else 0.0

        def rate(capacity: Capacity) -> float:
            return memory if capacity.kind == "hbm" and moved else self._rates[capacity]

        engines = self.node.gpu.dma_engines.count if self.node.links.topology == "switch" else 1
        least, alone, narrowest, outside = math.inf, math.inf, None, math.inf
        for capacity, amount in amounts.items():
            most = rate(capacity) / amount
            of_all = most * engines if capacity.kind == "dma" else most
            if of_all < least:
                least, alone, narrowest = of_all, most, capacity
            if capacity.kind not in WITHIN:
                outside = min(outside, most)
        return alone, narrowest, outside
