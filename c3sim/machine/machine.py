"""A node as capacities: turns what a task moves into flows on the fluid layer.

In a folded run one GPU stands for all, or one of each class for those whose streams begin in the
same order; its peers are GPUs like it, and what it draws on something that several GPUs share
counts for all of them. ``private`` names kinds of sharing to take away (``c3sim explain``): each
task then has such capacities to itself, or shares them with its group where ``groups`` names one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.machine.cache_counts import inserted
from c3sim.machine.drawing import Drawing, l2_rate, memory_time, request_latency, through_ports
from c3sim.machine.energy import Bill, bill_of
from c3sim.machine.follower import Call, Follower, Memory
from c3sim.machine.governor import Governor
from c3sim.machine.settling import Loads, Settled
from c3sim.machine.state import (
    FULL_SPEED,
    REMEMBERED,
    Asked,
    Declared,
    FlowTags,
    Given,
    GpuState,
    GpuStates,
    Rate,
    StateByClock,
    StateRule,
    StoreLoad,
    WaitsForLines,
    held_by_stores,
)
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_lines import Lines, row_misses, stall_rule, taken
from c3sim.models.cache_policy import Insertion
from c3sim.models.capacity import Capacity
from c3sim.models.power import Load
from c3sim.spec.hardware import Node

Memories = Mapping[tuple[int, str], Memory]  # by GPU and name of the governor
Turns = Mapping[tuple[int, str], Sequence[Call]]
LEAST_WEIGHT = 1e-300  # of a flow that does not move: weights are positive
ASKED_TRAFFIC = Asked._fields.index("traffic")
TRAFFIC_PORTS, TRAFFIC_ENGINE = Traffic._fields.index("ports"), Traffic._fields.index("engine")


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
        settled: Settled | None = None,
        memories: Memories | None = None,
        storing: bool = False,
        lines: Mapping[str, Lines] | None = None,
        set_aside: bool = False,
    ):
        """*groups*: of each task the group that shares what is private; left out: a group each.
        *classes*: GPUs of a folded run; *settled*: in a loop, None: idle; *memories*: of
        governors from the turn before, None: no loop; *storing*: a kernel
        stores at peers. *lines*: what a task does to those of the last cache, left out: as any
        does; *set_aside*: lines of it are kept for some.
        """
        self.node, self.fluid, self.folded, self.private = node, fluid, folded, private
        self.gpus: tuple[int, ...] = tuple(range(classes if folded else node.ranks))
        self._memories, self._followers = memories, dict[tuple[int, str], Follower]()
        self.settled, self._groups, self._storing = settled, groups or {}, storing
        self.loads = Loads()  # of the first GPU, where nothing has settled
        self._lines = lines or {}
        usual = row_misses(node.gpu.cache_policies, set_aside)
        self._usual_lines = Lines(Insertion(1.0, 0.0), usual)
        self._stall = stall_rule(node.gpu, set_aside)
        self._drawing = Drawing(node, fluid, folded=folded, private=private, gpus=len(self.gpus))
        self._given: dict[tuple[Asked, str, Lines, float], Given] = {}
        self._alike: dict[Hashable, tuple[Given, int]] = {}  # and the place of its narrowest
        self._domains: dict[int, Capacity] = {}  # by GPU
        self._kinds: dict[Declared, int] = {}
        self._states: dict[Hashable, StateByClock] = {}  # all GPUs are equal
        self._bounds: dict[tuple[str, Capacity | None], int] = {}

    def group(self, task: str) -> str:
        """Name of the group that shares private resources with *task*, or *task* itself."""
        return self._groups.get(task, task)

    def home(self, gpu: int, here: int | None = None) -> int:
        """The simulated GPU that stands for *gpu*; in a folded run, for a peer of *here*, that."""
        return self._drawing.home(gpu, here)

    def flow(
        self, task: str, asked: Asked, work: float, done: Callable[[Flow], None], name: str = ""
    ) -> Flow:
        """Start a flow of *task* with so many units of *work*; *name*: what it is called, left out:
        as the task.
        """
        group = self.group(task) if self.private else ""
        lines = self._lines_of(task)
        packed = 0.0 if asked.traffic.engine is None else work  # commands for it, of an engine
        key = asked, group, lines, packed
        given = self._given.get(key)
        if given is None:
            if len(self._given) >= REMEMBERED:
                self._given.clear()
            given = self._given[key] = self._worked_out(*key)
        bound = self._bounds.setdefault((task, given.narrowest), len(self._bounds))
        flow = Flow(
            name or task,
            work,
            cap=given.cap,
            weight=given.weight,
            amounts=given.amounts,
            domain=self._domain(asked.gpu),
            tags=given.tags.of(task, bound),
        )
        return self.fluid.start(flow, done)

    def _worked_out(self, asked: Asked, group: str, lines: Lines, work: float) -> Given:
        """Demands and tags that flows with equal *asked* share. *group*: that has what is
        private to itself, "": nothing is; *work*: of an engine, 0 of all others.

        In a folded run copies to other peers by other engines are worked out once, as long as no
        two share a port: they draw as much on capacities of the same kinds and rates.
        """
        traffic = asked.traffic
        amounts = self._drawing.amounts(group, asked.gpu, traffic)
        if not self.folded or traffic.engine is None or asked.sharers > 1:
            return self._of_amounts(asked, group, lines, work, amounts)
        ports = tuple([(p.kind, p.number is None, drawn) for (_, p), drawn in traffic.ports])
        others = _without(asked, ASKED_TRAFFIC), _without(traffic, TRAFFIC_PORTS, TRAFFIC_ENGINE)
        shape = self._drawing.shape(amounts)
        like = others, ports, traffic.engine[1], group, lines, work, shape
        if like not in self._alike:
            given = self._of_amounts(asked, group, lines, work, amounts)
            place = -1 if given.narrowest is None else [*amounts].index(given.narrowest)
            self._alike[like] = given, place
            return given
        given, place = self._alike[like]
        drawn = self._drawing.with_answers(amounts, group, self.home(asked.gpu), traffic)
        narrowest = None if place < 0 else [*amounts][place]
        tags = given.tags.moving(traffic)
        return Given(given.cap, given.weight, tuple(drawn.items()), narrowest, tags)

    def _of_amounts(
        self, asked: Asked, group: str, lines: Lines, work: float, amounts: dict[Capacity, float]
    ) -> Given:
        """What :meth:`_worked_out` gives, from the *amounts* of each capacity."""
        traffic, gpu = asked.traffic, asked.gpu
        rate = self._rate(asked, waits=self._waits(lines))
        full = rate(FULL_SPEED)
        most = math.inf
        if asked.sharers > 1:
            most = through_ports(self.node, traffic) / asked.sharers
        alone, narrowest, outside = self._drawing.alone(amounts, traffic, lines.row_misses)
        if not traffic.stored:  # stores wait in queues of their own (models/stores.py)
            most = min(most, asked.share * outside)
        nominal = min(full, most, asked.share * alone)
        busy = memory_time(self.node.gpu, traffic, lines.row_misses)
        here, home = self.home(gpu), partial(self.home, here=self.home(gpu))
        bill = bill_of(self.node, here, traffic, work, asked.compute_units, home)
        declared = Declared(
            rate=rate,
            clocked=asked.clocked and callable(asked.cap),
            full=full,
            through_ports=most,
            alone=alone,
            freely=getattr(asked.cap, "freely", None),
            load=Load(bill.core_energy, bill.uncore_energy, bill.held, bill.busy),
            memory_time=busy,
            memory_first=nominal * busy if asked.first else 0.0,
            memory_bytes=traffic.hbm_read + traffic.hbm_write,
            l2_time=max(0.0, traffic.l2 - traffic.cache) / l2_rate(self.node),
            compute_units=asked.compute_units,
            computing=asked.compute_units if traffic.core_energy else 0.0,
            stores=self._store_load(traffic) if traffic.stored else None,
            posts=getattr(asked.cap, "posts", False),
        )
        return Given(
            cap=_by_states(rate, group) if callable(asked.cap) else asked.cap,
            weight=max(full, LEAST_WEIGHT) * request_latency(self.node, traffic),
            amounts=tuple(self._drawing.with_answers(amounts, group, here, traffic).items()),
            narrowest=narrowest,
            tags=self._tags(asked, lines, bill, declared, nominal),
        )

    def _tags(
        self, asked: Asked, lines: Lines, bill: Bill, declared: Declared, nominal: float
    ) -> FlowTags:
        """Tags of a flow of *nominal* units/s, of no task yet."""
        traffic = asked.traffic
        return FlowTags(
            task="",
            gpu=asked.gpu,
            declared=declared,
            kind=self._kinds.setdefault(declared, len(self._kinds)),
            bound=0,
            reads=nominal * traffic.hbm_read,
            writes=nominal * traffic.hbm_write,
            inserts=taken(lines.inserted, nominal * traffic.inserted),
            touches=nominal * traffic.touched,
            lines=lines,
            waits=self._waits(lines),
            bill=bill,
            traffic=traffic,
        )

    def _waits(self, lines: Lines) -> bool:
        """True if misses of who treats *lines* so wait for them."""
        return self._stall is not None and any(lines.inserted)

    def _rate(self, asked: Asked, *, waits: bool) -> Rate:
        """Units/s by state, behind stores to peers and, if it *waits* for lines, behind them."""
        traffic, most = asked.traffic, asked.cap
        if not callable(most):
            return partial(_whatever_the_state, most)
        cap: Rate = most
        if self._storing and traffic.l2 and not traffic.stored:
            cap = held_by_stores(cap)
        return WaitsForLines(cap) if waits else cap

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
        """True if another task shares *kind* with *task*."""
        if kind not in self.private:
            return lambda _other: True
        group = self.group(task)
        return lambda other: self.group(other) == group

    def port_time(self, traffic: Traffic) -> float:
        """Seconds of the fullest port per unit of progress, where every GPU does the same."""
        return 1.0 / through_ports(self.node, traffic)

    def _store_load(self, traffic: Traffic) -> StoreLoad:
        return StoreLoad(self.port_time(traffic), traffic.releasing, traffic.release_hold)

    def _domain(self, gpu: int) -> Capacity:
        home = self.home(gpu)
        domain = self._domains.get(home)
        if domain is None:
            domain = self._domains[home] = Capacity("gpu", home, "clock")
            self.fluid.domain(
                domain,
                StateRule(
                    self.node.gpu,
                    self.private,
                    self.group,
                    partial(self._governor, home),
                    self._stall,
                    self._states,
                    accounted=bool(self.fluid.observers or self._groups),
                ),
            )
        return domain

    def _governor(self, gpu: int, name: str) -> Governor | Follower:
        """The governor *name* of *gpu*."""
        clock, again = self.node.gpu.clock, partial(self.fluid.refresh, self._domains[gpu])
        now = partial(getattr, self.fluid.env, "now")  # not of this machine: that would be a circle
        if self._memories is None or clock.response is None:
            noted = self.loads if self.settled is None and gpu == 0 and not name else None
            settled = self.settled
            if settled is not None and name:  # who has a clock of its own holds none for others
                settled = Settled(settled.average)
            return Governor(clock, now, again, settled, noted)
        before = self._memories.get((gpu, name))
        made = Follower(clock, clock.response, now, again, before)
        self._followers[gpu, name] = made
        return made

    @property
    def turns(self) -> Turns:
        """Questions of this turn to governors that remember, by GPU and name."""
        return {key: follower.turn for key, follower in self._followers.items() if follower.turn}


def _without(record: tuple[Any, ...], *places: int) -> tuple[Any, ...]:
    """*record* without what stands at *places*, in order."""
    for place in reversed(places):
        record = record[:place] + record[place + 1 :]
    return record


def _whatever_the_state(rate: float, _state: GpuState) -> float:
    return rate


def _by_states(rate: Rate, group: str) -> Callable[[GpuStates], float]:
    """*rate* in the state of *group*; "": that of all."""
    return lambda states: rate(states.of(group) if group else states.shared)
