"""State of a GPU: its clock, and how much of what compute units demand its memory gives.

Clock and memory follow from what all flows of the GPU declare, never from solved rates. Where
``clock`` or ``hbm`` is private, each group of tasks has a state of its own, as if it were alone
there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    time in which memory takes requests that it serves behind compute's. *stalled*: part of the
    misses that wait for a line of the last shared cache.
    """

    clock: float
    memory: float
    load: float = 0.0
    kept: float = 1.0
    admitted: float = 1.0
    stalled: float = 0.0


FULL_SPEED = GpuState(1.0, 1.0, 0.0)


def waits_for_lines(cap: Callable[[GpuState], float]) -> Callable[[GpuState], float]:
    """*cap*, of a kernel whose misses wait where every line of their set is pending."""
    return lambda state: cap(
        state._replace(memory=state.memory * (1.0 - state.stalled)) if state.stalled else state
    )


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
    *governor* makes a governor of its clock; *stall* gives the part of misses that wait for a line
    from the B/s of memory that flows ask for, as far as it gives them; None: none wait.
    """

    def __init__(
        self,
        gpu: Gpu,
        private: frozenset[str],
        group: Callable[[str], str],
        governor: Callable[[], Governor],
        stall: Callable[[float], float] | None = None,
    ):
        self.gpu, self.private, self.group, self.governor = gpu, private, group, governor
        self._stall = stall
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
                others = disturbing, holding
                by_group[group] = self._state(*others, self._clock(drawing, *others, name))
        return GpuStates(self._state(flows, flows, self._clock(flows, flows, flows)), by_group)

    def _clock(
        self,
        drawing: Sequence[Flow],
        disturbing: Sequence[Flow],
        holding: Sequence[Flow],
        name: str = "",
    ) -> float:
        """The clock at which *drawing* flows stay within the limits of the governor *name*."""
        if name not in self._governors:
            self._governors[name] = self.governor()
        drawn: dict[float, float] = {}  # a governor asks for some clocks again and again

        def power_at(clock: float) -> float:
            watts = drawn.get(clock)
            if watts is None:
                state = self._state(disturbing, holding, clock)
                watts = drawn[clock] = self._power(drawing, state)
            return watts

        return self._governors[name].factor(power_at)

    def _power(self, flows: Sequence[Flow], state: GpuState) -> float:
        """W of *flows* in *state*, no less than what they take once tasks share capacities. Flows
        of one task that are bound by one capacity get together what one of them could alone.
        """
        clock = self.gpu.clock
        used: dict[object, float] = {}
        rates = []
        for flow in flows:
            tags = flow.tags
            rate, key = tags.rate(state), (tags.task, tags.narrowest)
            used[key] = used.get(key, 0.0) + rate / tags.alone
            rates.append((tags.load, rate, key))
        total, exponent = clock.idle_power, clock.voltage_exponent
        for load, rate, key in rates:
            total += power(load, rate / max(1.0, used[key]), state.clock, exponent)
        return total

    def _state(self, flows: Sequence[Flow], holding: Sequence[Flow], clock: float) -> GpuState:
        """*flows* load memory, *holding* ones may hold others up."""
        load, first, l2, behind = 0.0, 0.0, 0.0, 0.0
        undisturbed = None if clock == 1.0 else GpuState(clock, 1.0)
        for flow in flows:
            tags = flow.tags
            wanted = tags.full if undisturbed is None else tags.rate(undisturbed)
            demand = min(wanted, tags.through_ports)
            load += demand * tags.memory_time
            behind += demand * tags.memory_time * tags.behind
            first += tags.memory_first
            l2 += demand * tags.l2_time / clock  # the L2s run at the engine clock
        admitted = admitted_share(self.gpu, load - behind) if behind else 1.0
        forced = least_admitted(self.gpu) if behind else 0.0
        felt = load_behind(load - behind * (1.0 - forced), first) + l2
        memory = served_share(felt, self.gpu.hbm.saturation_exponent)
        held = self._kept(holding, GpuState(clock, 1.0))
        return GpuState(clock, memory, load, held, admitted, self._stalled(flows, load, memory))

    def _stalled(self, flows: Sequence[Flow], load: float, memory: float) -> float:
        """Part of the misses that wait for a line, at what memory gives of what *flows* ask for."""
        if self._stall is None or not load:
            return 0.0
        asked = sum(
            min(flow.tags.full, flow.tags.through_ports)
            * (flow.tags.traffic.hbm_read + flow.tags.traffic.hbm_write)
            for flow in flows
        )
        return self._stall(asked * min(memory, 1.0 / load))

    def _kept(self, holding: Sequence[Flow], state: GpuState) -> float:
        storing = [flow.tags for flow in holding if flow.tags.stores is not None]
        if not storing:
            return 1.0
        return kept(self.gpu, [(t.stores, t.rate(state), t.compute_units) for t in storing])
