"""What each capacity of a node gives, when nothing reduces it, and what the like of a flow take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from c3sim.engine.flow import Flow
from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import Capacity
from c3sim.models.memory import memory_given
from c3sim.models.network import leaf_switch_rate, nic_rate
from c3sim.specs.hardware import Gpu, Node


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
    """What the memory gives [B/s] to the mix of reads and writes that *users* declare."""
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


def request_latency(node: Node, traffic: Traffic) -> float:
    """Seconds of a request of *traffic*, there and back."""
    latency = node.gpu.hbm.latency
    if traffic.network:
        assert node.scale_out is not None
        return latency + 2 * node.scale_out.latency
    return latency + 2 * node.links.latency if traffic.ports or traffic.host else latency


def _cache_rate(node: Node) -> float:
    assert node.gpu.memory_side_cache is not None
    return node.gpu.memory_side_cache.bandwidth


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
