"""The compiled progress of flows against the pure one: the same story, told to both."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from stories import Act, scripts, story

from c3sim.api import prepare
from c3sim.engine.clock import Clock
from c3sim.engine.compiled.progress import CompiledProgress
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress
from c3sim.errors import InputError
from c3sim.simulation import simulate as simulation

REL = 1e-12


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(scripts())
def test_compiled_and_pure_tell_the_same_story(script: tuple[list[Act], list[float]]) -> None:
    pure, seen = story(*script, Progress())
    compiled, seen_too = story(*script, CompiledProgress())
    assert compiled == pytest.approx(pure, rel=REL, abs=0.0)
    assert [time for time, _ in seen_too.solves] == pytest.approx(
        [t for t, _ in seen.solves], rel=REL, abs=0.0
    )
    now: dict[str, float] = {}  # the pure one reports what moved, the compiled one what might have
    for (_, rates), (_, rates_too) in zip(seen.solves, seen_too.solves, strict=True):
        now |= rates
        assert rates_too == pytest.approx({name: now[name] for name in rates_too}, rel=REL, abs=0.0)
        assert [name for name in rates_too if name in rates] == list(rates)  # in order of starts


def test_table_grows_while_flows_run() -> None:
    """200 flows and 80 capacities where 64 have room, one flow that uses six where four fit: n
    flows share a link of 1, works 1 to n. In turn i (from 1) n + 1 - i flows share, and the next
    ends after another n + 1 - i: the last ends when all work is done.
    """
    env = Clock()
    fluid = Fluid(env, (), CompiledProgress())
    names = [f"wide{index}" for index in range(80)]
    for name in ["link", *names]:
        fluid.capacity(name, 1.0)
    ends: list[tuple[float, str]] = []
    for number in range(1, 201):
        flow = Flow(str(number), float(number), amounts=[("link", 1.0)])
        fluid.start(flow, lambda flow: ends.append((env.now, flow.name)))
    env.run(until=100.0)  # the first flow has 0.5 of its 1
    wide = Flow("wide", 1.0, amounts=[(name, 1.0) for name in names[-6:]])
    fluid.start(wide, lambda flow: ends.append((env.now, flow.name)))
    env.run()
    assert ends[0] == (pytest.approx(101.0, rel=REL), "wide")
    assert ends[1] == (pytest.approx(200.0, rel=REL), "1")
    assert ends[2] == (pytest.approx(200.0 + 199.0, rel=REL), "2")
    assert ends[-1] == (pytest.approx(200 * 201 / 2, rel=REL), "200")


def test_rows_of_flows_that_have_gone_are_used_again() -> None:
    """A chain of 1000 flows, one at a time: 1000 s, and no larger table than for one."""
    env = Clock()
    progress = CompiledProgress()
    fluid = Fluid(env, (), progress)
    fluid.capacity("link", 1.0)

    def begin(left: int) -> None:
        if left:
            fluid.start(
                Flow(str(left), 1.0, amounts=[("link", 1.0)]), lambda _flow: begin(left - 1)
            )

    begin(1000)
    env.run()
    assert env.now == pytest.approx(1000.0, rel=REL)
    assert len(progress._flow_of_row) == 64


@settings(max_examples=50, deadline=None, derandomize=True)
@given(scripts())
def test_drained_flows_end_when_the_clock_says(script: tuple[list[Act], list[float]]) -> None:
    """All started at once, with neither domains nor rules: the same ends as on a clock."""
    acts, sizes = script
    env, progress, drained = Clock(), Progress(), CompiledProgress()
    fluid = Fluid(env, (), progress)
    for index, size in enumerate(sizes):
        fluid.capacity(f"c{index}", size)
        drained.capacity(f"c{index}", size, None)
    ends: list[tuple[float, str]] = []
    for number, act in enumerate(acts):
        amounts = [(f"c{index}", amount) for index, amount in act.uses.items()]
        for start in (
            lambda flow: fluid.start(flow, lambda f: ends.append((env.now, f.name))),
            lambda flow: drained.start(flow, 0.0),
        ):
            start(Flow(str(number), act.work, weight=act.weight, cap=act.cap, amounts=amounts))
    env.run()
    found = [(time, flow.name) for time, flow in drained.drain(0.0)]
    assert [name for _, name in found] == [name for _, name in ends]
    assert [time for time, _ in found] == pytest.approx([time for time, _ in ends], rel=REL)
    assert not drained.flows


def test_rules_cannot_be_drained() -> None:
    progress = CompiledProgress()
    progress.start(Flow("a", 1.0, cap=lambda _state: 1.0), 0.0)
    with pytest.raises(ValueError, match="need a clock"):
        progress.drain(0.0)
    progress = CompiledProgress()
    progress.domain("crowd", len)
    with pytest.raises(ValueError, match="need a clock"):
        progress.drain(0.0)


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (Flow("a", 1.0), "flow a: nothing limits it"),
        (Flow("a", 1.0, weight=0.0, cap=1.0), r"flow a: weight 0\.0"),
        (Flow("a", 1.0, cap=-1.0), r"flow a: cap -1\.0"),
        (Flow("a", 1.0, amounts=[("link", math.inf)]), "flow a: amount inf"),
    ],
)
def test_bad_number_is_named(flow: Flow, message: str) -> None:
    env = Clock()
    fluid = Fluid(env, (), CompiledProgress())
    fluid.capacity("link", 1.0)
    with pytest.raises(ValueError, match=message):
        fluid.start(flow, lambda _flow: None)
        env.run()


def test_bad_capacity_is_named() -> None:
    with pytest.raises(ValueError, match=r"capacity link is -1\.0"):
        CompiledProgress().capacity("link", -1.0, None)


def test_a_compiled_run_says_that_it_needs_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "find_spec", lambda _name: None)
    workload, node = prepare("gemm-beside-all-gather", None)
    with pytest.raises(InputError, match=r"need numba.*pip install 'c3sim\[fast\]'"):
        simulation.simulate(node, workload, compiled=True)
