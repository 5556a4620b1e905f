"""Stories of flows, told to a progress: what happens when, drawn at random."""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass
from random import Random
from typing import Any

from fluid_bench import Log
from hypothesis import strategies as st

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress


@dataclass(frozen=True)
class Act:
    """At *time*, start a flow; *stop* or *shorten* it so long after its start, if it is still
    there.
    """

    time: float
    work: float
    weight: float
    cap: float
    uses: dict[int, float]  # index of a capacity -> amount
    crowd: bool  # a member of the domain, whose cap shrinks with the number of members
    stop: float
    shorten: float


def _less_for_many(value: float, users: Sized) -> float:
    """What *users* get of a capacity that gives less to a crowd."""
    return value / (1 + len(users) / 8)


def _flow(name: str, act: Act, crowd: bool) -> Flow:
    """The flow that *act* starts, a member of the *crowd* or not."""
    return Flow(
        name,
        act.work,
        weight=act.weight,
        tags=act,
        cap=(lambda crowd, cap=act.cap: cap / crowd) if crowd else act.cap,
        amounts=[(f"c{index}", amount) for index, amount in act.uses.items()],
        domain="crowd" if crowd else None,
    )


def story(
    acts: list[Act], sizes: list[float], progress: Progress, plain: bool = False
) -> tuple[dict[str, float], Log]:
    """When each flow ended, and what an observer saw. Capacity 0 gives less to a crowd. *plain*:
    nobody observes, and there is neither rule nor crowd, so that flows may be left alone.
    """
    env, log = Clock(), Log()
    fluid = Fluid(env, [] if plain else [log], progress)
    for index, size in enumerate(sizes):
        fluid.capacity(f"c{index}", size, None if index or plain else _less_for_many)
    if not plain:
        fluid.domain("crowd", len)
    ends: dict[str, float] = {}

    def at(time: float, call: Any) -> None:
        env.timeout(time).callbacks.append(lambda _event: call())

    for number, act in enumerate(acts):
        flow = _flow(str(number), act, act.crowd and not plain)

        def ended(flow: Flow) -> None:
            ends[flow.name] = env.now

        def stop(flow: Flow = flow) -> None:
            if flow in fluid.flows:
                fluid.stop(flow)

        def shorten(flow: Flow = flow) -> None:
            if flow in fluid.flows:
                fluid.shorten(flow, (fluid.progress(flow) + flow.work) / 2)

        at(act.time, lambda flow=flow, ended=ended: fluid.start(flow, ended))
        at(act.time + act.stop, stop)
        at(act.time + act.shorten, shorten)
    env.run(until=1e6)
    return ends, log


positive = st.floats(1 / 16, 16.0) | st.sampled_from([0.5, 1.0, 2.0])  # the latter make ties likely


@st.composite
def scripts(draw: st.DrawFn) -> tuple[list[Act], list[float]]:
    sizes = draw(st.lists(positive, min_size=1, max_size=6))
    uses = st.dictionaries(st.integers(0, len(sizes) - 1), positive, max_size=6)
    instants = st.sampled_from([0.0, 1.0, 1.5, 3.0])  # several things happen at once
    acts = st.builds(
        Act,
        time=instants,
        work=positive,
        weight=positive,
        cap=positive,
        uses=uses,
        crowd=st.booleans(),
        stop=st.sampled_from([0.0, 0.5, 99.0, 99.0]),
        shorten=st.sampled_from([0.0, 0.25, 99.0]),
    )
    return draw(st.lists(acts, max_size=12)), sizes


def long_story(random: Random, progress: Progress) -> list[tuple[float, str]]:
    """Time and name of each end."""
    clock = Clock()
    fluid = Fluid(clock, (), progress)
    names = [f"c{index}" for index in range(12)]
    for name in names:
        fluid.capacity(name, random.uniform(1.0, 10.0))
    ends: list[tuple[float, str]] = []

    def begin() -> None:
        ways = random.sample(names, random.randint(2, 4))
        flow = Flow(
            str(random.random()),
            random.expovariate(1.0),
            weight=10.0 ** random.uniform(-3, 3),
            cap=random.choice((math.inf, 1.0)),
            amounts=[(way, 10.0 ** random.uniform(-3, 3)) for way in ways],
        )
        fluid.start(flow, ended)

    def ended(flow: Flow) -> None:
        ends.append((clock.now, flow.name))
        if random.random() < 0.1:
            fluid.stop(random.choice(list(fluid.flows)))
            begin()
        if random.random() < 0.5:
            begin()
        else:
            clock.timeout(random.random()).callbacks.append(lambda _event: begin())

    for _ in range(40):
        begin()
    while len(ends) < 500:
        clock.step()
    return ends
