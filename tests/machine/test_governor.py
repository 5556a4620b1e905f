"""The power limit holds an average: when it begins to act, by hand, and its effect in a run."""

from __future__ import annotations

import math

import pytest
from made_workload import workload_of

import c3sim
from c3sim.machine.governor import Governor
from c3sim.machine.settling import Loads, Settled, Sums, Turn
from c3sim.spec.parts import Clock
from c3sim.spec.reading.loading import load_node

CLOCK = Clock.model_validate(
    {
        "maximum": 2e9,
        "minimum": 2e8,
        "power_limit": 300.0,
        "idle_power": 100.0,
        "voltage_exponent": 1.0,
        "power_window": 0.02,
    }
)


def half(clock: float) -> float:
    """900 W at full clock; 800 f f = 200 at f = 0.5."""
    return 100.0 + 800.0 * clock**2


def idle(_clock: float) -> float:
    return 100.0


REST = 0.02 * math.log(
    800 / 600
)  # the average goes from 100 towards 900 W and meets 300 when 3/4 of the way are left


class Time:
    """A clock that the test sets, and the calls that were asked for."""

    def __init__(self) -> None:
        self.now, self.asked = 0.0, []

    def governor(self, clock: Clock = CLOCK) -> Governor:
        return Governor(clock, lambda: self.now, self.asked.append)


def test_from_rest_the_clock_stays_up_until_the_average_has_come_to_the_limit():
    time = Time()
    governor = time.governor()
    assert governor.factor(half) == 1.0 and time.asked == [pytest.approx(REST)]
    time.now = 0.9 * REST
    assert governor.factor(half) == 1.0
    time.now = REST
    assert governor.factor(half) == pytest.approx(0.5)


def test_a_pause_lets_the_average_fall():
    """One window of idleness takes it from 300 to 100 + 200 / e W."""
    time = Time()
    governor = time.governor()
    governor.factor(half)
    time.now = REST
    governor.factor(idle)
    time.now = REST + 0.02
    assert governor.factor(half) == 1.0
    assert governor.average == pytest.approx(100 + 200 / math.e)


def test_without_a_window_the_limit_acts_at_once():
    time = Time()
    governor = time.governor(CLOCK.changed(power_window=0.0))
    assert governor.factor(half) == pytest.approx(0.5) and time.asked == []


def test_loads_below_the_limit_never_lower_the_clock():
    time = Time()
    governor = time.governor()
    assert governor.factor(lambda _clock: 300.0) == 1.0 and time.asked == []


def gemms(count: int, window: str) -> float:
    """Time [s] of *count* large GEMMs back to back on H200."""
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "repeat": count}
    workload = workload_of({"gemm": gemm}, node="h200-2")
    return c3sim.run(workload, set={"gpu.clock.power_window": window}).wall_s


def test_a_short_run_on_h200_keeps_its_clock_and_a_long_one_does_not():
    clock = load_node("h200-2").gpu.clock
    assert clock.power_window > 0
    assert gemms(1, "20 ms") < 0.9 * gemms(1, "0 s")
    early, late = gemms(2, "2 ms"), gemms(6, "2 ms")
    assert (late - early) / 4 == pytest.approx(
        gemms(6, "0 s") / 6, rel=0.01
    )  # the limit has come to act


def test_a_peak_acts_at_once():
    """Idle 100 W and 800 f f W under a peak of 612 W: f f = 0.64."""
    time = Time()
    governor = time.governor(CLOCK.changed(peak_power=612.0))
    assert governor.factor(half) == pytest.approx(0.8)


def test_an_average_of_before_shortens_the_way_to_the_limit():
    """From 250 W: (900 - 250) / (900 - 300) are left to go, not 800 / 600."""
    time = Time()
    governor = Governor(CLOCK, lambda: time.now, time.asked.append, Settled(250.0))
    governor.factor(half)
    assert time.asked == [pytest.approx(0.02 * math.log(650 / 600))]


class Work:
    """A load of 100 W + 800 W f f, whose pace follows the clock; or one of 100 W, at any pace."""

    def __init__(self, watts: float) -> None:
        self.watts = watts

    def power(self, clock: float) -> float:
        return 100.0 + self.watts * clock**2

    def within(self, limit: float, minimum: float) -> float:
        return (
            max(minimum, min(1.0, math.sqrt((limit - 100.0) / self.watts))) if self.watts else 1.0
        )

    def pace(self, clock: float) -> float:
        return clock if self.watts else 1.0


def turn_of(*seconds: float) -> Turn:
    """A turn in which a load of 900 W and one of 100 W last so long."""
    time, loads = Time(), Loads()
    governor = Governor(CLOCK, lambda: time.now, time.asked.append, loads=loads)
    for load, lasts in zip((Work(800.0), Work(0.0)), seconds, strict=True):
        governor.factor(load.power, load.within, load)
        time.now += lasts
    loads.until(time.now)
    energy = 900.0 * seconds[0] + 100.0 * seconds[1]
    return Turn(Sums(energy, sum(seconds)), loads.held(CLOCK))


def test_a_turn_settles_at_the_clock_at_which_its_mean_power_is_the_limit():
    """Half of the time 900 W, half 100 W: 500 W in the mean. At f the first half lasts 1/f as long:
    ((100 + 800 f f) / f + 100) / (1 / f + 1) = 300, so 800 f f - 200 f - 200 = 0, f = 0.64039.
    After 500 turns of 2 ms the average is that of a loop. Between its factors a turn is a parabola.
    """
    turn = turn_of(0.001, 0.001)
    assert turn.held[1.0] == pytest.approx((1.0, 0.002))
    settled = turn.settled(CLOCK, 1000)
    assert settled.average == CLOCK.power_limit
    assert settled.clock == pytest.approx(
        (200 + math.sqrt(200**2 + 4 * 800 * 200)) / 1600, rel=1e-4
    )


def test_a_turn_of_many_layers_is_on_the_line_through_two():
    """A head of 1 ms at 900 W; each layer adds 1 ms at 900 W and 2 ms at 100 W. Two and three
    layers settle at clocks of their own, 100 of them as all of them would.
    """
    two, three, hundred = (turn_of(0.001 * (1 + n), 0.002 * n) for n in (2, 3, 100))
    extended = two.at(three, 2, 3, 100)
    assert extended.taken == pytest.approx(hundred.taken)
    clocks = [turn.settled(CLOCK, 1000).clock for turn in (two, three, extended, hundred)]
    assert clocks[0] < clocks[1] < clocks[2] - 0.01
    assert clocks[2] == pytest.approx(clocks[3], rel=1e-12)


def test_where_no_load_passes_the_limit_no_clock_is_held():
    time, loads = Time(), Loads()
    governor = Governor(CLOCK, lambda: time.now, time.asked.append, loads=loads)
    governor.factor(Work(100.0).power, Work(100.0).within, Work(100.0))
    loads.until(time.now + 0.001)
    assert loads.held(CLOCK) == {}


def test_a_settled_clock_is_held_for_every_load_but_where_a_peak_binds():
    """Whatever is drawn, the factor stays; 500 W at most is 0.7071 of the clock of 900 W."""
    time, held = Time(), Settled(300.0, 0.8)
    governor = Governor(CLOCK, lambda: time.now, time.asked.append, held)
    assert governor.factor(half) == 0.8 and governor.factor(idle) == 0.8
    peak = CLOCK.changed(peak_power=500.0)
    governor = Governor(peak, lambda: time.now, time.asked.append, held)
    assert governor.factor(half) == pytest.approx(math.sqrt(0.5))
    assert governor.factor(idle) == 0.8
