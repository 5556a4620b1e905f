"""The fluid layer: when and what it solves, and ends of flows. Times are computed by hand."""

from __future__ import annotations

import pytest
from fluid_bench import Bench, Log
from hypothesis import given
from hypothesis import strategies as st

from c3sim.engine.flow import Flow

pytestmark = pytest.mark.usefixtures("progress")

# Progress


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
    # a does 4 in the first second, then 2 per second: 4 left take 2 s, t = 3. b has done 4 of 6 by
    # then; 0.5
    # s more.
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


# When it solves


def test_once_per_instant_however_much_happens() -> None:
    """Fifty starts at one instant, in fifty events, are one solve; their common end is another, of
    nothing."""
    log = Log()
    bench = Bench([log], link=50.0)
    for i in range(50):
        bench.at(1.0, lambda i=i: bench.start(str(i), 1.0, "link"))
    bench.run()
    assert bench.fluid.solves == 1
    assert [time for time, _ in log.solves] == [1.0, 2.0]
    assert set(log.solves[0][1].values()) == {
        1.0
    }  # all fifty were seen, none of them in a state before the last start


def test_only_the_touched_component() -> None:
    """a and b share the left link, c and d the right one: c's end concerns d alone, and its rate
    only.
    """
    log = Log()
    bench = Bench([log], left=2.0, right=2.0)
    bench.start("a", 9.0, "left")
    bench.start("b", 9.0, "left")
    bench.start("c", 1.0, "right")
    bench.start("d", 4.0, "right")
    assert bench.run() == [(1.0, "c"), (2.5, "d"), (9.0, "a"), (9.0, "b")]
    # d: 1 s at 1, then 3 left at 2. When c ends, d alone is solved; d's end leaves nobody to solve
    # for.
    assert [(time, sorted(rates)) for time, rates in log.solves] == [
        (0.0, ["a", "b", "c", "d"]),
        (1.0, ["d"]),
        (2.5, []),
        (9.0, []),
    ]


def test_component_reaches_through_shared_flows_and_domains() -> None:
    """a - b share a link, b - c another, c - d a domain: d's start may change all of them. It
    changes the state of c's domain, no cap and so no rate; e shares nothing with d.
    """
    log = Log()
    bench = Bench([log], first=2.0, second=3.0, apart=1.0)
    bench.fluid.domain("clock", len)
    bench.start("a", 99.0, "first")
    bench.start("b", 99.0, "first", "second")
    bench.start("c", 99.0, "second", domain="clock")
    bench.start("e", 99.0, "apart")
    bench.at(1.0, lambda: bench.start("d", 1.0, domain="clock", cap=5.0))
    bench.env.run(until=1.1)
    assert {"c", "d"} <= {*log.solves[1][1]} <= {"a", "b", "c", "d"}


# Cancelling


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
    """Ten rounds at one per second; after 2.5 s somebody waits, and only the round in progress is
    to be finished.
    """
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


# Exactness


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_equal_flows_end_at_one_instant_on_any_scale(scale: float) -> None:
    """Thirds have no exact binary form; three flows that should end together do, at one solve,
    whatever the scale of work and so of time. An absolute epsilon would fail at one end of the
    range or the other.
    """
    log = Log()
    bench = Bench([log], link=1.0)
    for name in "abc":
        bench.start(name, scale / 3, "link")
    ends = bench.run()
    assert len({time for time, _ in ends}) == 1
    assert ends[0][0] == pytest.approx(scale, rel=1e-12)
    assert len(log.solves) == 2


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_ends_that_only_rounding_tells_apart_are_one_instant(scale: float) -> None:
    """0.3 at 0.1 per second is 2.9999999999999996 s in floating point, 3 at 1 per second is 3 s:
    both end together.
    """
    assert 0.3 / 0.1 != 3.0
    bench = Bench()
    bench.start("a", 0.3 * scale, cap=0.1)
    bench.start("b", 3.0 * scale, cap=1.0)
    (first, _), (second, _) = bench.run()
    assert first == second


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_unequal_flows_do_not_end_together_on_any_scale(scale: float) -> None:
    """One part in a million is a difference, also between times of a picosecond."""
    bench = Bench()
    bench.start("a", scale, cap=1.0)
    bench.start("b", scale * (1 + 1e-6), cap=1.0)
    (first, _), (second, _) = bench.run()
    assert second / first - 1 == pytest.approx(1e-6, rel=1e-3)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 10)), min_size=1, max_size=8))
def test_every_flow_ends_and_the_link_was_never_idle_in_vain(
    flows: list[tuple[float, float]],
) -> None:
    """Work conservation on one link of 1: all work is done, and the last end is the end of the last
    busy period.
    """
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
    """At t = 1e6 s, 1e-12 s is less than the clock can resolve: the flow whose end woke the clock
    is complete by definition, else the same instant would be scheduled forever.
    """
    bench = Bench()
    bench.at(1e6, lambda: bench.start("a", 1e-12, cap=1.0))
    bench.at(1e6, lambda: bench.start("b", 1.0, cap=1.0))
    assert bench.run() == [(1e6, "a"), (1e6 + 1.0, "b")]


def test_a_capacity_has_one_value() -> None:
    bench = Bench(link=4.0)
    with pytest.raises(ValueError, match="capacity link is declared already"):
        bench.fluid.capacity("link", 5.0)


def test_an_amount_of_nothing_is_no_use() -> None:
    """b would stand still on a link of 0, if it drew on it."""
    bench = Bench(link=4.0, broken=0.0)
    flow = Flow("b", 4.0, amounts=[("link", 1.0), ("broken", 0.0)])
    bench.fluid.start(flow, lambda flow: bench.ends.append((bench.env.now, flow.name)))
    assert bench.run() == [(1.0, "b")]
    assert flow.amounts == (("link", 1.0),)
