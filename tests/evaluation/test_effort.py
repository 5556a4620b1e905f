"""The estimate of what a run takes, beside what it takes."""

import pytest

from c3sim.api import prepare
from c3sim.evaluation.effort import effort_of, events_of
from c3sim.simulation.simulate import simulate

PAIR = "gemm-beside-all-gather"


@pytest.mark.parametrize(
    ("workload", "changes"),
    [
        (PAIR, {}),
        (PAIR, {"task.gather.chunks": 500}),
        (PAIR, {"task.gemm.repeat": 50}),
        (PAIR, {"task.gemm.m": 500_000, "task.gemm.k": 512}),
        ("gemm-beside-dma-all-gather", {"gpus": 64}),
        ("gemm-beside-dma-all-gather", {"task.gather.repeat": 20}),
        ("dma-collective", {"gpus": 16}),
        ("tiles-release-copy", {}),
        ("gemms-wait-for-chunks", {}),
        ("all-reduce-across-nodes", {"task.reduce.pipeline": 64}),
    ],
)
def test_events_are_counted_within_a_factor_of_two(workload, changes):
    plain, node = prepare(workload, None, changes)
    run = simulate(node, plain)
    counted = events_of(plain, node) * (1 if run.folded else node.ranks)
    assert 0.5 < counted / run.events < 2


def test_twice_the_work_takes_twice_as_long():
    """10,000 against 5,000 repetitions of 7 events: launches of both tasks hardly count."""
    half, whole = (
        effort_of(*prepare(PAIR, None, {"task.gemm.repeat": repeat})) for repeat in (5000, 10_000)
    )
    assert whole.seconds / half.seconds == pytest.approx(2, rel=0.01)
    assert whole.times(10, jobs=5).seconds == pytest.approx(2 * whole.seconds)
