"""Loads past L1 that go with others on their way to L2."""

from dataclasses import replace

import numpy as np
import pytest
from test_cache_laboratory import LINE, MANY, PARTS, TINY, launch, of_units, random_lines, run

from c3sim.cachelab import served, state
from c3sim.cachelab.laboratory import Laboratory
from c3sim.cachelab.nests import Program
from c3sim.cachelab.stream import Launch


@pytest.mark.parametrize(
    ("join_time", "ours", "joined", "found"),
    [(50.0, [0], 1, 0), (0.0, [0], 0, 1), (50.0, [8, 0], 0, 1)],
)
def test_a_load_goes_with_one_of_the_same_sectors(monkeypatch, join_time, ours, joined, found):
    """Two units ask for line 0 at once; or one of them a latency later, when L2 has it."""
    monkeypatch.setattr(served, "row_hits_of_streams", lambda _: (1.0, 1.0))
    machine = replace(MANY, window=1, join_time=join_time)
    counts = run(machine, "past_l1", of_units([0], ours)).counts
    assert (counts[state.JOINED], counts[state.L2_LOAD_HITS]) == (joined, found)
    assert counts[state.LOADS] == counts[state.READS] + 1 == len(ours) + 1
    program = Program.of(of_units([0], ours))
    of_all = Laboratory(program, machine).counts("past_l1")
    assert (of_all.joined, of_all.found) == (joined * LINE, 1 / (len(ours) + 1))
    assert served.served_by(Laboratory(program, machine), "past_l1").l2 == LINE


@pytest.mark.parametrize(("bytes_of_second", "joined"), [(16, 0), (32, 2), (48, 0)])
def test_a_load_goes_with_one_of_all_its_sectors(bytes_of_second, joined):
    """The first one asks for the second and third of the four sectors of a line."""
    made = Launch("two", 2)
    starts = {16: 0, 32: 16, 48: 16}
    made.touch(0, 0, np.array([16]), 32)
    made.touch(1, 0, np.array([starts[bytes_of_second]]), bytes_of_second)
    machine = replace(MANY, sector=16, join_time=50.0)
    assert run(machine, "past_l1", made).counts[state.JOINED] == joined


def test_a_joined_load_takes_no_place_among_those_under_way():
    """Two lines, the first one twice, two under way: one latency with it, two without."""
    ends = []
    for join_time in (50.0, 0.0):
        machine = replace(TINY, window=2, join_time=join_time)
        ends.append(Laboratory(Program.of(of_units([0, 0, 1])), machine).counts("past_l1").seconds)
    assert 1.5 < ends[1] / ends[0] < 2.5


def test_joined_loads_are_conserved():
    machine = replace(PARTS, window=4, join_time=300.0)
    counts = run(machine, "cache_r", launch(random_lines(1500, 60), groups=12)).counts
    found = counts[state.L1_HITS] + counts[state.L2_LOAD_HITS] + counts[state.JOINED]
    assert counts[state.JOINED] > 0
    assert counts[state.LOADS] == 1500 == found + counts[state.READS]
