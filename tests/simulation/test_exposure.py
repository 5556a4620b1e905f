"""Exposed communication and the time in which compute runs: spans by hand, and runs."""

from __future__ import annotations

import pytest
from made_workload import workload_of

from c3sim.simulation.exposure import exposure, length, uncovered, union
from c3sim.simulation.run import TaskRun
from c3sim.simulation.runs import run_once, undisturbed
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload

NODE = load_node("mi300x-8")
GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}
GATHER = {"kind": "collective", "op": "all_gather", "size": 64 * 2**20}


def workload(**tasks: object) -> Workload:
    return workload_of(tasks)


def run(ready: float, start: float, end: float) -> TaskRun:
    return TaskRun(ready=ready, start=start, end=end, detail={})


def test_spans():
    assert union([(5, 6), (0, 2), (1, 3), (3, 4)]) == [(0, 4), (5, 6)]
    assert length([(0, 4), (5, 6)]) == 5
    assert uncovered([(0, 10)], [(2, 4), (3, 5)]) == 7
    assert uncovered([], [(0, 1)]) == 0


def test_communication_counts_from_when_it_is_waited_for():
    """Ready at 1, begun at 4, ended at 9; compute runs until 3 and from 8: 3 to 8 is exposed."""
    given = workload(a=GEMM, gather=GATHER, b=GEMM)
    times = {("a", 0): run(0, 0, 3), ("gather", 0): run(1, 4, 9), ("b", 0): run(8, 8, 10)}
    assert exposure(given, times) == (5, 5)


def test_the_slowest_rank_counts():
    given = workload(a=GEMM, gather=GATHER)
    times = {("a", 0): run(0, 0, 3), ("gather", 0): run(0, 0, 4)}
    times |= {("a", 1): run(0, 0, 5), ("gather", 1): run(0, 0, 7)}
    assert exposure(given, times) == (2, 5)


def test_a_task_alone():
    assert run_once(NODE, workload(gemm=GEMM)).exposure.exposed == 0
    alone = run_once(NODE, workload(gather=GATHER))
    assert alone.exposure == (alone.end, 0)


def test_a_stalled_gemm_is_no_contention():
    """The GEMM waits for the whole all-gather and then runs as alone: total less GEMM alone is the
    all-gather's time, of which contention has no part.
    """
    given = workload(gather=GATHER, gemm={**GEMM, "after": ["gather"]})
    found, apart = run_once(NODE, given), undisturbed(NODE, given)
    assert found.exposure.computing == pytest.approx(apart.exposure.computing, rel=1e-9)
    assert found.exposure.exposed == pytest.approx(found.task("gather").end, rel=1e-9)


def test_only_communication_is_taken_away():
    """Two GEMMs of two streams fill all compute units: they go on sharing them."""
    two = workload(one=GEMM, other=GEMM)
    apart = undisturbed(NODE, two)
    assert apart.end == run_once(NODE, two).end
    pair = workload(gather={**GATHER, "channels": 64}, one=GEMM, other=GEMM)
    together = run_once(NODE, pair)
    assert undisturbed(NODE, pair).exposure.computing == pytest.approx(
        apart.exposure.computing, rel=1e-9
    )
    assert together.exposure.computing > 1.01 * apart.exposure.computing


def test_a_task_may_be_called_like_a_class():
    named = workload(compute=GEMM, communication=GATHER)
    other = workload(gemm=GEMM, gather=GATHER)
    assert undisturbed(NODE, named).exposure == undisturbed(NODE, other).exposure


def test_ranks_out_of_step_have_a_median():
    pair = workload_of({"gemm": GEMM, "gather": GATHER}, host={"release": "per_rank"})
    found = run_once(load_node("h200-2"), pair)
    assert len(found.outcomes) > 1 and 0 < found.exposure.exposed < found.end
