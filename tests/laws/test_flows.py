"""Max-min sharing of a few flows, and two tempting laws that are false."""

from __future__ import annotations

import random

import pytest
from law_runs import REL

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid


def test_splitting_a_flow_changes_nothing() -> None:
    """A flow's weight is its outstanding requests; n parts of 1/n of weight, cap and work share as
    the whole did.

    Random systems of 2 to 6 flows over 1 to 4 capacities; the first flow is split into 2 to 5. All
    flows end when they did before, and all parts end together.
    """
    draw = random.Random(6)
    for _ in range(200):
        capacities = [draw.uniform(1, 10) for _ in range(draw.randint(1, 4))]
        flows = []
        for _ in range(draw.randint(2, 6)):
            uses = draw.sample(range(len(capacities)), draw.randint(1, len(capacities)))
            flows.append(
                (
                    draw.uniform(1, 20),
                    draw.uniform(0.5, 8),
                    draw.uniform(0.1, 5),
                    [(u, draw.uniform(0.5, 2)) for u in uses],
                )
            )  # work, cap, weight, uses
        parts = draw.randint(2, 5)
        work, cap, weight, uses = flows[0]
        split = [(work / parts, cap / parts, weight / parts, uses)] * parts + flows[1:]
        whole = _ends(capacities, flows)
        assert _ends(capacities, split) == pytest.approx([whole[0]] * parts + whole[1:], rel=REL)


def _ends(
    capacities: list[float], flows: list[tuple[float, float, float, list[tuple[int, float]]]]
) -> list[float]:
    env = Clock()
    fluid = Fluid(env)
    for index, value in enumerate(capacities):
        fluid.capacity(str(index), value)
    ends = [0.0] * len(flows)
    for i, (work, cap, weight, uses) in enumerate(flows):
        flow = Flow(
            str(i), work, cap=cap, weight=weight, amounts=[(str(c), amount) for c, amount in uses]
        )
        fluid.start(flow, lambda flow: ends.__setitem__(int(flow.name), env.now))
    env.run()
    return ends


def test_a_bystander_may_speed_somebody_up() -> None:
    """A tempting law that is false: whoever comes slows everybody down.

    A uses link 1 (capacity 2), B links 1 and 2. Alone they halve link 1 and have a rate of 1 each.
    C comes on link 2 (capacity 1): now B has 1/2 there, and A has 2 - 1/2 = 3/2. A's 3 units take 2
    s instead of 3 s.
    """
    a, b, c = (
        (3.0, 9.0, 1.0, [(0, 1.0)]),
        (9.0, 9.0, 1.0, [(0, 1.0), (1, 1.0)]),
        (9.0, 9.0, 1.0, [(1, 1.0)]),
    )
    assert _ends([2.0, 1.0], [a, b])[0] == pytest.approx(3.0)
    assert _ends([2.0, 1.0], [a, b, c])[0] == pytest.approx(2.0)


def test_less_latency_may_slow_the_longest_down() -> None:
    """Who shares a link gets a part of it as large as its outstanding requests: its rate alone
    times the latency, or the bytes it may have in flight.

    A link gives 4. The long copy, 4 units, is bound by its engine: a rate of 1. The short one, 3.2
    units, has 8 in flight, on an engine of 5. At a latency of 2 the short one could have a rate of
    8 / 2 = 4: it has 8 outstanding, the long one 1 x 2 = 2, and they get 3.2 and 0.8. After 1 s the
    long one is alone with 3.2 units: 4.2 s. At a latency of 1 the short one is bound by its engine:
    5 and 1 outstanding, rates of 10/3 and 2/3. It ends after 0.96 s, when the long one has done
    0.64: 0.96 + 3.36 = 4.32 s.
    """

    def ends(latency: float) -> list[float]:
        short = min(8.0 / latency, 5.0)
        copies = [(4.0, 1.0, 1.0 * latency), (3.2, short, short * latency)]
        return _ends([4.0], [(*copy, [(0, 1.0)]) for copy in copies])

    assert ends(2.0) == pytest.approx([4.2, 1.0])
    assert ends(1.0) == pytest.approx([4.32, 0.96])
