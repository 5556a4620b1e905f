"""The clock: the order of events, and all else as in SimPy. Times are computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import simpy
from fluid_bench import Bench, Log

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid

pytestmark = pytest.mark.usefixtures("progress")

# Order --------------------------------------------------------------------------------------------
# ----------


def test_end_and_event_take_turns() -> None:
    """A flow of 3 s, one of 1 s, and timeouts at 0.5, 2 and 4 s."""
    bench = Bench()
    bench.start("slow", 3.0, cap=1.0)
    bench.start("fast", 1.0, cap=1.0)
    for time in (2.0, 0.5, 4.0):
        bench.at(time, lambda: bench.ends.append((bench.env.now, "event")))
    assert bench.run() == [
        (0.5, "event"),
        (1.0, "fast"),
        (2.0, "event"),
        (3.0, "slow"),
        (4.0, "event"),
    ]


@pytest.mark.parametrize("event_first", [True, False])
def test_events_of_an_instant_come_before_the_ends(event_first: bool) -> None:
    """Whichever was scheduled first. The flow has nothing left to do by then."""
    bench = Bench()
    said: list[str] = []

    def look() -> None:
        said.append(f"event: {bench.fluid.progress(flow)} of 2.0 done")

    flow = Flow("a", 2.0, cap=1.0)
    if event_first:
        bench.at(2.0, look)
    bench.fluid.start(flow, lambda _flow: said.append("end"))
    if not event_first:
        bench.at(2.0, look)
    bench.run()
    assert said == ["event: 2.0 of 2.0 done", "end"]


def test_a_start_at_the_instant_of_an_end_does_not_delay_it() -> None:
    """b starts when a is due: a's end comes first, at its instant, then one solve, for b alone."""
    log = Log()
    bench = Bench([log], link=1.0)
    bench.start("a", 1.0, "link")
    bench.at(1.0, lambda: bench.start("b", 1.0, "link"))
    assert bench.run() == [(1.0, "a"), (2.0, "b")]
    assert log.solves == [(0.0, {"a": 1.0}), (1.0, {"b": 1.0}), (2.0, {})]


def test_a_flow_stopped_when_it_is_due_does_not_end() -> None:
    bench = Bench(link=2.0)
    a = bench.start("a", 1.0, "link")
    bench.start("b", 2.0, "link")
    bench.at(1.0, lambda: bench.fluid.stop(a))
    assert bench.run() == [(1.5, "b")]


def test_what_an_end_causes_at_its_instant_comes_before_the_solve() -> None:
    """a's end stops c, starts b, and has an event start d: b and d are solved together, and c has
    gone.
    """
    log = Log()
    bench = Bench([log], link=2.0)
    c = bench.start("c", 9.0, "link")

    def next_two(_flow: Flow) -> None:
        bench.fluid.stop(c)
        bench.start("b", 1.0, "link")
        bench.at(0.0, lambda: bench.start("d", 1.0, "link"))

    bench.fluid.start(Flow("a", 1.0, amounts=[("link", 1.0)]), next_two)
    assert bench.run() == [(2.0, "b"), (2.0, "d")]
    assert [(time, rates) for time, rates in log.solves] == [
        (0.0, {"c": 1.0, "a": 1.0}),
        (1.0, {"b": 1.0, "d": 1.0}),
        (2.0, {}),
    ]


def test_flows_without_work_end_one_after_another_at_one_instant() -> None:
    """Each starts the next: all at 1 s, and time goes on only then."""
    bench = Bench()

    def chain(left: int) -> None:
        if left:
            bench.fluid.start(Flow(str(left), 0.0, cap=1.0), lambda _flow: chain(left - 1))
        else:
            bench.ends.append((bench.env.now, "last"))

    bench.at(1.0, lambda: chain(20))
    bench.at(1.5, lambda: bench.ends.append((bench.env.now, "event")))
    assert bench.run() == [(1.0, "last"), (1.5, "event")]


def test_a_process_waits_for_a_flow_and_a_timeout() -> None:
    """Rates are solved after the process has gone on, whatever wakes it."""
    bench = Bench(link=1.0)
    seen: list[tuple[float, str]] = []

    def worker() -> Any:
        for turn in range(2):
            ended = bench.env.event()
            bench.fluid.start(Flow(str(turn), 1.0, amounts=[("link", 1.0)]), ended.succeed)
            flow = yield ended
            seen.append((bench.env.now, flow.name))
            yield bench.env.timeout(0.5)

    assert bench.env.run(until=bench.env.process(worker())) is None
    assert seen == [(1.0, "0"), (2.5, "1")]
    assert bench.env.now == 3.0


def test_what_a_solve_schedules_comes_in_its_turn() -> None:
    """A clock that is 1 at first and asks to come back in 2 s, when it is 1/2 for good: of a's 3, 1
    is left then, 2 s.
    """
    bench = Bench()
    again = [2.0]

    def state(_flows: list[Flow]) -> float:
        if again and list(bench.fluid.flows):
            bench.fluid.refresh("clock", again.pop())
            return 1.0
        return 1.0 if again else 0.5

    bench.fluid.domain("clock", state)
    bench.start("a", 3.0, domain="clock", cap=float)
    assert bench.run() == [(4.0, "a")]


# As in SimPy
# ------------------------------------------------------------------------------------------------


def test_run_until_a_time_stops_before_its_ends_and_goes_on() -> None:
    bench = Bench(link=2.0)
    a = bench.start("a", 2.0, "link")
    bench.env.run(until=0.5)
    assert (bench.env.now, bench.fluid.progress(a)) == (0.5, 1.0)
    bench.env.run(until=1.0)
    assert bench.ends == []
    assert bench.env.peek() == 1.0  # it is due now
    bench.start("b", 1.0, "link")
    assert bench.run() == [(1.0, "a"), (1.5, "b")]


def test_run_until_an_event() -> None:
    """That an end triggers; what follows at that instant stays for the next run."""
    bench = Bench()
    ended = bench.env.event()
    bench.fluid.start(Flow("a", 2.0, cap=1.0), lambda flow: ended.succeed(flow.name))
    bench.start("b", 5.0, cap=1.0)
    assert bench.env.run(until=ended) == "a"
    assert bench.env.now == 2.0
    assert bench.run() == [(5.0, "b")]


def test_run_until_an_event_that_never_comes() -> None:
    bench = Bench()
    bench.start("a", 2.0, cap=1.0)
    with pytest.raises(RuntimeError, match="was not triggered"):
        bench.env.run(until=bench.env.event())
    assert bench.ends == [(2.0, "a")]


def test_nothing_left() -> None:
    bench = Bench()
    bench.start("a", 2.0, cap=1.0)
    bench.env.step()
    assert bench.ends == [(2.0, "a")]
    bench.env.step()  # rates are solved for whoever is left
    with pytest.raises(simpy.core.EmptySchedule):
        bench.env.step()


def test_errors_in_processes_and_ends_come_out() -> None:
    bench = Bench()

    def broken() -> Any:
        yield bench.env.timeout(1.0)
        raise LookupError("in a process")

    def breaks(_flow: Flow) -> None:
        raise LookupError("in an end")

    bench.env.process(broken())
    bench.fluid.start(Flow("a", 2.0, cap=1.0), breaks)
    with pytest.raises(LookupError, match="in a process"):
        bench.env.run()
    with pytest.raises(LookupError, match="in an end"):
        bench.env.run()
    assert bench.env.now == 2.0


def test_peek() -> None:
    """Now, where rates are to be solved; then the earlier of event and end."""
    bench = Bench()
    assert bench.env.peek() == math.inf
    bench.at(3.0, lambda: None)
    assert bench.env.peek() == 3.0
    bench.start("a", 2.0, cap=1.0)
    assert bench.env.peek() == 0.0
    bench.at(1.0, lambda: None)
    bench.env.step()
    assert (bench.env.now, bench.env.peek()) == (1.0, 2.0)


def test_without_flows_it_is_simpys_clock() -> None:
    clock = Clock()
    seen = []
    clock.timeout(2.0).callbacks.append(lambda _event: seen.append(clock.now))
    clock.run()
    assert seen == [2.0]
    assert clock.peek() == math.inf


def test_one_fluid_layer_to_a_clock() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match="has flows already"):
        Fluid(bench.env)


def test_no_event_is_spent_on_a_prediction_that_moved() -> None:
    """Ten flows, each of which slows those before it: 10 timeouts, 10 ends, and a last solve with
    nobody left.
    """
    bench = Bench(link=1.0)
    for number in range(10):
        bench.at(number / 100, lambda number=number: bench.start(str(number), 1.0 + number, "link"))
    steps = 0
    while bench.env.peek() < math.inf:
        bench.env.step()
        steps += 1
    assert len(bench.ends) == 10
    assert steps == 21
