"""An observer of the fluid layer, and the capacities that a node's file names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from c3sim.engine.flow import Flow
from c3sim.models.capacity import Capacity
from c3sim.models.memory import memory_given
from c3sim.models.power import power
from c3sim.spec.hardware import Node


@dataclass
class Snapshot:
    """All flows in progress at one instant, with their rates: [(flow, rate)], and the domains'
    states.
    """

    time: float
    rates: list[tuple[Flow, float]]
    states: dict[str, Any]

    @cached_property
    def drawn(self) -> dict[Capacity, tuple[float, list[Flow]]]:
        """Capacity -> (bytes per second drawn on it, its users)."""
        found: dict[Capacity, tuple[float, list[Flow]]] = {}
        for flow, rate in self.rates:
            for capacity, amount in flow.amounts:
                drawn, users = found.get(capacity, (0.0, []))
                found[capacity] = (drawn + rate * amount, [*users, flow])
        return found


@dataclass
class Recorder:
    """Writes down what the fluid layer announces; keeps its own integral of every flow's rate."""

    snapshots: list[Snapshot] = field(default_factory=list)
    #: flow, integral of its rate
    ended_flows: list[tuple[Flow, float]] = field(default_factory=list)
    #: since, rate, integral until then
    _now: dict[Flow, tuple[float, float, float]] = field(default_factory=dict)

    def _integral(self, flow: Flow, time: float) -> float:
        since, rate, integral = self._now.get(flow, (time, 0.0, 0.0))
        return integral + rate * (time - since)

    def rates(self, time: float, flows: Iterable[Flow], states: dict[str, Any]) -> None:
        for flow in flows:
            self._now[flow] = (time, flow.rate, self._integral(flow, time))
        active = [(flow, rate) for flow, (_, rate, _) in self._now.items()]
        self.snapshots.append(Snapshot(time, active, dict(states)))

    def ended(self, time: float, flow: Flow) -> None:
        self.ended_flows.append((flow, self._integral(flow, time)))
        self._now.pop(flow, None)

    def moved(self) -> dict[Capacity, float]:
        """Bytes drawn on each capacity, integrated from the rates."""
        total: dict[Capacity, float] = {}
        for flow, work in self.ended_flows:
            for capacity, amount in flow.amounts:
                total[capacity] = total.get(capacity, 0.0) + work * amount
        return total


def limit(node: Node, capacity: Capacity, users: list[Flow]) -> float:
    """The rate of *capacity* [B/s], reckoned from the node's file, not read from the engine."""
    gpu = node.gpu
    if capacity.kind == "hbm":
        reads, writes = sum(f.tags.reads for f in users), sum(f.tags.writes for f in users)
        return memory_given(gpu, writes / (reads + writes) if reads + writes else 0.0)
    if capacity.kind == "memory_side_cache":
        assert gpu.memory_side_cache is not None
        return gpu.memory_side_cache.bandwidth
    if capacity.kind == "l2":
        return gpu.l2.bandwidth * gpu.dies.count * gpu.clock.maximum
    if capacity.kind == "dma":
        return gpu.dma_engines.bandwidth
    if capacity.owner == "host":
        return 1.0  # of what host memory can do; a byte takes its share of it
    if capacity.kind == "host":
        return node.host.link_bandwidth
    if capacity.kind == "nic" or capacity.owner == "leaf":
        return network_limit(node, capacity)
    assert capacity.kind in ("link", "port"), f"a capacity the laws do not know: {capacity}"
    return node.links.bandwidth * node.links.per_peer


def network_limit(node: Node, capacity: Capacity) -> float:
    """A GPU's NICs, or one shared by several; the uplinks of a leaf, as many as the NICs below it,
    less what they are oversubscribed by. Leaves are all full in what is tried here, but for one
    that holds all nodes.
    """
    wide = node.scale_out
    assert wide is not None
    nic = wide.bandwidth * wide.efficiency
    if capacity.owner != "leaf":
        return nic * max(1, wide.nics // node.gpus)
    below = min(wide.nodes, wide.nodes_per_leaf) * (wide.nics if wide.topology == "racks" else 1)
    return nic * below / wide.oversubscription


def most_drawn(node: Node, seen: Recorder) -> float:
    """Most power that the flows of one GPU take with the clock above its lowest, as a share of the
    limit.

    A transfer pays for both of its ends (machine/energy.py).
    """
    clock, most = node.gpu.clock, 0.0
    for snapshot in seen.snapshots:
        by_domain: dict[object, list[tuple[Flow, float]]] = {}
        for flow, rate in snapshot.rates:
            by_domain.setdefault(flow.domain, []).append((flow, rate))
        for domain, flows in by_domain.items():
            factor = snapshot.states[domain].clock
            if factor > clock.minimum / clock.maximum * (1 + 1e-6):
                loads = [(flow.tags.declared.load, rate) for flow, rate in flows]
                drawn = power(clock.idle_power, loads, factor, clock.voltage_exponent)
                most = max(most, drawn / clock.power_limit)
    return most
