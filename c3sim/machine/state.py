"""State of a GPU: its clock, and how much of what compute units demand its memory gives.

Clock and memory follow from what all flows of the GPU declare, never from solved rates. Where
``clock`` or ``hbm`` is private, each group of tasks has a state of its own, as if it were alone
there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from c3sim.engine.flow import Flow
from c3sim.machine.governor import Governor
from c3sim.machine.holding import kept
from c3sim.models.arbitration import admitted_share, least_admitted
from c3sim.models.memory import load_behind, served_share
from c3sim.models.power import power
from c3sim.specs.hardware import Gpu


class GpuState(NamedTuple):
    """What every flow of a GPU feels.

    *clock*: share of the maximum. *memory*: share of what a compute unit demands that it gets, from
    memory and through an L2 that is loaded as well. *load*: demand on memory, 1 = all it can give.
    *kept*: share of its rate that a kernel keeps behind stores to peers. *admitted*: share of its
    time in which memory takes requests that it serves behind compute's.
    """

    clock: float
    memory: float
    load: float = 0.0
    kept: float = 1.0
    admitted: float = 1.0


FULL_SPEED = GpuState(1.0, 1.0, 0.0)
Rate = Callable[[GpuState], float]


@dataclass(frozen=True, slots=True)
class GpuStates:
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
    *governor* makes a governor of its clock.
    """

    def __init__(
        self,
        gpu: Gpu,
        private: frozenset[str],
        group: Callable[[str], str],
        governor: Callable[[], Governor],
    ):
        self.gpu, self.private, self.group, self.governor = gpu, private, group, governor
        self._governors: dict[str, Governor] = {}  # by group; "": of all tasks

    def __call__(self, flows: Sequence[Flow]) -> GpuStates:
        by_group: dict[str, GpuState] = {}
        if self.private & {"clock", "hbm", "store_queues"}:
            members: dict[str, list[Flow]] = {}
            for flow in flows:
                members.setdefault(self.group(flow.tags.task), []).append(flow)
            for group, own in members.items():
                disturbing = own if "hbm" in self.private else flows
                holding = own if "store_queues" in self.private else flows
                drawing = own if "clock" in self.private else flows
                name = group if "clock" in self.private else ""
                by_group[group] = self._within_limits(drawing, disturbing, holding, name)
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
            self._governors[name] = self.governor()
        state_at, power_in = self._states(disturbing, holding), self._power(drawing)
        states: dict[float, GpuState] = {}
        drawn: dict[float, float] = {}  # a governor asks for some clocks again and again

        def power_at(clock: float) -> float:
            if clock not in drawn:
                states[clock] = state = state_at(clock)
                drawn[clock] = power_in(state)
            return drawn[clock]

        return states[self._governors[name].factor(power_at)]

    def _power(self, flows: Sequence[Flow]) -> Callable[[GpuState], float]:
        """W of *flows* by state, no less than what they take once tasks share capacities. Flows of
        one task that are bound by one capacity get together what one of them could alone.
        """
        idle, exponent = self.gpu.clock.idle_power, self.gpu.clock.voltage_exponent
        bounds: dict[Hashable, int] = {}  # task and capacity -> number
        kinds: dict[tuple[Rate, float], int] = {}  # rate and that alone -> number
        drawing = []
        for flow in flows:
            tags = flow.tags
            bound = bounds.setdefault((tags.task, tags.narrowest), len(bounds))
            kind = kinds.setdefault((tags.rate, tags.alone), len(kinds))
            drawing.append((tags.load, kind, bound))

        def watts(state: GpuState) -> float:
            rates = [(rate := rate_in(state), rate / alone) for rate_in, alone in kinds]
            used = [0.0] * len(bounds)
            for _, kind, bound in drawing:
                used[bound] += rates[kind][1]
            shared = [
                (load, rates[kind][0] / used[bound] if used[bound] > 1.0 else rates[kind][0])
                for load, kind, bound in drawing
            ]
            return power(idle, shared, state.clock, exponent)

        return watts

    def _states(
        self, flows: Sequence[Flow], holding: Sequence[Flow]
    ) -> Callable[[float], GpuState]:
        """The state by clock where *flows* load memory and *holding* ones may hold others up."""
        gpu, exponent = self.gpu, self.gpu.hbm.saturation_exponent
        first, loading = 0.0, []
        for flow in flows:
            tags = flow.tags
            first += tags.memory_first
            most, times = tags.through_ports, (tags.memory_time, tags.l2_time)
            loading.append((tags.rate, tags.clocked, tags.full, most, *times, tags.behind))
        all_tags = [flow.tags for flow in holding]
        storing = [(t.stores, t.rate, t.compute_units) for t in all_tags if t.stores is not None]

        def at(clock: float) -> GpuState:
            load, l2, behind, undisturbed = 0.0, 0.0, 0.0, GpuState(clock, 1.0)
            for rate_in, clocked, full, most, memory_time, l2_time, is_behind in loading:
                demand = rate_in(undisturbed) if clocked and clock != 1.0 else full
                if demand > most:
                    demand = most
                load += demand * memory_time
                l2 += demand * l2_time / clock  # the L2s run at the engine clock
                if is_behind:
                    behind += demand * memory_time
            admitted = admitted_share(gpu, load - behind) if behind else 1.0
            forced = least_admitted(gpu) if behind else 0.0
            felt = load_behind(load - behind * (1.0 - forced), first) + l2
            memory, held = served_share(felt, exponent), 1.0
            if storing:
                held = kept(
                    gpu, [(asked, rate(undisturbed), units) for asked, rate, units in storing]
                )
            return GpuState(clock, memory, load, held, admitted)

        return at
