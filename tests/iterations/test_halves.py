"""Two half batches: the exchange of one runs while the other computes."""

from __future__ import annotations

from typing import Any

import pytest

from c3sim.api import prepare
from c3sim.errors import InputErrors
from c3sim.iterations.described import evaluate
from c3sim.result import Result
from c3sim.spec.iteration import Iteration
from c3sim.spec.workload import Collective

STEP = {
    "schema": 1,
    "kind": "iteration",
    "name": "prefill",
    "node": "teaching-4",
    "model": "llama-3-8b",
    "layers": 4,
    "batch": 2,
    "tokens": 1024,
    "phase": "prefill",
    "launch": "graph",
    "parallel": {"kind": "tensor"},
}


def iteration(**more: Any) -> Iteration:
    return Iteration.model_validate({**STEP, **more})


def run(**more: Any) -> Result:
    workload, node = prepare(iteration(**more), None)
    return evaluate(workload, node, "as_written", noted=False, stretched=False)


def test_each_half_waits_for_its_own_exchange_alone() -> None:
    """The operator behind the first half's sum waits for that; what is launched between them is the
    other half's and waits for nothing of it.
    """
    workload, _ = prepare(iteration(halves=2), None)
    tasks = workload.tasks
    sums = [name for name, task in tasks.items() if isinstance(task, Collective)]
    mine, other = sums[0], sums[1]
    assert other == mine.replace("forward1-", "forward1-half-") and mine != other
    assert tasks[mine].size == prepare(iteration(), None)[0].tasks[mine].size / 2
    waiting = {wait for task in tasks.values() for wait in task.after if wait in (mine, other)}
    assert waiting == {mine, other}
    first = next(name for name, task in tasks.items() if mine in task.after)
    assert other not in tasks[first].after and "-half" not in first


def test_exchanges_hide_behind_the_other_half() -> None:
    """Four GPUs on slow links: what is exposed shrinks, and the step with it."""
    whole, halves = run(), run(halves=2)
    assert halves.overlap.exposed_s < 0.6 * whole.overlap.exposed_s
    assert halves.wall_s < whole.wall_s


def test_one_sequence_has_no_halves() -> None:
    with pytest.raises(InputErrors, match="no two halves"):
        run(halves=2, batch=1)
