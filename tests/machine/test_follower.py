"""A governor that is slow: its clock by hand, and a GEMM behind a collective in a loop."""

from __future__ import annotations

import math

import pytest
from made_workload import workload_of

from c3sim.machine.follower import GRAIN, STEP, Follower, Memory, behind, followed
from c3sim.models.capacity import SHARING
from c3sim.simulation import simulate as turns
from c3sim.simulation.simulate import simulate
from c3sim.spec.parts import Clock, Response
from c3sim.spec.reading.hardware import load_node
from c3sim.spec.workload import Workload

MS = 1e-3
RESPONSE = Response.model_validate(
    {"delay": 1 * MS, "lag": 1e-9, "rise": 10 * MS, "cut": 1 * MS, "peak": 1.2}
)
CLOCK = Clock.model_validate(
    {
        "maximum": 2e9,
        "minimum": 2e8,
        "power_limit": 300.0,
        "idle_power": 100.0,
        "voltage_exponent": 1.0,
    }
)


def busy(clock: float) -> float:
    """300 W at half the clock."""
    return 100.0 + 800.0 * clock**2


class Time:
    """A clock that the test sets, and the calls that were asked for."""

    def __init__(self) -> None:
        self.now, self.asked = 0.0, []

    def follower(self, memory: Memory | None = None) -> Follower:
        return Follower(CLOCK, RESPONSE, lambda: self.now, self.asked.append, memory)


def test_at_the_limit_it_rests():
    time = Time()
    assert time.follower().factor(busy) == 0.5 and time.asked == []


def test_less_power_is_seen_late_and_raises_the_clock_slowly():
    """200 W from 0 ms on lack a third of the limit, seen from 1 ms on: 1/30 of the clock a ms."""
    time = Time()
    follower = time.follower()
    follower.factor(busy)
    follower.factor(lambda _: 200.0)
    assert 1 * MS < time.asked[-1] < 1.3 * MS  # three quarters of a grain take 0.09 ms, in steps
    time.now = 4 * MS
    assert follower.factor(lambda _: 200.0) == pytest.approx(0.5 + 3 / 30, abs=GRAIN)


def test_behind_a_pause_the_peak_holds_and_the_cut_is_quicker_than_the_rise():
    """360 W are a fifth too much, seen from 1 ms on: 0.2 of the clock a ms, 6 times the rise above.
    At the peak the clock is (260 / 800)^0.5.
    """
    time = Time()
    follower = time.follower(Memory(1.0, 100.0, ((100.0, 1 * MS),)))
    assert follower.factor(busy) == pytest.approx(math.sqrt(260 / 800))
    time.now = 4 * MS
    follower.factor(busy)
    assert follower.memory.factor == pytest.approx(1.0 - 0.2 * 3, abs=1e-5)


def test_full_clock_below_the_limit_asks_for_nothing_and_stays():
    """Powers of 200 to 290 W are below the limit of 300 W, and so are all means of them."""
    time = Time()
    follower = time.follower(Memory(1.0, 290.0, ((200.0, 0.4 * MS), (290.0, 0.6 * MS))))
    assert follower.factor(lambda _: 250.0) == 1.0 and time.asked == []
    assert follower.memory is not None
    assert followed(follower.memory, 250.0, 20 * MS, CLOCK, RESPONSE).factor == 1.0


def test_the_next_change_is_when_steps_one_by_one_reach_it():
    time, memory = Time(), Memory(0.5, 300.0, ((300.0, 0.3 * MS), (360.0, 0.7 * MS)))
    follower = time.follower(memory)
    follower.factor(lambda _: 280.0)
    step = 0
    while abs(memory.factor - 0.5) < 0.75 * GRAIN:
        memory, step = followed(memory, 280.0, STEP, CLOCK, RESPONSE), step + 1
    assert time.asked == [step * STEP] and step > 1


def serial(**tasks: dict[str, object]) -> Workload:
    host = {"loop": {"iterations": 100}}
    return workload_of(tasks, host=host)


def test_a_long_gemm_behind_a_collective_loses_what_a_pause_gave_and_more():
    """1.086 on MI300X, against operands that are cold as well (suite gemm_after_all_reduce)."""
    gemm = {"kind": "gemm", "m": 12288, "n": 12288, "k": 12288, "dtype": "bf16", "stream": "one"}
    gemm |= {"library": "hipblaslt", "inputs": "rotating"}
    reduce = {"kind": "collective", "op": "all_reduce", "size": 288 << 20, "stream": "one"}
    node = load_node("mi300x-8")
    alone = simulate(node, serial(gemm=gemm)).task("gemm")
    behind = simulate(node, serial(reduce=reduce, gemm=gemm)).task("gemm")
    assert 1.05 < (behind.end - behind.start) / (alone.end - alone.start) < 1.13


def turn_at_200_w(time: Time, memory: Memory | None) -> Follower:
    """A turn of 80 ms that asks every 8 ms; the lag is nothing, so what was seen is forgotten."""
    follower = time.follower(memory)
    for step in range(11):
        time.now = 8 * MS * step
        follower.factor(lambda _: 200.0)
    return follower


def test_a_turn_goes_alike_behind_a_memory_that_passes_the_same_clock():
    """Behind 250 W the clock stays full and the 250 W are forgotten after 1 ms; behind half the
    clock it rises by a third in 10 ms, so it is not yet what it was 8 ms after the begin.
    """
    turn = turn_at_200_w(Time(), None).turn
    assert turn[-1].memory.factor == 1.0
    full, half = (Memory(clock, 250.0, ((250.0, 1 * MS),)) for clock in (1.0, 0.5))
    assert behind(turn, full, CLOCK, RESPONSE) == turn[-1].memory
    assert behind(turn, half, CLOCK, RESPONSE) is None


def test_the_memory_behind_a_turn_once_more_is_that_of_a_turn_that_is_run():
    """Of 0.4 ms at 290 W, in which a memory of 200 W is still on its way (delay 1 ms)."""

    def turn(memory: Memory) -> Follower:
        time = Time()
        follower = time.follower(memory)
        for now in (0.0, 0.4 * MS):
            time.now = now
            follower.factor(lambda _: 290.0)
        return follower

    first = turn(Memory(1.0, 200.0, ((200.0, 1 * MS),)))
    assert first.memory is not None
    second = turn(first.memory)
    assert second.memory != first.memory
    assert behind(first.turn, first.memory, CLOCK, RESPONSE) == second.memory


COLLECTIVE = {"kind": "collective", "op": "all_reduce", "size": 4 << 30, "stream": "one"}
GEMM = {"kind": "gemm", "m": 16384, "n": 16384, "k": 16384, "dtype": "bf16", "stream": "one"}


@pytest.fixture
def simulated(monkeypatch):
    """Ends of all turns that are simulated since."""
    ends, once = [], turns._simulated

    def counting(*given):
        made = once(*given)
        ends.append(made[0].end)
        return made

    monkeypatch.setattr(turns, "_simulated", counting)
    return ends


def test_behind_clocks_of_a_turn_like_it_one_turn_is_enough(simulated):
    """It is the turn that going round ends with; behind others it is gone round as ever."""
    node, work = load_node("mi300x-8"), serial(gemm=GEMM, reduce=COLLECTIVE)
    settled = simulate(node, work)
    assert len(simulated) > 1 and settled.clocks
    simulated.clear()
    assert simulate(node, work, clocks=settled.clocks).times == settled.times
    assert len(simulated) == 1
    low = {key: Memory(0.3, 200.0, ((200.0, 1 * MS),)) for key in settled.clocks}
    assert simulate(node, work, clocks=low).times == settled.times


def test_clocks_of_single_tasks_take_one_turn(simulated):
    """Each is that of a GPU which has long done what its task begins with."""
    node, work = load_node("mi300x-8"), serial(gemm=GEMM, reduce=COLLECTIVE)
    simulate(node, work, private=frozenset(SHARING))
    assert len(simulated) == 1
