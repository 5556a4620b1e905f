"""A node as capacities: turns what a task moves into flows on the fluid layer.

In a folded run one GPU stands for all, or one of each class for those whose streams begin in the
same order; its peers are GPUs like it, and what it draws on something that several GPUs share
counts for all of them. ``private`` names kinds of sharing to take away (``c3sim explain``): each
task then has such capacities to itself, or shares them with its group where ``groups`` names one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter

from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.machine.energy import bill_of
from c3sim.machine.flow_tags import FlowTags
from c3sim.machine.governor import Governor
from c3sim.machine.holding import held_by_stores, store_load
from c3sim.machine.rates import host_memory_share, l2_rate, link_rate, rate_of, request_latency
from c3sim.machine.state import FULL_SPEED, Declared, GpuState, StateRule
from c3sim.machine.traffic import Traffic
from c3sim.models.arbitration import least_weight
from c3sim.models.cache_policy import Insertion, taken, total
from c3sim.models.capacity import Capacity, of_gpu
from c3sim.models.memory import memory_given
from c3sim.models.network import network_capacities
from c3sim.models.power import Load
from c3sim.specs.hardware import Node

SHARING = ("compute_units", "cache", "hbm", "links", "dma", "clock", "host")
STORE_QUEUES = "store_queues"  # another kind, of workloads in which kernels store at peers
LEAST_WEIGHT = 1e-300  # of a flow that does not move: weights are positive


class Machine:
    """Capacities of *node* on *fluid*."""

    def __init__(
        self,
        node: Node,
        fluid: Fluid,
        *,
        folded: bool,
        private: frozenset[str] = frozenset(),
        groups: Mapping[str, str] | None = None,
        classes: int = 1,
        average: float | None = None,
        storing: bool = False,
        insertion: Mapping[str, Insertion] | None = None,
        set_aside: bool = False,
    ):
        """*groups*: of each task the group that shares what is private; left out: a group each.
        *classes*: GPUs of a folded run; *average*: W drawn before, None: idle; *storing*: a kernel
        stores at peers. *insertion*: parts of what a task moves that the last cache takes, left
        out: all; *set_aside*: lines of it are kept for some; written ones leave one by one.
        """
        self.node, self.fluid, self.folded, self.private = node, fluid, folded, private
        self.gpus: tuple[int, ...] = tuple(range(classes if folded else node.ranks))
        self.average, self._groups, self._storing = average, groups or {}, storing
        self.set_aside, self._insertion = set_aside, insertion or {}
        self._rates: dict[Capacity, float] = {}  # [B/s] of what has been drawn on
        self._sharers: dict[Capacity, int] = {}  # GPUs that share a part of the network
        self._kinds: dict[Declared, int] = {}
        self._bounds: dict[tuple[str, Capacity | None], int] = {}

    def group(self, task: str) -> str:
        """Who shares with *task* what is private: the name of a group, or *task* itself."""
        return self._groups.get(task, task)

    def home(self, gpu: int, here: int | None = None) -> int:
        """The simulated GPU that stands for *gpu*; in a folded run, for a peer of *here*, that."""
        if not self.folded:
            return gpu % self.node.ranks
        return gpu % len(self.gpus) if here is None else here

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
        first: bool = False,
        behind: bool = False,
        clocked: bool = True,
        done: Callable[[Flow], None],
    ) -> Flow:
        """Start a flow.

        *cap*: its greatest rate; a function of the state follows memory and, if *clocked*, the
        clock. *share*: its part of what its kernel has running, so that parts declare parts.
        *sharers*: flows like it on its ports; it demands of memory only what its part of them lets
        through. *first*: its memory is served before what compute units ask for; *behind*: after.
        """
        group = self.group(task)
        amounts = self._amounts(group, gpu, traffic)
        if self._storing and callable(cap) and traffic.l2 and not traffic.stored:
            cap = held_by_stores(cap)
        rate = cap if callable(cap) else lambda _state: cap
        full = rate(FULL_SPEED)
        through_ports = self._through_ports(traffic) / sharers if sharers > 1 else math.inf
        alone, narrowest = self._alone(amounts, traffic)
        nominal, memory_time = min(full, through_ports, share * alone), self.memory_time(traffic)
        here, home = self.home(gpu), partial(self.home, here=self.home(gpu))
        bill = bill_of(self.node, here, traffic, work, compute_units, home)
        declared = Declared(
            rate=rate,
            clocked=clocked and callable(cap),
            full=full,
            through_ports=through_ports,
            alone=alone,
            load=Load(bill.core_energy, bill.uncore_energy, bill.held, bill.busy),
            memory_time=memory_time,
            memory_first=nominal * memory_time if first else 0.0,
            l2_time=max(0.0, traffic.l2 - traffic.cache) / l2_rate(self.node),
            compute_units=compute_units,
            stores=store_load(self.port_time(traffic), traffic) if traffic.stored else None,
            behind=behind,
        )
        tags = FlowTags(
            task=task,
            gpu=gpu,
            declared=declared,
            kind=self._kinds.setdefault(declared, len(self._kinds)),
            bound=self._bounds.setdefault((task, narrowest), len(self._bounds)),
            reads=nominal * traffic.hbm_read,
            writes=nominal * traffic.hbm_write,
            inserts=taken(self._insertion.get(task), nominal * traffic.inserted),
            bill=bill,
            compute_units=compute_units,
            traffic=traffic,
        )
        flow = Flow(
            name,
            work,
            cap=(lambda states: rate(states.of(group))) if callable(cap) else cap,
            weight=max(full, LEAST_WEIGHT)
            * request_latency(self.node, traffic)
            * least_weight(self.node.gpu, behind),
            amounts=self._with_answers(amounts, group, here, traffic).items(),
            domain=self._domain(gpu),
            tags=tags,
        )
        return self.fluid.start(flow, done)

    def other_insertion(self, task: str, gpu: int) -> Insertion:
        """B/s that other tasks insert into the last shared cache of *gpu* now (static)."""
        sharing = self.beside(task, "cache")
        return total(
            flow.tags.inserts
            for flow in self.fluid.flows
            if flow.tags.gpu == gpu and flow.tags.task != task and sharing(flow.tags.task)
        )

    def memory_given(self, write_share: float) -> float:
        """B/s of HBM at *write_share*; with lines set aside each write misses its row."""
        return memory_given(self.node.gpu, write_share, float(self.set_aside))

    def memory_time(self, traffic: Traffic) -> float:
        """Seconds of memory per unit of progress, each byte at the level that serves it."""
        gpu = self.node.gpu
        moved = traffic.hbm_read + traffic.hbm_write
        share = traffic.hbm_write / moved if moved else 0.0
        time = (moved + traffic.hbm_busy) / self.memory_given(share)
        if gpu.memory_side_cache is not None:
            time += max(0.0, traffic.cache - moved) / gpu.memory_side_cache.bandwidth
        return time

    def beside(self, task: str, kind: str) -> Callable[[str], bool]:
        """Whether another task shares *kind* with *task*."""
        if kind not in self.private:
            return lambda _other: True
        group = self.group(task)
        return lambda other: self.group(other) == group

    def _amounts(self, group: str, gpu: int, traffic: Traffic) -> dict[Capacity, float]:
        """What *traffic* draws on, per unit of progress."""
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

    def _with_answers(
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
            rule = self._memory_rule if capacity.kind == "hbm" else None
            self.fluid.capacity(capacity, self._rates[capacity], rule)

    def _memory_rule(self, _value: float, users: Sequence[Flow]) -> float:
        """What the memory gives to the mix of reads and writes that *users* declare."""
        reads = sum(flow.tags.reads for flow in users)
        writes = sum(flow.tags.writes for flow in users)
        written = writes if self.set_aside else min(reads, writes)
        return self.memory_given(written / (reads + writes) if reads + writes > 0 else 0.0)

    def _through_ports(self, traffic: Traffic) -> float:
        """Units of progress per second that the fullest port lets through where every GPU does the
        same: what goes on through another GPU's port then comes from others through this GPU's.
        """
        amounts: dict[object, float] = {}
        for hop, amount in traffic.ports:
            for (_, port), drawn in (
                (hop, amount),
                (traffic.answering(self.node.gpus, hop), amount * self.node.links.reverse_share),
            ):
                amounts[port] = amounts.get(port, 0.0) + drawn
        return link_rate(self.node) / max(amounts.values()) if amounts else math.inf

    def port_time(self, traffic: Traffic) -> float:
        """Seconds of the fullest port per unit of progress, where every GPU does the same."""
        return 1.0 / self._through_ports(traffic)

    def _alone(
        self, amounts: dict[Capacity, float], traffic: Traffic
    ) -> tuple[float, Capacity | None]:
        """Units of progress per second with all capacities to itself, or to it and its like; and
        the capacity that lets no more through.
        """
        like = self._sharers if traffic.together and not self.folded else {}
        moved = traffic.hbm_read + traffic.hbm_write
        memory = self.memory_given(traffic.hbm_write / moved) if moved else 0.0

        def rate(capacity: Capacity) -> float:
            return memory if capacity.kind == "hbm" and moved else self._rates[capacity]

        return min(
            ((rate(c) / (amount * like.get(c, 1)), c) for c, amount in amounts.items()),
            key=itemgetter(0),
            default=(math.inf, None),
        )

    def _domain(self, gpu: int) -> Capacity:
        domain = Capacity("gpu", self.home(gpu), "clock")
        if domain not in self.fluid.states:
            clock = self.node.gpu.clock
            again = partial(self.fluid.refresh, domain)
            self.fluid.domain(
                domain,
                StateRule(
                    self.node.gpu,
                    self.private,
                    self.group,
                    lambda: Governor(clock, lambda: self.fluid.env.now, again, self.average),
                ),
            )
        return domain
