"""What each capacity of a node gives, when nothing reduces it."""

from __future__ import annotations

from collections.abc import Callable

from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import Capacity
from c3sim.models.memory import memory_given
from c3sim.models.network import leaf_switch_rate, nic_rate
from c3sim.specs.hardware import Node


def rate_of(node: Node, capacity: Capacity) -> float:
    """Rate [B/s] of *capacity* of *node*; of host memory 1, the whole of what it can do."""
    if capacity.owner == "leaf":
        return leaf_switch_rate(node, capacity.owner_number)
    return RATES[capacity.kind](node)


def l2_rate(node: Node) -> float:
    """All L2s of a GPU together [B/s], at the maximum clock."""
    gpu = node.gpu
    return gpu.l2.bandwidth * gpu.dies.count * gpu.clock.maximum


def link_rate(node: Node) -> float:
    """All links to one peer, or to the switch, each direction [B/s]."""
    return node.links.bandwidth * node.links.per_peer


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
