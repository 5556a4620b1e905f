"""Ranks of a loop without a barrier that differ in speed."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of

from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.explanation import explain_run
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.simulation.drift import _Loops
from c3sim.simulation.run import TaskRun
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.parts import Variation
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import plan

pytestmark = pytest.mark.turns(5)

GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
REDUCE = {"kind": "collective", "op": "all_reduce", "size": 128 * 2**20}


@pytest.fixture(scope="module")
def node() -> Node:
    return load_node("mi300x-8")


def pair(**loop: Any) -> Workload:
    host = {"release": "host", "loop": {"iterations": 60, "barrier": False, **loop}}
    tasks = {"reduce": REDUCE, "gemm": GEMM}
    return workload_of(tasks, host=host)


def alike(node: Node) -> Node:
    return node.changed(gpu__variation=None)


def of_waits(waits: list[float]) -> dict[str, list[TaskRun]]:
    """A GEMM takes 10 s however long its rank waits; the collective moves for 4 s."""

    def times(end: float, waited: float) -> TaskRun:
        return TaskRun(ready=0.0, start=0.0, end=end, detail={}, waited=waited)

    return {
        "gemm": [times(10.0, 0.0) for _ in waits],
        "reduce": [times(wait + 4.0, wait) for wait in waits],
    }


def test_the_quick_rank_waits_until_the_collective_ends_its_turn(node: Node) -> None:
    """It takes 9 s, the other one 10: it is 1, 2, ... s ahead, until its collective, which it waits
    for, ends as late as the slow rank's GEMM: 10 - 4 = 6 s ahead, whose turn then takes 10 s too.
    """
    waits = [0.0, 2.0, 4.0, 6.0]
    even = Variation(speed=0.0, jitter=0.0)
    loops = _Loops(plan(pair(), node), of_waits(waits), waits, 0.0, even)
    begins, ahead = [0.0, 0.0], []
    for _ in range(9):
        slow, quick = loops.turn(begins, [1.0, 0.9])
        begins = [begins[0] + slow.end, begins[1] + quick.end]
        ahead.append(begins[0] - begins[1])
    assert ahead == pytest.approx([1, 2, 3, 4, 5, 6, 6, 6, 6])
    assert quick.times["reduce"].waited == pytest.approx(6)


def test_a_late_collective_brings_all_ranks_together(node: Node) -> None:
    """Stalled by 100 s in each turn, it ends last on both ranks, whatever their speeds."""
    waits = [0.0, 6.0]
    stalled = Variation(speed=0.0, jitter=0.0, stalls=1.0, stall_time=100.0)
    loops = _Loops(plan(pair(), node), of_waits(waits), waits, 0.0, stalled)
    late, early = loops.turn([0.0, -2.0], [1.0, 0.9])
    assert (late.end, early.end) == pytest.approx((104, 106))


def test_ranks_that_begin_apart_stay_apart_while_the_gemm_ends_last(node: Node) -> None:
    """Alike but for their begin, of two ranks the one ahead waits as long in every turn. Of two
    numbers from 0 to 6 s the distance is 6 (1 - sqrt(1/2)) = 1.8 s in the median; eight nodes are
    drawn. The slowest rank is the one that waits; of any rank, half of the turns do not wait.
    """
    waits = [0.0, 2.0, 4.0, 6.0]
    apart = Variation(speed=0.0, jitter=0.0, start=6.0)
    two = node.changed(gpus=2)
    loops = _Loops(plan(pair(), two), of_waits(waits), waits, 0.0, apart)
    loops.go(3)
    step = simulate(alike(node), pair())
    slowest = loops.medians(step, slowest=True).task("reduce")
    assert 0.5 < slowest.waited < 4
    assert slowest.end == pytest.approx(slowest.waited + 4)
    assert loops.medians(step, slowest=False).task("reduce").waited < slowest.waited


def test_gpus_that_differ_wait_for_each_other(node: Node) -> None:
    """Alike, ranks stay in step and nobody waits; unlike, the middle rank waits for the last one,
    and what it moves takes about as long as in step.
    """
    step, apart = simulate(alike(node), pair()), simulate(node, pair())
    assert step.task("reduce").waited == 0.0
    reduce = apart.task("reduce")
    assert apart.drift and reduce.waited > 50e-6
    assert reduce.end - reduce.waited == pytest.approx(step.task("reduce").end, rel=0.03)
    assert [len(way.arrivals.classes) for way in apart.outcomes] == [8] * 20


@pytest.mark.parametrize("loop", [{"barrier": True}])
def test_a_barrier_keeps_ranks_in_step(node: Node, loop: dict[str, Any]) -> None:
    assert not simulate(node, pair(**loop)).drift


def test_a_collective_that_ends_last_keeps_ranks_in_step(node: Node) -> None:
    """Whoever is quick waits for it at the end of every turn."""
    workload = pair()
    large = workload.tasks["reduce"].changed(size=2.0**30)
    tasks = {**workload.tasks, "reduce": large}
    assert not simulate(node, workload.changed(tasks=tasks)).drift


def test_result_and_explanation_tell_waiting_from_moving(node: Node) -> None:
    """On teaching-4, with ranks as unlike as those of MI300X, and an eighth of the work."""
    teaching = load_node("teaching-4")
    unlike = teaching.changed(gpu__variation=node.gpu.variation)
    tasks = pair().tasks
    eighth = {
        "reduce": tasks["reduce"].changed(size=2.0**24),
        "gemm": tasks["gemm"].changed(m=4096, n=4096, k=4096),
    }
    workload = pair().changed(tasks=eighth)
    best = best_candidate("as_written", workload, unlike)
    result = evaluate_run(workload, unlike, "as_written")
    waited = result.tasks["reduce"].waited_for_ranks_s
    assert waited == best.run.task("reduce").waited > 0
    assert result.tasks["gemm"].waited_for_ranks_s == 0
    assert any("drift" in note for note in result.notes)
    explained = explain_run(best, unlike, "as_written").tasks["reduce"]
    assert explained.waited_for_ranks_s == waited
    assert any("waits for other ranks" in reason for reason in explained.reasons)


def test_copies_of_engines_wait_for_the_last_rank() -> None:
    """In a loop of two H200 the gather by engines ends long before the product. Ranks begin up to
    0.5 ms apart, and the one ahead waits; behind a barrier of the hosts none does, and what is left
    is what the gather takes alone.
    """
    pair = {
        "gather": {**REDUCE, "op": "all_gather", "backend": "nccl", "by": "engines"},
        "gemm": {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192},
    }
    two = load_node("h200-2")

    def waited(barrier: bool) -> float:
        host = {"release": "per_rank", "loop": {"iterations": 60, "barrier": barrier}}
        return run_of(pair, two, host=host).task("gather").waited

    assert waited(barrier=True) == 0.0
    assert waited(barrier=False) > 50e-6
