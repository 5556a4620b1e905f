"""The fluid layer: when it solves, what it solves, and when flows end. Times are reckoned by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from c3sim.engine.fluid import Flow, Fluid


class Bench:
    """A clock, a fluid layer with the given capacities, and a list of (time, name) of every end."""

    def __init__(self, observers: Iterable[Any] = (), **capacities: float):
        self.env = simpy.Environment()
        self.fluid = Fluid(self.env, observers)
        for name, value in capacities.items():
            self.fluid.capacity(name, value)
        self.ends: list[tuple[float, str]] = []

    def start(self, name: str, work: float, *capacities: str, **more: Any) -> Flow:
        flow = Flow(name, work, amounts=[(capacity, 1.0) for capacity in capacities], **more)
        return self.fluid.start(flow, lambda flow: self.ends.append((self.env.now, flow.name)))

    def at(self, time: float, call: Any) -> None:
        self.env.timeout(time).callbacks.append(lambda _event: call())

    def run(self) -> list[tuple[float, str]]:
        self.env.run()
        return self.ends


class Log:
    """An observer that writes down names and rates of every solve."""

    def __init__(self) -> None:
        self.solves: list[tuple[float, dict[str, float]]] = []
        self.ended_at: dict[str, float] = {}

    def rates(self, time: float, flows: Iterable[Flow], states: dict[str, Any]) -> None:
        self.solves.append((time, {flow.name: flow.rate for flow in flows}))

    def ended(self, time: float, flow: Flow) -> None:
        self.ended_at[flow.name] = time


# Progress ---------------------------------------------------------------------------------------------------------------


def test_work_over_rate() -> None:
    bench = Bench(link=4.0)
    bench.start("a", 8.0, "link")
    assert bench.run() == [(2.0, "a")]


def test_what_one_leaves_the_other_gets() -> None:
    # Both run at 2 until a has done its 4 at t = 2; b then has 12 - 4 = 8 left, at 4: t = 4.
    bench = Bench(link=4.0)
    bench.start("a", 4.0, "link")
    bench.start("b", 12.0, "link")
    assert bench.run() == [(2.0, "a"), (4.0, "b")]


def test_newcomer_slows_who_is_there() -> None:
    # a does 4 in the first second, then 2 per second: 4 left take 2 s, t = 3. b has done 4 of 6 by then; 0.5 s more.
    bench = Bench(link=4.0)
    bench.start("a", 8.0, "link")
    bench.at(1.0, lambda: bench.start("b", 6.0, "link"))
    assert bench.run() == [(3.0, "a"), (3.5, "b")]


def test_end_may_start_the_next_at_the_same_instant() -> None:
    bench = Bench(link=4.0)
    flow = Flow("a", 4.0, amounts=[("link", 1.0)])
    bench.fluid.start(flow, lambda _flow: bench.start("b", 8.0, "link"))
    assert bench.run() == [(3.0, "b")]


def test_no_work_ends_at_once() -> None:
    bench = Bench(link=4.0)
    bench.at(1.0, lambda: bench.start("a", 0.0, "link"))
    assert bench.run() == [(1.0, "a")]


# When it solves -----------------------------------------------------------------------------------------------------------


def test_once_per_instant_however_much_happens() -> None:
    """Fifty starts at one instant, in fifty events, are one solve; their common end is another, of nothing."""
    log = Log()
    bench = Bench([log], link=50.0)
    for i in range(50):
        bench.at(1.0, lambda i=i: bench.start(str(i), 1.0, "link"))
    bench.run()
    assert bench.fluid.solves == 1
    assert [time for time, _ in log.solves] == [1.0, 2.0]
    assert set(log.solves[0][1].values()) == {1.0}  # all fifty were seen, none of them in a state before the last start


def test_only_the_touched_component() -> None:
    """a and b share the left link, c and d the right one: c's end concerns d alone, and its rate only."""
    log = Log()
    bench = Bench([log], left=2.0, right=2.0)
    bench.start("a", 9.0, "left")
    bench.start("b", 9.0, "left")
    bench.start("c", 1.0, "right")
    bench.start("d", 4.0, "right")
    assert bench.run() == [(1.0, "c"), (2.5, "d"), (9.0, "a"), (9.0, "b")]
    # d: 1 s at 1, then 3 left at 2. When c ends, d alone is solved; d's end leaves nobody to solve for.
    assert [(time, sorted(rates)) for time, rates in log.solves] == [
        (0.0, ["a", "b", "c", "d"]), (1.0, ["d"]), (2.5, []), (9.0, []),
    ]  # fmt: skip


def test_component_reaches_through_shared_flows_and_domains() -> None:
    """a - b share a link, b - c another, c - d a domain: d's start may change all of them."""
    log = Log()
    bench = Bench([log], first=2.0, second=3.0, apart=1.0)
    bench.fluid.domain("clock", len)
    bench.start("a", 99.0, "first")
    bench.start("b", 99.0, "first", "second")
    bench.start("c", 99.0, "second", domain="clock")
    bench.start("e", 99.0, "apart")
    bench.at(1.0, lambda: bench.start("d", 1.0, domain="clock", cap=5.0))
    bench.env.run(until=1.1)
    assert sorted(log.solves[1][1]) == ["a", "b", "c", "d"]


# Cancelling -----------------------------------------------------------------------------------------------------------------


def test_stop_returns_what_remains_and_frees_what_it_used() -> None:
    # Both at 2. At t = 1, a has 8 - 2 = 6 left and goes; b's 4 left run at 4: t = 2.
    bench = Bench(link=4.0)
    a = bench.start("a", 8.0, "link")
    bench.start("b", 6.0, "link")
    remained = []
    bench.at(1.0, lambda: remained.append(bench.fluid.stop(a)))
    assert bench.run() == [(2.0, "b")]
    assert remained == [6.0]


def test_stop_in_the_instant_of_the_start() -> None:
    bench = Bench(link=4.0)
    bench.fluid.stop(bench.start("a", 8.0, "link"))
    assert bench.run() == []
    assert list(bench.fluid.flows) == []


def test_progress_between_events() -> None:
    bench = Bench(link=4.0)
    a = bench.start("a", 8.0, "link")
    seen = []
    bench.at(0.5, lambda: seen.append(bench.fluid.progress(a)))
    assert bench.run() == [(2.0, "a")]
    assert seen == [2.0]  # and asking changed nothing


def test_shorten() -> None:
    """Ten rounds at one per second; after 2.5 s somebody waits, and only the round in progress is to be finished."""
    bench = Bench()
    a = bench.start("a", 10.0, cap=1.0)
    bench.at(2.5, lambda: bench.fluid.shorten(a, 3.0))
    assert bench.run() == [(3.0, "a")]
    assert a.work == 3.0


def test_shorten_to_what_is_done_ends_at_once() -> None:
    bench = Bench()
    a = bench.start("a", 10.0, cap=1.0)
    bench.at(2.0, lambda: bench.fluid.shorten(a, bench.fluid.progress(a)))
    assert bench.run() == [(2.0, "a")]


def test_lengthen_puts_the_end_off() -> None:
    bench = Bench()
    a = bench.start("a", 2.0, cap=1.0)
    bench.at(1.0, lambda: bench.fluid.shorten(a, 5.0))
    assert bench.run() == [(5.0, "a")]


# Exactness ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_equal_flows_end_at_one_instant_on_any_scale(scale: float) -> None:
    """Thirds have no exact binary form; three flows that should end together do, at one solve, whatever the scale
    of work and so of time. An absolute epsilon would fail at one end of the range or the other."""
    log = Log()
    bench = Bench([log], link=1.0)
    for name in "abc":
        bench.start(name, scale / 3, "link")
    ends = bench.run()
    assert len({time for time, _ in ends}) == 1
    assert ends[0][0] == pytest.approx(scale, rel=1e-12)
    assert len(log.solves) == 2


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_unequal_flows_do_not_end_together_on_any_scale(scale: float) -> None:
    """One part in a million is a difference, also between times of a picosecond."""
    bench = Bench()
    bench.start("a", scale, cap=1.0)
    bench.start("b", scale * (1 + 1e-6), cap=1.0)
    (first, _), (second, _) = bench.run()
    assert second / first - 1 == pytest.approx(1e-6, rel=1e-3)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 10)), min_size=1, max_size=8))
def test_every_flow_ends_and_the_link_was_never_idle_in_vain(flows: list[tuple[float, float]]) -> None:
    """Work conservation on one link of 1: all work is done, and the last end is the end of the last busy period."""
    bench = Bench(link=1.0)
    for i, (start, work) in enumerate(flows):
        bench.at(start, lambda i=i, work=work: bench.start(str(i), work, "link"))
    ends = bench.run()
    assert sorted(name for _, name in ends) == sorted(str(i) for i in range(len(flows)))
    busy_until = 0.0
    for start, work in sorted(flows):
        busy_until = max(busy_until, start) + work
    assert ends[-1][0] == pytest.approx(busy_until, rel=1e-9)


def test_a_tiny_end_late_in_a_long_run_still_ends() -> None:
    """At t = 1e6 s, 1e-12 s is less than the clock can resolve: the flow whose end woke the clock is complete by
    definition, else the same instant would be scheduled forever."""
    bench = Bench()
    bench.at(1e6, lambda: bench.start("a", 1e-12, cap=1.0))
    bench.at(1e6, lambda: bench.start("b", 1.0, cap=1.0))
    assert bench.run() == [(1e6, "a"), (1e6 + 1.0, "b")]


# Zero rates, domains, capacity rules --------------------------------------------------------------------------------------


def test_zero_rate_waits_without_an_event() -> None:
    """With nobody to start it again, a flow at rate 0 has no end, and the clock has nothing to do."""
    bench = Bench()
    bench.start("a", 1.0, cap=0.0)
    assert bench.run() == []
    assert bench.env.peek() == math.inf


def test_zero_rate_resumes_when_its_state_changes() -> None:
    """Cap = other members of the domain: a stands still until b comes at t = 1, for 2 s. a does 2, and stands again."""
    bench = Bench()
    bench.fluid.domain("company", lambda flows: len(flows) - 1)
    a = bench.start("a", 3.0, domain="company", cap=float)
    bench.at(1.0, lambda: bench.start("b", 2.0, domain="company", cap=1.0))
    bench.at(9.0, lambda: None)
    assert bench.run() == [(3.0, "b")]
    assert bench.fluid.progress(a) == 2.0


def test_domain_state_is_a_function_of_its_members() -> None:
    """A clock that slows with the load its users declare: 1 / (declared load). a alone: rate 1 for 1 s. With b, loads
    add to 4: both run at 1/4. b's 0.5 take 2 s, in which a does 0.5 too; a's last 0.5 run at 1: t = 3.5."""
    log = Log()
    bench = Bench([log])
    bench.fluid.domain("clock", lambda flows: 1.0 / max(1.0, sum(flow.tags for flow in flows)))
    bench.start("a", 2.0, domain="clock", cap=lambda clock: clock, tags=1.0)
    bench.at(1.0, lambda: bench.start("b", 0.5, domain="clock", cap=lambda clock: clock, tags=3.0))
    assert bench.run() == [(3.0, "b"), (3.5, "a")]
    assert bench.fluid.states == {"clock": 1.0}  # nobody left


def test_capacity_rule_sees_who_uses_it_and_not_how_fast() -> None:
    """A memory that gives 4 to readers and loses 1 where a writer is among its users, even one whose own rate is 0."""
    seen = []

    def rule(value: float, users: list[Flow]) -> float:
        seen.append(sorted(flow.name for flow in users))
        return value - any(flow.tags == "write" for flow in users)

    bench = Bench()
    bench.fluid.capacity("memory", 4.0, rule)
    bench.start("reader", 10.0, "memory", tags="read")
    writer = []
    bench.at(1.0, lambda: writer.append(bench.start("writer", 1.0, "memory", tags="write", cap=0.0)))
    bench.at(2.0, lambda: bench.fluid.stop(writer[0]))
    # 4 in the first second, 3 in the second; 3 left at 4 take 0.75 s
    assert bench.run() == [(2.75, "reader")]
    assert seen == [["reader"], ["reader", "writer"], ["reader"]]


# Observers --------------------------------------------------------------------------------------------------------------------


def _busy_run(*observers: Any) -> list[tuple[float, str]]:
    bench = Bench(observers, left=3.0, right=2.0)
    bench.fluid.domain("crowd", len)
    for i in range(12):
        capacities = [("left",), ("right",), ("left", "right")][i % 3]
        more = {"domain": "crowd", "cap": lambda crowd: 2 / crowd} if i % 2 else {}
        bench.at(i / 7, lambda i=i, c=capacities, more=more: bench.start(str(i), 1 + i / 3, *c, **more))
    return bench.run()


def test_observers_cannot_alter_results() -> None:
    """With, without, and with one that scribbles over everything it is handed as data."""

    class Vandal(Log):
        def rates(self, time: float, flows: Iterable[Flow], states: dict[str, Any]) -> None:
            if isinstance(flows, list):
                flows.clear()
            states["crowd"] = "broken"

    plain = _busy_run()
    log = Log()
    assert _busy_run(log) == plain
    assert {(time, name) for name, time in log.ended_at.items()} == set(plain)
    assert _busy_run(Vandal(), Log()) == plain


def test_observers_hear_of_every_end_before_what_follows() -> None:
    """At the instant of an end the observer still sees the flow, complete, and the successor has not started."""
    said: list[str] = []

    class Listener(Log):
        def ended(self, time: float, flow: Flow) -> None:
            said.append(f"{flow.name} ended with {flow.remaining:g} left")

    bench = Bench([Listener()], link=1.0)
    flow = Flow("a", 1.0, amounts=[("link", 1.0)])
    bench.fluid.start(flow, lambda _flow: said.append("b started"))
    bench.run()
    assert said == ["a ended with 0 left", "b started"]
