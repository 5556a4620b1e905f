"""Compiled loops leave flows alone that stop rising below the level where something changed:
nothing else may come of it.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from stories import Act, long_story, scripts, story

from c3sim.engine.clock import Clock
from c3sim.engine.compiled.line import SETTLED
from c3sim.engine.compiled.progress import CompiledProgress
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress

REL = 1e-12


@settings(max_examples=150, deadline=None, derandomize=True)
@given(scripts())
def test_who_is_left_alone_ends_as_if_all_were_solved(
    script: tuple[list[Act], list[float]],
) -> None:
    pure, _ = story(*script, Progress(), plain=True)
    compiled, _ = story(*script, CompiledProgress(), plain=True)
    assert compiled == pytest.approx(pure, rel=REL, abs=0.0)


@pytest.mark.parametrize("seed", range(4))
def test_a_long_story_in_one_connected_set(seed: int) -> None:
    """40 flows at once on 2 to 4 of 12 capacities, with weights and amounts over six decades, 500
    ends: each starts another or two, at once or later, and some stop. Rounding does not add up from
    solve to solve.
    """
    stories = [long_story(Random(seed), progress) for progress in (Progress(), CompiledProgress())]
    (pure, compiled) = stories
    assert [name for _, name in compiled] == [name for _, name in pure]
    assert len(pure) == 500
    assert [time for time, _ in compiled] == pytest.approx(
        [time for time, _ in pure], rel=1e-11, abs=0.0
    )


def test_flows_below_what_changed_are_left_alone() -> None:
    """a and b have 1/2 each of a narrow link of 1; b, c and d share one of 10, of which c and d get
    4.75 each. c ends at 2 s. a and b stopped rising at level 1/2, below 4.75, and so does whoever
    comes with a weight of 1: only d is solved, at 9.5, and so ends at 2 + 19 / 9.5 = 4 s. A second
    flow on the narrow link is another matter: all get 1/3 there.
    """
    clock, progress = Clock(), CompiledProgress()
    fluid = Fluid(clock, (), progress)
    fluid.capacity("narrow", 1.0)
    fluid.capacity("wide", 10.0)
    flows = {
        name: Flow(name, work, amounts=[(way, 1.0) for way in ways.split()])
        for name, work, ways in (
            ("a", 99.0, "narrow"),
            ("b", 99.0, "narrow wide"),
            ("c", 9.5, "wide"),
            ("d", 28.5, "wide"),
            ("e", 9.0, "narrow"),
        )
    }
    ends: list[tuple[float, str]] = []
    for name in "abcd":
        fluid.start(flows[name], lambda flow: ends.append((clock.now, flow.name)))
    clock.run(until=3.0)
    assert ends == [(2.0, "c")]
    settled = {name: float(progress._table.flows[SETTLED, flows[name].slot]) for name in "abd"}
    assert settled == {"a": 0.0, "b": 0.0, "d": 2.0}
    assert fluid.progress(flows["a"]) == 1.5  # asking settles
    fluid.start(flows["e"], lambda flow: None)
    clock.run(until=3.5)
    for name, rate in (("a", 1 / 3), ("b", 1 / 3), ("e", 1 / 3), ("d", 10 - 1 / 3)):
        fluid.progress(flows[name])
        assert flows[name].rate == pytest.approx(rate, rel=REL)
