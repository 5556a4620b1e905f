"""State of a GPU: its clock, and how much of what compute units demand its memory gives.

Clock and memory follow from what all flows of the GPU declare, never from solved rates. Where
``clock`` or ``hbm`` is private, each group of tasks has a state of its own, as if it were alone
there. Unfinished stores to peers hold the other kernels of a GPU up (models/stores.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from c3sim.engine.flow import Flow
from c3sim.machine.energy import Bill
from c3sim.machine.follower import Follower
from c3sim.machine.governor import Governor
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_lines import Lines
from c3sim.models.cache_policy import Insertion
from c3sim.models.capacity import Capacity
from c3sim.models.memory import felt_beside_posts, load_behind, load_of, served_share
from c3sim.models.power import Load, clock_factor, power
from c3sim.models.roots import last_within
from c3sim.models.stores import kept_share
from c3sim.spec.hardware import Gpu


class GpuState(NamedTuple):
    """State of a GPU that all of its flows share.

    *clock*: share of the maximum. *memory*: share of what loads ask for that they get, from memory
    and through an L2 that is loaded as well. *through*: the same of what is prefetched from L2,
    which does not wait for memory that is full. *load*: demand on memory, 1 = all it can give.
    *kept*: share of its rate that a kernel keeps behind stores to peers. *stalled*: part of the
    misses that wait for a line of the last shared cache. *computing*: share of the compute units
    on which arithmetic runs.
    """

    clock: float
    memory: float
    load: float = 0.0
    kept: float = 1.0
    stalled: float = 0.0
    computing: float = 0.0
    through: float = 1.0


FULL_SPEED = GpuState(1.0, 1.0, 0.0)
Rate = Callable[[GpuState], float]
#: Part of misses that wait for a line, from the B/s of memory that is had.
Stall = Callable[[float], float]
#: Sets of flows whose states are remembered, some kB each; then all are forgotten.
REMEMBERED = 1000


class StoreLoad(NamedTuple):
    """Load of a flow of stores on links and dies, per unit of its progress."""

    port_time: float  # s of the fullest link
    release_time: float  # s in which a die makes releases
    release_hold: float  # share of the die's other traffic that stands still in them


class Declared(NamedTuple):
    """All that the state of a GPU depends on of a flow; static, no solved rate. Equal ones are of
    one *kind*, so rates that are values, not functions made on the spot, are worked out once.
    """

    rate: Rate  # units/s that it asks for in a state
    clocked: bool  # whether that follows the clock
    full: float  # the same at full speed
    through_ports: float  # units/s that links and engines let through to memory
    alone: float  # units/s with all capacities to itself
    freely: Rate | None  # *rate* if nothing but memory limited it; None: the same
    load: Load
    memory_time: float  # s of all that memory gives, per unit
    memory_bytes: float  # to and from it, per unit
    memory_first: float  # share of all that memory gives that it takes before compute units
    l2_time: float  # the same of the L2s at full clock, for what they serve themselves
    compute_units: float
    computing: float  # those of them on which arithmetic runs
    stores: StoreLoad | None
    posts: bool = False  # whether *rate* falls by less than what memory gives to loads


def held_by_stores(cap: Rate) -> Rate:
    """*cap*, of a kernel whose requests wait behind stores."""
    return lambda state: cap(state) * state.kept


@dataclass(frozen=True, slots=True)
class WaitsForLines:
    """*cap*, of a kernel whose misses wait where every line of their set is pending."""

    cap: Rate

    def __call__(self, state: GpuState) -> float:
        if state.stalled:
            state = state._replace(memory=state.memory * (1.0 - state.stalled))
        return self.cap(state)


class GpuStates(NamedTuple):
    """The state of one GPU, *shared* by all groups but those in *by_group*."""

    shared: GpuState
    by_group: Mapping[str, GpuState]

    def of(self, group: str) -> GpuState:
        return self.by_group.get(group, self.shared)

    @property
    def clock(self) -> float:
        return self.shared.clock


class StateRule:
    """The state of one GPU as a function of its flows; *group* names the group of a task,
    *governor* makes a governor of its clock; *stall* gives the part of misses that wait for a line
    from the B/s of memory that flows ask for, as far as it gives them; None: none wait. *known*:
    states by kinds of flows, which equal GPUs share. *accounted*: the clock of all flows is
    followed where each group has its own as well, for who counts energy.
    """

    def __init__(
        self,
        gpu: Gpu,
        private: frozenset[str],
        group: Callable[[str], str],
        governor: Callable[[str], Governor | Follower],
        stall: Stall | None,
        known: dict[Hashable, StateByClock],
        *,
        accounted: bool,
    ):
        self._accounted = accounted
        self.gpu, self.private, self.group, self.governor = gpu, private, group, governor
        self._stall, self._apart = stall, bool(private & {"clock", "hbm", "store_queues"})
        self._governors: dict[str, Governor | Follower] = {}  # by group; "": of all tasks
        self._known = known

    def __call__(self, flows: Sequence[Flow]) -> GpuStates:
        by_group: dict[str, GpuState] = {}
        if self._apart:
            members: dict[str, list[Flow]] = {}
            for flow in flows:
                members.setdefault(self.group(flow.tags.task), []).append(flow)
            for group, own in members.items():
                disturbing = own if "hbm" in self.private else flows
                holding = own if "store_queues" in self.private else flows
                drawing = own if "clock" in self.private else flows
                name = group if "clock" in self.private else ""
                by_group[group] = self._within_limits(drawing, disturbing, holding, name)
            if "clock" in self.private and not self._accounted:
                return GpuStates(FULL_SPEED, by_group)  # nobody is in the state of all
        return GpuStates(self._within_limits(flows, flows, flows), by_group)

    def _within_limits(
        self,
        drawing: Sequence[Flow],
        disturbing: Sequence[Flow],
        holding: Sequence[Flow],
        name: str = "",
    ) -> GpuState:
        """The state at the clock at which *drawing* flows stay within the limits of the governor
        *name*; *disturbing* ones load memory, *holding* ones may hold others up.
        """
        if name not in self._governors:
            self._governors[name] = self.governor(name)
        kinds = (
            _with_bounds(drawing),
            None if disturbing is drawing else _with_bounds(disturbing),
            None if holding is drawing else tuple([f.tags.kind for f in holding]),
        )
        by_clock = self._known.get(kinds)
        if by_clock is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            by_clock = self._known[kinds] = StateByClock(
                self.gpu,
                self._stall,
                [f.tags.declared for f in drawing],
                kinds[0],
                [f.tags.declared for f in disturbing],
                [bound for _, bound in kinds[1] or kinds[0]],
                [f.tags.declared for f in holding],
            )
        return by_clock.states[
            self._governors[name].factor(by_clock.power, by_clock.within, by_clock)
        ]


def _by_bound(flows: Sequence[Declared], bounds: Sequence[int]) -> list[list[Declared]]:
    """*flows* in lists, together those with equal numbers in *bounds*."""
    grouped: list[list[Declared]] = [[] for _ in {*bounds}]
    for flow, bound in zip(flows, bounds, strict=True):
        grouped[bound].append(flow)
    return grouped


def _asked_freely(flows: Sequence[Declared]) -> float:
    """Load that *flows* would ask for at full speed if only memory limited them."""
    return sum(
        [
            (f.freely(FULL_SPEED) if f.freely else f.full) * (f.memory_time + f.l2_time)
            for f in flows
        ]
    )


def _with_bounds(flows: Sequence[Flow]) -> tuple[tuple[int, int], ...]:
    """Kind and bound of each of *flows*; bounds are numbered by appearance."""
    if len(flows) == 1:
        return ((flows[0].tags.kind, 0),)
    seen = dict.fromkeys([f.tags.bound for f in flows])
    numbers = {bound: number for number, bound in enumerate(seen)}
    return tuple([(f.tags.kind, numbers[f.tags.bound]) for f in flows])


class StateByClock:
    """State and power of a GPU at any clock, by what its flows declare and nothing else, so that
    flows which declare the same have the same. Each clock is worked out once.
    """

    def __init__(
        self,
        gpu: Gpu,
        stall: Stall | None,
        drawing: Sequence[Declared],
        kinds: Sequence[tuple[int, int]],
        loading: Sequence[Declared],
        loading_bounds: Sequence[int],
        holding: Sequence[Declared],
    ):
        """*drawing* flows draw power, *loading* ones load memory, *holding* ones may hold others
        up. *stall*: of StateRule. *kinds*: two numbers for each *drawing* one; the first equal: the
        same declared; the second equal: of one task, bound by one capacity; *loading_bounds*: the
        second for each *loading* one.
        """
        self.gpu, self._stall = gpu, stall
        self.states: dict[float, GpuState] = {}
        self._watts: dict[float, float] = {}
        self._within: dict[tuple[float, float], float] = {}
        declared = dict(zip([kind for kind, _ in kinds], drawing, strict=True))
        places = {kind: place for place, kind in enumerate(declared)}
        self._kinds = list(declared.values())
        self._drawing = [
            (flow.load, places[kind], bound)
            for flow, (kind, bound) in zip(drawing, kinds, strict=True)
        ]
        self._bounds = len({bound for _, bound in kinds})
        self._loading = _by_bound(loading, loading_bounds)
        self._freely: dict[int, float] = {}  # by number of the bound, where it matters
        self._first = computing = 0.0
        self._missing = 0.0  # B/s of memory asked for at full speed
        self._engines: dict[tuple[Rate, float, float, float], int] = {}  # alike ones are asked once
        for flow in loading:
            ports = flow.through_ports
            self._first += flow.memory_first
            computing += flow.computing
            self._missing += (flow.full if flow.full < ports else ports) * flow.memory_bytes
            if not flow.clocked:
                engine = flow.rate, flow.full, ports, flow.memory_time
                self._engines[engine] = self._engines.get(engine, 0) + 1
        self._computing = min(1.0, computing / gpu.compute_unit_count)
        self._storing = [(f.stores, f.rate, f.compute_units) for f in holding if f.stores]

    def power(self, clock: float) -> float:
        """W at *clock*, whose state is in *states* from then on."""
        if clock not in self._watts:
            state = self.states[clock] = self._state(clock)
            self._watts[clock] = self._power(state)
        return self._watts[clock]

    def within(self, limit: float, minimum: float) -> float:
        """The largest clock factor from *minimum* on at which *limit* [W] is kept."""
        bounds = limit, minimum
        if bounds not in self._within:
            self._within[bounds] = clock_factor(limit, minimum, self.power)
        return self._within[bounds]

    def pace(self, clock: float) -> float:
        """Mean rate of the flows at *clock*, against what each declares at the maximum."""
        self.power(clock)
        state, kinds = self.states[clock], [self._kinds[kind] for _, kind, _ in self._drawing]
        paces = [kind.rate(state) / kind.full for kind in kinds if kind.full]
        return sum(paces) / len(paces) if paces else 1.0

    def _power(self, state: GpuState) -> float:
        """W in *state*, no less than what flows take once tasks share capacities. Flows of one task
        that are bound by one capacity get together what one of them could alone.
        """
        rates = [kind.rate(state) for kind in self._kinds]
        used = [0.0] * self._bounds
        for _, kind, bound in self._drawing:
            used[bound] += rates[kind] / self._kinds[kind].alone
        shared = [
            (load, rates[kind] / used[bound] if used[bound] > 1.0 else rates[kind])
            for load, kind, bound in self._drawing
        ]
        return power(
            self.gpu.clock.idle_power, shared, state.clock, self.gpu.clock.voltage_exponent
        )

    def _state(self, clock: float) -> GpuState:
        gpu = self.gpu
        load = l2 = above = posting = 0.0
        undisturbed = FULL_SPEED if clock == 1.0 else GpuState(clock, 1.0)
        for bound, flows in enumerate(self._loading):
            of_one, of_l2, limited = 0.0, 0.0, False
            for flow in flows:
                follows, most = flow.clocked, flow.through_ports
                demand = flow.rate(undisturbed) if follows and clock != 1.0 else flow.full
                if demand > most:
                    demand = most
                load += demand * flow.memory_time
                posting += demand * flow.memory_time if flow.posts else 0.0
                of_l2 += demand * flow.l2_time / clock  # the L2s run at the engine clock
                of_one += demand * (flow.memory_time + flow.l2_time / clock)
                limited = limited or flow.freely is not None or (follows and most < flow.full)
            # tiles ask L2 for operands as fast as they use them: beyond what it gives they wait
            l2 += 1.0 if of_l2 > 1.0 and all([flow.computing for flow in flows]) else of_l2
            if not limited:
                continue
            if bound not in self._freely:
                self._freely[bound] = _asked_freely(flows)
            least = clock * self._freely[bound]  # rates follow the clock at most
            if of_one > least * served_share(least, gpu.hbm.saturation_exponent):
                above += self._above(flows, of_one, clock)
        through = served_share(
            load_behind(load, self._first) + l2 + above, gpu.hbm.saturation_exponent
        )
        memory, held = through, 1.0
        if posting:
            memory = self._beside_posts(clock, load - posting, l2 + above)
        if self._storing:
            asked = [(stores, rate(undisturbed), units) for stores, rate, units in self._storing]
            held = kept(gpu, asked)
        stalled, met = self._stalled(load, memory), self._met(load, clock)
        return GpuState(clock, memory, met, held, stalled, self._computing, through)

    def _beside_posts(self, clock: float, load: float, beside: float) -> float:
        """Share that memory gives of what loads ask for beside flows that post: *load* of the
        others on it; *beside*: load on what is shared beside memory.
        """
        port = self.gpu.compute_units.port
        assert port is not None, "only kernels at a port post"
        posting = [flow for flows in self._loading for flow in flows if flow.posts]

        def posted(share: float) -> float:
            state = GpuState(clock, share, through=share)
            return sum([min(f.rate(state), f.through_ports) * f.memory_time for f in posting])

        return felt_beside_posts(
            lambda alike: load_behind(load + alike, self._first) + beside,
            posted,
            self.gpu.hbm.saturation_exponent,
            port.loads_beside_stores,
        )

    def _met(self, asked: float, clock: float) -> float:
        """Load that engines meet, of what is *asked* for on an idle memory: they ask for less the
        longer their round trips are, so that none is held up by what it does not move itself.
        """
        if not self._engines:
            return asked

        def lacking(load: float) -> float:
            state, lack = GpuState(clock, 1.0, load), 0.0
            for (rate, full, ports, time), count in self._engines.items():
                now = rate(state)
                most, had = full if full < ports else ports, now if now < ports else ports
                lack += count * time * (most - had)
            return lack

        lack = lacking(asked)  # the most that there is, as it grows with the load
        if lack <= 0.0:
            return asked
        return last_within(lambda met: met - asked + lacking(met), asked - lack, asked)

    def _above(self, flows: Sequence[Declared], asked: float, clock: float) -> float:
        """Load of *flows*, of one task, beyond what they have *asked* for (models/memory.py)."""
        times = [flow.memory_time + flow.l2_time / clock for flow in flows]

        def reached(share: float) -> float:
            state = GpuState(clock, share, through=share)
            return sum(
                min(flow.rate(state), flow.through_ports) * time
                for flow, time in zip(flows, times, strict=True)
            )

        def freely(share: float) -> float:
            state = GpuState(clock, share, through=share)
            return sum(
                (flow.freely or flow.rate)(state) * time
                for flow, time in zip(flows, times, strict=True)
            )

        return load_of(asked, freely, reached, self.gpu.hbm.saturation_exponent) - asked

    def _stalled(self, load: float, memory: float) -> float:
        """Part of the misses that wait for a line, at what memory gives of what flows ask for."""
        if self._stall is None or not load:
            return 0.0
        return self._stall(self._missing * min(memory, 1.0 / load))


def kept(gpu: Gpu, storing: Iterable[tuple[StoreLoad, float, float]]) -> float:
    """Share of its rate that a kernel keeps beside *storing* flows: (load, units/s that it offers,
    compute units). Dies without a storing workgroup go on as they were.
    """
    stores = gpu.remote_stores
    overload, held, units = 0.0, 0.0, 0.0
    for load, offered, compute_units in storing:
        asked = offered * load.port_time
        overload += asked
        units += compute_units
        held += offered / max(1.0, asked) * load.release_time * load.release_hold
    touched = min(1.0, units / gpu.dies.count)
    share = kept_share(stores.local_share if stores else None, overload)
    share *= 1.0 - min(1.0, held / (touched * gpu.dies.count)) if touched else 1.0
    return 1.0 - touched * (1.0 - share)


class FlowTags(NamedTuple):
    """Declarations of a flow to the rules of clock, memory and energy; static, no solved rate."""

    task: str
    bound: int  # a number for its task and the capacity that lets no more of it through
    traffic: Traffic
    gpu: int
    declared: Declared  # to the state of its GPU
    kind: int  # a number for all that declare the same
    reads: float  # B/s of HBM
    writes: float  # B/s of HBM
    inserts: Insertion  # B/s into the last shared cache
    touches: float  # B/s of lines that stay in it
    lines: Lines  # what it does to those of that cache
    bill: Bill
    waits: bool = False  # whether its misses wait for lines of it

    def of(self, task: str, bound: int) -> FlowTags:
        """The same of a flow of *task* (as ``_replace``, in a third of its time)."""
        return FlowTags(task, bound, *self[2:])

    def moving(self, traffic: Traffic) -> FlowTags:
        """The same of a flow that moves *traffic*."""
        return FlowTags(self.task, self.bound, traffic, *self[3:])


class Asked(NamedTuple):
    """The demand of a flow on *gpu*, whoever it is for: flows of equal pieces and layers ask for
    the same.
    """

    gpu: int
    cap: float | Rate  # units/s at most; a function of the state follows memory
    traffic: Traffic
    compute_units: float = 0.0
    share: float = 1.0  # of what its kernel has running, so that parts declare parts
    sharers: int = 1  # flows like it on its ports; memory sees only what its part of them takes
    first: bool = False  # memory serves it before what compute units ask for
    clocked: bool = True  # whether *cap* follows the clock as well


class Given(NamedTuple):
    """Demands that follow from a request; *tags* are of no task yet."""

    cap: float | Callable[[Any], float]
    weight: float
    amounts: tuple[tuple[Capacity, float], ...]
    narrowest: Capacity | None  # what lets the least of it through
    tags: FlowTags
