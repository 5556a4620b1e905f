"""The state of a GPU: worked out once for flows that declare the same."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from c3sim.engine.clock import Clock
from c3sim.engine.fluid import Fluid
from c3sim.machine.machine import Machine
from c3sim.machine.state import Asked, GpuState
from c3sim.machine.traffic import Traffic
from c3sim.spec.reading.loading import load_node

NODE = load_node("mi300x-8")


@dataclass(frozen=True)
class Rate:
    """A rate that is a value and notes for which states it was asked."""

    most: float
    asked: list[GpuState] = field(default_factory=list, compare=False)

    def __call__(self, state: GpuState) -> float:
        self.asked.append(state)
        return self.most * state.clock * state.memory


def run_one(machine: Machine, task: str, most: float) -> tuple[int, float]:
    """A flow alone, until it has ended: for how many states its rate was asked by the governor, and
    the clock.
    """
    rate, fluid, ended = Rate(most), machine.fluid, []
    traffic = Traffic(core_energy=1e-9, hbm_read=1.0)
    machine.flow(task, Asked(0, rate, traffic, compute_units=304.0), 1.0, ended.append)
    clock = 1.0
    while not ended:
        fluid.env.step()
        clock = min(clock, *(state.clock for state in fluid.states.values()))
    undisturbed = [state for state in rate.asked if (state.memory, state.load) == (1.0, 0.0)]
    return len(undisturbed), clock


def test_flows_that_declare_the_same_share_the_search_for_the_clock() -> None:
    """The second, of another task, is never asked for full speed or a trial clock; one that
    declares another rate is asked at all of its own.
    """
    machine = Machine(NODE, Fluid(Clock()), folded=True)
    first, clock = run_one(machine, "a", 2e12)
    assert first > 3 and clock < 1.0  # held by the power limit
    assert run_one(machine, "b", 2e12) == (0, pytest.approx(clock, rel=0))
    assert run_one(machine, "c", 2.1e12)[0] > 3
