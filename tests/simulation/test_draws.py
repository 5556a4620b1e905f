"""The ways in which ranks that are released by themselves may begin."""

from __future__ import annotations

from math import sqrt
from statistics import fmean

import pytest
from made_workload import run_of, workload_of

from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.explanation import explain_run
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.simulation.draws import MOST, draws, weighted_median, weighted_quantile
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import plan

GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096}
GATHER = {"kind": "collective", "op": "all_gather", "size": 128 * 2**20}


@pytest.fixture(scope="module")
def node() -> Node:
    return load_node("h200-2")


def pair(**host: object) -> Workload:
    tasks = {"gemm": GEMM, "gather": GATHER}
    return workload_of(tasks, host=host)


def test_one_event_for_all_gpus_is_one_way(node: Node) -> None:
    (only,) = draws(plan(pair(), node))
    assert only.probability == 1
    assert only.arrivals.classes[0].order == ()


def test_two_ranks_draw_one_of_two_orders_each(node: Node) -> None:
    """Both the one order: 1/2 x 1/2; both the other: as likely; one of each: the rest."""
    ways = {
        frozenset(arrival.order for arrival in draw.arrivals.classes): draw.probability
        for draw in draws(plan(pair(release="per_rank"), node))
    }
    first, second = ("gemm", "gather"), ("gather", "gemm")
    assert ways == {
        frozenset({first}): 0.25,
        frozenset({second}): 0.25,
        frozenset({first, second}): 0.5,
    }


def test_eight_ranks_seldom_agree() -> None:
    """1 - 2 x 2^-8 of all turns have both orders."""
    node = load_node("h200-8")
    mixed = max(draws(plan(pair(release="per_rank"), node)), key=lambda draw: draw.probability)
    assert mixed.probability == pytest.approx(1 - 2 / 256)
    assert len(mixed.arrivals.classes) == 2


def test_a_gpu_that_keeps_launch_order_has_one_way() -> None:
    node = load_node("mi300x-8")
    assert node.gpu.kernels.release_order == "launch"
    assert len(draws(plan(pair(release="per_rank"), node))) == 1


def test_a_kernel_that_waits_for_another_does_not_race(node: Node) -> None:
    tasks = {"gemm": GEMM, "gather": {**GATHER, "after": ["gemm"]}}
    host = {"release": "per_rank"}
    workload = workload_of(tasks, host=host)
    assert len(draws(plan(workload, node))) == 1


def test_more_streams_are_sampled_and_cut(node: Node) -> None:
    """Three kernels have six orders; two ranks then 21 sets of orders, of which some are kept."""
    tasks = {"a": GEMM, "b": GEMM, "gather": GATHER}
    host = {"release": "per_rank"}
    workload = workload_of(tasks, host=host)
    ways = draws(plan(workload, node))
    assert len(ways) == MOST
    assert sum(draw.probability for draw in ways) == pytest.approx(1)


def test_the_distance_of_first_and_last_is_a_distribution(node: Node) -> None:
    """Two ranks, evenly late by up to 90 us: P(at most r) = 2 r - r^2, so the quantile q is
    1 - sqrt(1 - q) of it; here those of 1/8, 3/8, 5/8, 7/8. The mean is 1/3 of it.
    """
    ways = draws(plan(pair(release="host", jitter=90e-6), node))
    expected = [90e-6 * (1 - sqrt(1 - q / 8)) for q in (1, 3, 5, 7)]
    assert [way.arrivals.classes[0].late for way in ways] == [0] * 4
    assert [way.arrivals.classes[1].late for way in ways] == pytest.approx(expected)
    assert fmean(expected) == pytest.approx(30e-6, rel=0.03)


def test_the_median_of_equal_halves_lies_between_them() -> None:
    assert weighted_median([1.0, 2.0, 4.0], [0.25, 0.25, 0.5]) == 3.0
    assert weighted_median([1.0, 2.0, 4.0], [0.2, 0.2, 0.6]) == 4.0
    assert weighted_quantile([5.0, 1.0], [0.1, 0.9], 0.95) == 5.0


def test_a_rank_whose_gemm_is_first_keeps_the_collective_out_on_all(node: Node) -> None:
    """If both orders occur, the collective begins behind a GEMM and the other GEMM runs beside
    waiting channels: later than any of the two orders alone.
    """
    run = simulate(node, pair(release="per_rank"))
    ends = {len(outcome.arrivals.classes): outcome.end for outcome in run.outcomes}
    agreed = [o.end for o in run.outcomes if len(o.arrivals.classes) == 1]
    assert ends[2] > max(agreed)
    assert min(agreed) < run.end <= ends[2]


@pytest.mark.parametrize("name", ["h200-2", "h200-4"])
def test_classes_that_are_folded_end_when_all_gpus_do(name: str) -> None:
    machine = load_node(name)
    folded = simulate(machine, pair(release="per_rank"), fold=True)
    unfolded = simulate(machine, pair(release="per_rank"), fold=False)
    assert [outcome.end for outcome in folded.outcomes] == pytest.approx(
        [outcome.end for outcome in unfolded.outcomes]
    )


def test_a_loop_counts_from_the_first_kernel(node: Node) -> None:
    """Its dispatch latency lies before the turn."""
    single = run_of({"gemm": GEMM}, node)
    loop = {"iterations": 1, "barrier": True}

    def end(**begin: str) -> float:
        return run_of({"gemm": GEMM}, node, host={"loop": {**loop, **begin}}).end

    assert end() == pytest.approx(single.end - node.gpu.kernels.dispatch_latency)
    assert end(begin="release") == pytest.approx(single.end)


def test_a_long_loop_reaches_the_power_limit(node: Node) -> None:
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
    ends = []
    for turns in (2, 400):
        host = {"loop": {"iterations": turns, "barrier": True}}
        ends.append(run_of({"gemm": gemm}, node, host=host).end)
    assert ends[1] > 1.05 * ends[0]


def test_explain_names_ranks_out_of_step(node: Node) -> None:
    """On one event the GEMM, launched first, waits for nobody; drawn orders have it lose."""
    workload = pair(release="per_rank")
    explained = explain_run(best_candidate("as_written", workload, node), node, "as_written")
    gemm = explained.tasks["gemm"]
    assert gemm.causes_s["ranks"] > 0.02 * gemm.isolated_s
    assert abs(gemm.left_over_s) < 0.05 * gemm.isolated_s


def test_a_result_has_its_draws(node: Node) -> None:
    result = evaluate_run(pair(release="per_rank"), node, "as_written")
    assert result.ranks.count == 2
    assert sum(draw.probability for draw in result.ranks.draws) == pytest.approx(1)
    assert result.ranks.wall_p5_s <= result.wall_s <= result.ranks.wall_p95_s
    assert any("in one of 3 ways" in note for note in result.notes)
    in_step = evaluate_run(pair(), node, "as_written")
    assert not in_step.ranks.draws
    assert in_step.ranks.wall_p5_s == in_step.wall_s == in_step.ranks.wall_p95_s


def test_loops_without_a_barrier_drift(node: Node) -> None:
    """Beside a long GEMM a short collective leaves ranks apart; with a barrier they never are."""
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192}
    short = {"kind": "collective", "op": "all_gather", "size": 32 * 2**20}
    lates = []
    for barrier in (True, False):
        host = {"release": "per_rank", "loop": {"iterations": 8, "barrier": barrier}}
        run = run_of({"gemm": gemm, "gather": short}, node, host=host)
        assert len(run.outcomes) <= MOST
        assert sum(outcome.probability for outcome in run.outcomes) == pytest.approx(1)
        lates.append(max(a.late for o in run.outcomes for a in o.arrivals.classes))
    assert lates[0] == 0 < lates[1]
