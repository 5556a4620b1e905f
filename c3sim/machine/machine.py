"""A node as capacities: turns what a task moves into flows on the fluid layer.

In a folded run one GPU stands for all, or one of each class for those whose streams begin in the
same order; its peers are GPUs like it, and what it draws on something that several GPUs share
counts for all of them. ``private`` names kinds of sharing to take away (``c3sim explain``): each
task then has such capacities to itself, or shares them with its group where ``groups`` names one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter

from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.machine.cache_counts import inserted
from c3sim.machine.energy import bill_of
from c3sim.machine.flow_tags import FlowTags
from c3sim.machine.governor import Governor
from c3sim.machine.holding import held_by_stores, store_load
from c3sim.machine.rates import (
    host_memory_share,
    l2_rate,
    memory_rule,
    memory_time,
    rate_of,
    request_latency,
    through_ports,
    with_like,
)
from c3sim.machine.state import FULL_SPEED, Declared, GpuState, StateRule, WaitsForLines
from c3sim.machine.traffic import Traffic
from c3sim.models.arbitration import least_weight
from c3sim.models.cache_lines import row_misses, stall_rule
from c3sim.models.cache_policy import Insertion
from c3sim.models.capacity import Capacity, of_gpu
from c3sim.models.insertion import Lines, taken
from c3sim.models.memory import memory_given
from c3sim.models.network import network_capacities
from c3sim.models.power import Load
from c3sim.specs.hardware import Node

SHARING = ("compute_units", "cache", "hbm", "links", "dma", "clock", "host")
STORE_QUEUES, POSTS = "store_queues", "posts"  # further kinds, of kernels that store, or post
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
        lines: Mapping[str, Lines] | None = None,
        set_aside: bool = False,
    ):
        """*groups*: of each task the group that shares what is private; left out: a group each.
        *classes*: GPUs of a folded run; *average*: W drawn before, None: idle; *storing*: a kernel
        stores at peers. *lines*: what a task does to those of the last cache, left out: as any
        does; *set_aside*: lines of it are kept for some.
        """
        self.node, self.fluid, self.folded, self.private = node, fluid, folded, private
        self.gpus: tuple[int, ...] = tuple(range(classes if folded else node.ranks))
        self.average, self._groups, self._storing = average, groups or {}, storing
        self._lines = lines or {}
        usual = row_misses(node.gpu.cache_policies, set_aside)
        self._usual_lines = Lines(Insertion(1.0, 0.0), usual)
        self._stall = stall_rule(node.gpu, set_aside)
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
        lines = self._lines_of(task)
        waits = self._stall is not None and any(lines.inserted)
        if waits and callable(cap):
            cap = WaitsForLines(cap)
        rate = cap if callable(cap) else lambda _state: cap
        full = rate(FULL_SPEED)
        most = through_ports(self.node, traffic) / sharers if sharers > 1 else math.inf
        alone, narrowest = self._alone(amounts, traffic, lines.row_misses)
        nominal, busy = min(full, most, share * alone), self.memory_time(traffic, task)
        here, home = self.home(gpu), partial(self.home, here=self.home(gpu))
        bill = bill_of(self.node, here, traffic, work, compute_units, home)
        declared = Declared(
            rate=rate,
            clocked=clocked and callable(cap),
            full=full,
            through_ports=most,
            alone=alone,
            load=Load(bill.core_energy, bill.uncore_energy, bill.held, bill.busy),
            memory_time=busy,
            memory_first=nominal * busy if first else 0.0,
            memory_bytes=traffic.hbm_read + traffic.hbm_write,
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
            inserts=taken(lines.inserted, nominal * traffic.inserted),
            touches=nominal * traffic.touched,
            lines=lines,
            waits=waits,
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

    def other_insertion(self, task: str, gpu: int, window: float = 0.0) -> Insertion:
        """B/s that other tasks insert into the last shared cache of *gpu* now (static), and what
        they touch there in a *window* [s], each no more than its footprint.
        """
        sharing = self.beside(task, "cache")
        tags = [flow.tags for flow in self.fluid.flows if flow.tags.gpu == gpu]
        return inserted([t for t in tags if t.task != task and sharing(t.task)], window)

    def _lines_of(self, task: str) -> Lines:
        return self._lines.get(task, self._usual_lines)

    def memory_time(self, traffic: Traffic, task: str) -> float:
        """Seconds of memory per unit of *task*'s progress."""
        return memory_time(self.node.gpu, traffic, self._lines_of(task).row_misses)

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
            rule = partial(memory_rule, self.node.gpu) if capacity.kind == "hbm" else None
            self.fluid.capacity(capacity, self._rates[capacity], rule)

    def port_time(self, traffic: Traffic) -> float:
        """Seconds of the fullest port per unit of progress, where every GPU does the same."""
        return 1.0 / through_ports(self.node, traffic)

    def _alone(
        self, amounts: dict[Capacity, float], traffic: Traffic, row_misses: float
    ) -> tuple[float, Capacity | None]:
        """Units/s with all capacities to itself, or to it and its like; the narrowest of them."""
        if traffic.together and not self.folded:
            amounts = with_like(amounts, self._sharers)
        moved = traffic.hbm_read + traffic.hbm_write
        share = traffic.hbm_write / moved if moved else 0.0
        memory = memory_given(self.node.gpu, share, row_misses) if moved else 0.0

        def rate(capacity: Capacity) -> float:
            return memory if capacity.kind == "hbm" and moved else self._rates[capacity]

        return min(
            ((rate(c) / amount, c) for c, amount in amounts.items()),
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
                    self._stall,
                ),
            )
        return domain
