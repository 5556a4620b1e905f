"""The estimate of what a result of a description takes, beside the events of its runs."""

from typing import Any

import pytest
from iteration_case import described

from c3sim.errors import InputErrors
from c3sim.evaluation import effort as of_workloads
from c3sim.iterations.described import described_on, evaluate
from c3sim.iterations.effort import effort_of, effort_of_description
from c3sim.simulation import runs
from c3sim.spec.reading.loading import load_hardware

pytestmark = pytest.mark.turns(5)

SMALL: dict[str, Any] = {"batch": 8, "tokens": 512, "layers": 4, "launch": "graph"}
MESH = {"pp": 2, "dp_shard": 2, "schedule": "1f1b", "micro_batches": 4}


@pytest.fixture
def simulated(monkeypatch):
    """Events of all simulations since; an estimated event takes a second, a unit nothing."""
    monkeypatch.setattr(of_workloads, "EVENT_S", 1.0)
    monkeypatch.setattr(of_workloads, "UNIT_S", 0.0)
    counts, simulate = [], runs.simulate

    def counting(*given, **how):
        run = simulate(*given, **how)
        counts.append(run.events)
        return run

    monkeypatch.setattr(runs, "simulate", counting)
    runs.forget()
    return counts


@pytest.mark.parametrize(
    ("parallel", "strategy", "most"),
    [
        ({"kind": "fsdp"}, "as_written", 2),
        (MESH, "as_written", 2),
        (MESH, "conccl", 3),
        pytest.param({**MESH, "pp": 1, "dp_shard": 4}, "as_written", 2, marks=pytest.mark.long),
    ],
)
def test_every_run_behind_a_result_is_counted(parallel, strategy, most, simulated):
    """A pipeline of two stages has six parts: layers, start and end, each for two kinds of micro
    batches. With engines the side without collectives folds and the whole does not: GPUs are
    simulated one by one, and too many are counted, since they have events at the same instants.
    """
    loaded = described(**SMALL, parallel=parallel)
    node, workload = described_on(loaded, load_hardware("h200-4").node, {})
    counted = effort_of(workload, node, strategy).seconds
    evaluate(workload, node, strategy, noted=False)
    assert 0.5 < counted / sum(simulated) < most


def test_one_layer_tells_what_many_take(simulated):
    """Eight layers that are all gathered ahead are run as they are: twice what four take."""
    loaded, node = described(**SMALL, parallel={"kind": "fsdp"}), load_hardware("h200-4").node
    few = effort_of_description(loaded, node, {"layers": 4})
    deep = effort_of_description(loaded, node, {"layers": 8, "parallel.prefetch": 8})
    assert deep.seconds == pytest.approx(2 * few.seconds)
    assert simulated == []


@pytest.mark.parametrize("parallel", [{"kind": "fsdp"}, MESH])
def test_a_step_too_large_for_a_task_is_refused_before_its_work_is_counted(parallel):
    """Of a pipeline the parts of the model are looked at before any is built."""
    loaded, node = described(**SMALL, parallel=parallel), load_hardware("h200-4").node
    with pytest.raises(InputErrors, match=r"batch: .* need a kernel with workgroups = \d+"):
        effort_of_description(loaded, node, {"batch": 10_000_000})
