"""A node as capacities: turns what a task moves into flows on the fluid layer.

Names are paths: ``gpu0.hbm``, ``gpu0.memory_side_cache``, ``gpu0.l2``, ``gpu0.link[3].out``, ``gpu0.dma[2]``,
``gpu0.host.out``, ``host0.memory``; between nodes ``gpu0.nic.out``, ``leaf0.up``. In a folded run every GPU maps onto ``gpu0``, and what
it draws on something that several GPUs share counts for all of them. ``private`` names kinds of sharing to take away (see
``c3sim explain``): each task then has such a capacity to itself, named ``gpu0.hbm~gather``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.machine.energy import Bill, bill_of
from c3sim.machine.governor import Governor
from c3sim.machine.traffic import Traffic
from c3sim.models.memory import memory_given, served_share
from c3sim.models.network import network_parts, network_rate
from c3sim.models.power import Load, merged, pace
from c3sim.specs.hardware import Node

SHARING = ("compute_units", "cache", "hbm", "links", "dma", "clock", "host")


class GpuState(NamedTuple):
    """What every flow of a GPU feels: *clock* as a share of the maximum, *load* asked of memory (1
    = all it can give), and the share of what a compute unit asks that it gets from *memory*,
    through an L2 that is loaded as well.
    """

    clock: float
    memory: float
    load: float = 0.0


FULL_SPEED = GpuState(1.0, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class GpuStates:
    """The state of one GPU; per task where ``private`` says so."""

    shared: GpuState
    by_task: Mapping[str, GpuState]

    def of(self, task: str) -> GpuState:
        return self.by_task.get(task, self.shared)

    @property
    def clock(self) -> float:
        return self.shared.clock


@dataclass(frozen=True, slots=True)
class FlowTags:
    """What a flow declares to clock and capacity rules; none of it is a solved rate."""

    task: str
    gpu: int
    load: Load
    reads: float  # B/s of HBM, static
    writes: float
    inserts: float  # B/s into the memory-side cache, static
    asked: (
        float  # memory time asked for per second at full clock and no load, static (1 = all of it)
    )
    asked_l2: float  # the same of the L2s, for what they serve themselves
    bill: Bill  # what it costs (machine/energy.py)
    compute_units: float


class Machine:
    """Capacities of *node* on *fluid*."""

    def __init__(
        self, node: Node, fluid: Fluid, *, folded: bool, private: frozenset[str] = frozenset()
    ):
        self.node, self.fluid, self.folded, self.private = node, fluid, folded, private
        self.gpus: tuple[int, ...] = (0,) if folded else tuple(range(node.ranks))
        self._sharers: dict[str, int] = {}  # GPUs that share a part of the network
        self._governors: dict[str, dict[str, Governor]] = {}  # domain -> task ("": all of them)
        self.latency_local = node.gpu.hbm.latency
        self.latency_remote = node.gpu.hbm.latency + 2 * node.links.latency
        self.latency_network = node.gpu.hbm.latency + 2 * (
            node.scale_out.latency if node.scale_out else 0.0
        )

    def home(self, gpu: int) -> int:
        """The simulated GPU that stands for *gpu*."""
        return 0 if self.folded else gpu % self.node.ranks

    def flow(
        self,
        name: str,
        *,
        task: str,
        gpu: int,
        work: float,
        cap: float | Callable[[GpuState], float],
        traffic: Traffic,
        compute_units: float = 0.0,
        share: float = 1.0,
        sharers: int = 1,
        clocked: float = 1.0,
        done: Callable[[Flow], None],
    ) -> Flow:
        """Start a flow. *share*: its part of what its kernel has running, so that parts declare
        parts. *sharers*: how many like it share its ports; it then asks memory for no more than its
        part of them lets through. *clocked*: how much of (the square of) its time follows the
        clock.

        A *cap* that is a function of the state follows clock or memory; a number does not.
        """
        amounts = self._amounts(task, gpu, traffic)
        full = cap(FULL_SPEED) if callable(cap) else cap
        asked = min(full, self._ports(traffic) / sharers) if sharers > 1 else full
        crowd = self._sharers if traffic.together and not self.folded else {}
        alone = min(
            (self._value(n) / (a * crowd.get(n, 1)) for n, a in amounts.items() if a > 0),
            default=math.inf,
        )
        nominal = min(asked, share * alone)
        bill = bill_of(self.node, gpu, traffic, work, compute_units, self.home)
        load = Load(
            core=nominal * bill.core_energy,
            held=bill.held,
            uncore=nominal * bill.uncore_energy + bill.busy,
            clocked=clocked,
        )
        tags = FlowTags(
            task=task,
            gpu=gpu,
            load=load,
            reads=nominal * traffic.hbm_read,
            writes=nominal * traffic.hbm_write,
            inserts=nominal * traffic.inserted,
            asked=asked * self.memory_time(traffic),
            asked_l2=asked * max(0.0, traffic.l2 - traffic.cache) / self._value("gpu0.l2"),
            bill=bill,
            compute_units=compute_units,
        )
        latency = self.latency_remote if traffic.ports or traffic.host else self.latency_local
        latency = self.latency_network if traffic.network else latency
        bound = (lambda states: cap(states.of(task))) if callable(cap) else cap
        flow = Flow(
            name,
            work,
            cap=bound,
            weight=max(full, 1e-300) * latency,
            amounts=amounts.items(),
            domain=self._domain(gpu),
            tags=tags,
        )
        return self.fluid.start(flow, done)

    def other_insertion(self, task: str, gpu: int) -> float:
        """Bytes per second that other tasks insert into the memory-side cache of *gpu* now
        (static).
        """
        if "cache" in self.private:
            return 0.0
        return float(
            sum(
                f.tags.inserts
                for f in self.fluid.flows
                if f.tags.gpu == gpu and f.tags.task != task
            )
        )

    # -- private -----------------------------------------------------------------------------------
    # -------------

    def _name(self, where: int | str, part: str, kind: str, task: str) -> str:
        base = f"{where}.{part}" if isinstance(where, str) else f"gpu{self.home(where)}.{part}"
        return f"{base}~{task}" if kind in self.private else base

    def _amounts(self, task: str, gpu: int, traffic: Traffic) -> dict[str, float]:
        amounts: dict[str, float] = {}

        def draw(where: int | str, part: str, kind: str, amount: float) -> None:
            if amount > 0:
                name = self._name(where, part, kind, task)
                amounts[name] = amounts.get(name, 0.0) + amount
                self._declare(name, part)

        draw(gpu, "l2", "cache", traffic.l2)
        if self.node.gpu.memory_side_cache is not None:
            draw(gpu, "memory_side_cache", "cache", traffic.cache)
        draw(gpu, "hbm", "hbm", traffic.hbm_read + traffic.hbm_write)
        for (where, port), amount in traffic.ports:
            draw(where, port, "links", amount)
        for (where, port), amount in traffic.network:
            for owner, part, sharers in network_parts(self.node, self.home(where), port):
                draw(owner, part, "links", amount * (sharers if self.folded else 1))
                self._sharers[self._name(owner, part, "links", task)] = sharers
        for where, read, written in traffic.remote:
            draw(where, "hbm", "hbm", read + written)
        for direction, amount in traffic.host:
            draw(gpu, f"host.{direction}", "links", amount)
            draw(
                f"host{self.home(gpu) // self.node.gpus}",
                "memory",
                "links",
                self._host_memory(direction, amount),
            )
        if traffic.engine is not None:
            draw(gpu, f"dma[{traffic.engine[0]}]", "dma", traffic.engine[1])
        return amounts

    def _host_memory(self, direction: str, amount: float) -> float:
        """Share of all that host memory can do that *amount* B/s take: of one GPU, or of all of a
        node that is folded.
        """
        host = self.node.host
        most = host.memory_write_bandwidth if direction == "out" else host.memory_read_bandwidth
        return amount * (self.node.gpus if self.folded else 1) / most if most else 0.0

    def _ports(self, traffic: Traffic) -> float:
        """Units of progress per second that the narrowest port or link lets through, where every
        GPU does the same.
        """
        amounts: dict[str, float] = {}
        for (
            (_, port),
            amount,
        ) in traffic.ports:  # named by position: what goes on through others comes from others here
            amounts[port] = amounts.get(port, 0.0) + amount
        return min(
            (self._value(f"gpu0.{port}") / a for port, a in amounts.items()), default=math.inf
        )

    def _declare(self, name: str, part: str) -> None:
        if not self.fluid.has_capacity(name):
            rule = self._hbm_rule if part == "hbm" else None
            self.fluid.capacity(name, self._value(name), rule)

    def _value(self, name: str) -> float:
        """Capacity behind *name*, in bytes per second."""
        part = name.partition(".")[2].partition("~")[0]
        gpu, links = self.node.gpu, self.node.links
        if name.startswith("leaf") or part.startswith("nic"):
            return network_rate(self.node, name)
        if part == "memory":
            return 1.0  # of what host memory can do
        if part == "hbm":
            return gpu.hbm.bandwidth * gpu.hbm.read_efficiency
        if part == "memory_side_cache":
            assert gpu.memory_side_cache is not None
            return gpu.memory_side_cache.bandwidth
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
        return hbm.bandwidth * (
            hbm.read_efficiency + (hbm.mixed_efficiency - hbm.read_efficiency) * mixed
        )

    def _domain(self, gpu: int) -> str:
        name = f"gpu{self.home(gpu)}.state"
        if name not in self.fluid.states:
            self._governors[name] = {}
            self.fluid.domain(name, partial(self._state_rule, name))
        return name

    def _state_rule(self, domain: str, flows: list[Flow]) -> GpuStates:
        """Clock from all declared power, memory from all declared demand; own ones only where
        private.
        """
        by_task: dict[str, GpuState] = {}
        if self.private & {"clock", "hbm"}:
            for task in dict.fromkeys(flow.tags.task for flow in flows):
                own = [flow for flow in flows if flow.tags.task == task]
                clock = (
                    self._clock(domain, own, task)
                    if "clock" in self.private
                    else self._clock(domain, flows)
                )
                by_task[task] = self._state(own if "hbm" in self.private else flows, clock)
        clock = self._clock(domain, flows)
        return GpuStates(self._state(flows, clock), by_task)

    def _clock(self, domain: str, flows: list[Flow], task: str = "") -> float:
        governors = self._governors[domain]
        if task not in governors:
            again = partial(self.fluid.refresh, domain)
            governors[task] = Governor(self.node.gpu.clock, lambda: self.fluid.env.now, again)
        return governors[task].factor(merged(flow.tags.load for flow in flows))

    def _state(self, flows: list[Flow], clock: float) -> GpuState:
        load, l2 = 0.0, 0.0
        for flow in flows:
            going = pace(flow.tags.load.clocked, clock)
            load += flow.tags.asked * going
            l2 += flow.tags.asked_l2 * going / clock  # the L2s run at the engine clock
        return GpuState(clock, served_share(load + l2, self.node.gpu.hbm.saturation_exponent), load)

    def memory_time(self, traffic: Traffic) -> float:
        """Seconds of the memory that one unit of progress takes: each byte at the level that serves
        it.
        """
        gpu = self.node.gpu
        moved = traffic.hbm_read + traffic.hbm_write
        time = moved / memory_given(gpu, traffic.hbm_write / moved) if moved else 0.0
        if gpu.memory_side_cache is not None:
            time += max(0.0, traffic.cache - moved) / gpu.memory_side_cache.bandwidth
        return time
