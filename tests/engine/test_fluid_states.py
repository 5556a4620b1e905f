"""The fluid layer: rates of zero, domains, capacity rules, and observers that only look on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest
from fluid_bench import Bench, Log

from c3sim.engine.flow import Flow

pytestmark = pytest.mark.usefixtures("progress")

# Zero rates, domains, capacity rules


def test_zero_rate_waits_without_an_event() -> None:
    """A flow that stays at rate 0 has no end, and the clock has nothing to do."""
    bench = Bench()
    bench.start("a", 1.0, cap=0.0)
    assert bench.run() == []
    assert bench.env.peek() == math.inf


def test_zero_rate_resumes_when_its_state_changes() -> None:
    """Cap = other members of the domain: a stands still until b comes at t = 1, for 2 s. a does 2,
    and stands again.
    """
    bench = Bench()
    bench.fluid.domain("company", lambda flows: len(flows) - 1)
    a = bench.start("a", 3.0, domain="company", cap=float)
    bench.at(1.0, lambda: bench.start("b", 2.0, domain="company", cap=1.0))
    bench.at(9.0, lambda: None)
    assert bench.run() == [(3.0, "b")]
    assert bench.fluid.progress(a) == 2.0


def test_domain_state_is_a_function_of_its_members() -> None:
    """A clock that slows with the load its users declare: 1 / (declared load). a alone: rate 1 for
    1 s. With b, loads add to 4: both run at 1/4. b's 0.5 take 2 s, in which a does 0.5 too; a's
    last 0.5 run at 1: t = 3.5.
    """
    log = Log()
    bench = Bench([log])
    bench.fluid.domain("clock", lambda flows: 1.0 / max(1.0, sum(flow.tags for flow in flows)))
    bench.start("a", 2.0, domain="clock", cap=lambda clock: clock, tags=1.0)
    bench.at(1.0, lambda: bench.start("b", 0.5, domain="clock", cap=lambda clock: clock, tags=3.0))
    assert bench.run() == [(3.0, "b"), (3.5, "a")]
    assert bench.fluid.states == {"clock": 1.0}  # nobody left


def test_what_ends_outside_a_domain_leaves_its_members_alone() -> None:
    """b is in no domain: its end at 1 concerns nobody, though all that still run are of one. c's
    start at 2 concerns a, and not the domain that nobody is in.
    """
    log, asked = Log(), []
    bench = Bench([log], link=1.0)
    bench.fluid.domain("clock", len)
    bench.fluid.domain("empty", lambda flows: asked.append(len(flows)))
    bench.start("a", 9.0, domain="clock", cap=1.0)
    bench.start("b", 1.0, "link")
    bench.at(2.0, lambda: bench.start("c", 1.0, domain="clock", cap=1.0))
    assert bench.run() == [(1.0, "b"), (3.0, "c"), (9.0, "a")]
    assert [(time, sorted(rates)) for time, rates in log.solves] == [
        (0.0, ["a", "b"]),
        (1.0, []),
        (2.0, ["a", "c"]),
        (3.0, ["a"]),
        (9.0, []),
    ]
    assert asked == [0]  # as it was declared


def test_capacity_rule_sees_who_uses_it_and_not_how_fast() -> None:
    """A memory that gives 4 to readers and loses 1 where a writer is among its users, even one
    whose own rate is 0.
    """
    seen = []

    def rule(value: float, users: list[Flow]) -> float:
        seen.append(sorted(flow.name for flow in users))
        return value - any(flow.tags == "write" for flow in users)

    bench = Bench()
    bench.fluid.capacity("memory", 4.0, rule)
    bench.start("reader", 10.0, "memory", tags="read")
    writer = []
    bench.at(
        1.0, lambda: writer.append(bench.start("writer", 1.0, "memory", tags="write", cap=0.0))
    )
    bench.at(2.0, lambda: bench.fluid.stop(writer[0]))
    # 4 in the first second, 3 in the second; 3 left at 4 take 0.75 s
    assert bench.run() == [(2.75, "reader")]
    assert seen == [["reader"], ["reader", "writer"], ["reader"]]


# Observers


def _busy_run(*observers: Any) -> list[tuple[float, str]]:
    bench = Bench(observers, left=3.0, right=2.0)
    bench.fluid.domain("crowd", len)
    for i in range(12):
        capacities = [("left",), ("right",), ("left", "right")][i % 3]
        more = {"domain": "crowd", "cap": lambda crowd: 2 / crowd} if i % 2 else {}
        bench.at(
            i / 7, lambda i=i, c=capacities, more=more: bench.start(str(i), 1 + i / 3, *c, **more)
        )
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
    """At the instant of an end the observer still sees the flow, complete, and the successor has
    not started.
    """
    said: list[str] = []

    class Listener(Log):
        def ended(self, time: float, flow: Flow) -> None:
            said.append(f"{flow.name} ended with {flow.remaining:g} left")

    bench = Bench([Listener()], link=1.0)
    flow = Flow("a", 1.0, amounts=[("link", 1.0)])
    bench.fluid.start(flow, lambda _flow: said.append("b started"))
    bench.run()
    assert said == ["a ended with 0 left", "b started"]
