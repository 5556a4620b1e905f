"""A node as capacities: turns what a task moves into flows on the fluid layer.

Names are paths: ``gpu0.hbm``, ``gpu0.memory_cache``, ``gpu0.l2``, ``gpu0.link[3].out``, ``gpu0.dma[2]``,
``gpu0.host.out``. In a folded run every GPU maps onto ``gpu0``. ``private`` names kinds of sharing to take away (see
``c3sim explain``): each task then has such a capacity to itself, named ``gpu0.hbm~gather``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from c3sim.engine.fluid import Flow, Fluid
from c3sim.models.power import Load, clock_factor
from c3sim.specs.hardware import Node

__all__ = ["SHARING", "FlowTags", "Machine", "Traffic"]

SHARING = ("compute_units", "order", "cache", "hbm", "links", "dma", "clock", "host")


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one unit of progress moves or burns; bytes unless said otherwise."""

    l2: float = 0.0
    cache: float = 0.0  # through the memory-side cache
    hbm_read: float = 0.0
    hbm_write: float = 0.0
    ports: tuple[tuple[tuple[int, str], float], ...] = ()  # ((GPU, port), bytes)
    remote: tuple[tuple[int, float, float], ...] = ()  # (GPU, bytes read there, bytes written there)
    host: tuple[tuple[str, float], ...] = ()  # ("in" | "out", bytes)
    engine: tuple[int, float] | None = None  # (DMA engine, bytes)
    core_energy: float = 0.0  # J at the maximum clock, matrix units
    inserted: float = 0.0  # bytes that displace others in the memory-side cache


@dataclass(frozen=True, slots=True)
class FlowTags:
    """What a flow declares to clock and capacity rules; none of it is a solved rate."""

    task: str
    gpu: int
    load: Load
    reads: float  # B/s of HBM, static
    writes: float
    inserts: float  # B/s into the memory-side cache, static
    energy: tuple[float, float]  # J per unit of progress: clocked (at full clock), not clocked
    compute_units: float
    detail: tuple[tuple[str, float], ...] = field(default=())


class Machine:
    """Capacities of *node* on *fluid*."""

    def __init__(self, node: Node, fluid: Fluid, *, folded: bool, private: frozenset[str] = frozenset()):
        self.node, self.fluid, self.folded, self.private = node, fluid, folded, private
        self.gpus: tuple[int, ...] = (0,) if folded else tuple(range(node.gpus))
        self.latency_local = node.gpu.hbm.latency
        self.latency_remote = node.gpu.hbm.latency + 2 * node.links.latency

    def home(self, gpu: int) -> int:
        """The simulated GPU that stands for *gpu*."""
        return 0 if self.folded else gpu % self.node.gpus

    def flow(
        self,
        name: str,
        *,
        task: str,
        gpu: int,
        work: float,
        cap: float | Callable[[float], float],
        traffic: Traffic,
        compute_units: float = 0.0,
        share: float = 1.0,
        done: Callable[[Flow], None],
    ) -> Flow:
        """Start a flow. *share*: its part of what its kernel has running, so that parts declare parts."""
        amounts = self._amounts(task, gpu, traffic)
        full = cap(1.0) if callable(cap) else cap
        alone = min((self._value(n) / a for n, a in amounts.items() if a > 0), default=math.inf)
        nominal = min(full, share * alone)
        energy = self.node.gpu.energy
        links = sum(b for _, b in traffic.ports)
        core = traffic.core_energy + traffic.l2 * energy.l2_byte
        uncore = (
            traffic.cache * energy.cache_byte
            + (traffic.hbm_read + traffic.hbm_write) * energy.hbm_byte
            + 2 * links * energy.link_byte
        )
        held = compute_units * energy.compute_unit
        load = (
            Load(core=nominal * core + held, scaled=nominal * uncore)
            if callable(cap)
            else Load(core=nominal * core + held, fixed=nominal * uncore)
        )
        tags = FlowTags(
            task=task, gpu=gpu, load=load, reads=nominal * traffic.hbm_read, writes=nominal * traffic.hbm_write,
            inserts=nominal * traffic.inserted, energy=(core, uncore), compute_units=compute_units,
        )  # fmt: skip
        latency = self.latency_remote if traffic.ports or traffic.host else self.latency_local
        flow = Flow(
            name, work, cap=cap, weight=max(full, 1e-300) * latency, amounts=amounts.items(),
            domain=self._clock(task, gpu), tags=tags,
        )  # fmt: skip
        return self.fluid.start(flow, done)

    def other_insertion(self, task: str, gpu: int) -> float:
        """Bytes per second that other tasks insert into the memory-side cache of *gpu* now (static)."""
        if "cache" in self.private:
            return 0.0
        return sum(f.tags.inserts for f in self.fluid.flows if f.tags.gpu == gpu and f.tags.task != task)

    # -- private ------------------------------------------------------------------------------------------------

    def _name(self, gpu: int, part: str, kind: str, task: str) -> str:
        base = f"gpu{self.home(gpu)}.{part}"
        return f"{base}~{task}" if kind in self.private else base

    def _amounts(self, task: str, gpu: int, traffic: Traffic) -> dict[str, float]:
        amounts: dict[str, float] = {}

        def draw(where: int, part: str, kind: str, amount: float) -> None:
            if amount > 0:
                name = self._name(where, part, kind, task)
                amounts[name] = amounts.get(name, 0.0) + amount
                self._declare(name, part)

        draw(gpu, "l2", "cache", traffic.l2)
        if self.node.gpu.memory_cache is not None:
            draw(gpu, "memory_cache", "cache", traffic.cache)
        draw(gpu, "hbm", "hbm", traffic.hbm_read + traffic.hbm_write)
        for (where, port), amount in traffic.ports:
            draw(where, port, "links", amount)
        for where, read, written in traffic.remote:
            draw(where, "hbm", "hbm", read + written)
        for direction, amount in traffic.host:
            draw(gpu, f"host.{direction}", "links", amount)
        if traffic.engine is not None:
            draw(gpu, f"dma[{traffic.engine[0]}]", "dma", traffic.engine[1])
        return amounts

    def _declare(self, name: str, part: str) -> None:
        if not self.fluid.has_capacity(name):
            rule = self._hbm_rule if part == "hbm" else None
            self.fluid.capacity(name, self._value(name), rule)

    def _value(self, name: str) -> float:
        """Capacity behind *name*, in bytes per second."""
        part = name.partition(".")[2].partition("~")[0]
        gpu, links = self.node.gpu, self.node.links
        if part == "hbm":
            return gpu.hbm.bandwidth * gpu.hbm.read_efficiency
        if part == "memory_cache":
            assert gpu.memory_cache is not None
            return gpu.memory_cache.bandwidth
        if part == "l2":
            return gpu.l2.bandwidth * gpu.dies.count * gpu.clock.maximum
        if part.startswith("dma"):
            return gpu.dma_engines.bandwidth
        if part.startswith("host"):
            return self.node.host.link_bandwidth
        return links.bandwidth * links.per_peer

    def _hbm_rule(self, _value: float, users: list[Flow]) -> float:
        """Peak times an efficiency between pure reads and an even mix, by what the users declare."""
        hbm = self.node.gpu.hbm
        reads = sum(flow.tags.reads for flow in users)
        writes = sum(flow.tags.writes for flow in users)
        mixed = 2 * min(reads, writes) / (reads + writes) if reads + writes > 0 else 0.0
        return hbm.bandwidth * (hbm.read_efficiency + (hbm.mixed_efficiency - hbm.read_efficiency) * mixed)

    def _clock(self, task: str, gpu: int) -> str:
        name = self._name(gpu, "clock", "clock", task)
        if name not in self.fluid.factors:
            self.fluid.domain(name, self._clock_rule)
        return name

    def _clock_rule(self, flows: list[Flow]) -> float:
        clock = self.node.gpu.clock
        loads = [flow.tags.load for flow in flows]
        return clock_factor(
            clock.power_limit, clock.idle_power, clock.voltage_exponent, clock.minimum / clock.maximum,
            sum(load.core for load in loads), sum(load.scaled for load in loads), sum(load.fixed for load in loads),
        )  # fmt: skip
