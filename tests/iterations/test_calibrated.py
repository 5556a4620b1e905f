"""A step held against a measured one: what its operators and its host take there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iteration_case import described as loaded_case

from c3sim.importers.workloads.step import StepTimes, step_times
from c3sim.iterations.calibrated import calibrated
from c3sim.iterations.described import described, evaluate
from c3sim.iterations.result import IterationResult
from c3sim.spec.iteration import Described
from c3sim.spec.reading.loading import load_hardware

pytestmark = pytest.mark.turns(5)

NODE = load_hardware("h200-2").node
JOB = Path(__file__).parents[1] / "importers" / "data" / "fsdp_h200x2"
STEP: dict[str, Any] = {
    **{"node": "h200-2", "layers": 2, "tokens": 2048, "phase": "forward"},
    "parallel": {"dp_shard": 2},
}


def case(**changes: Any) -> Described:
    return described(loaded_case(**STEP), NODE).changed(**changes)


def step(found: IterationResult, *, classes: bool = True) -> StepTimes:
    """*found* as if it had been measured."""
    busy = {name: times.busy_s for name, times in found.overlap.classes.items() if times.busy_s}
    times = {"wall_s": found.wall_s, "exposed_s": found.overlap.exposed_s}
    return StepTimes(name="step", **times, busy_s=busy if classes else {}, host_s=found.host_s)


def run(workload: Described) -> IterationResult:
    return evaluate(workload, NODE, "as_written")


def test_what_a_machine_takes_is_found_again() -> None:
    """One whose GEMMs take a fifth longer and whose attention a tenth less, in a step of the model
    itself. Norms are bound by memory and by loads that wait: their factor is not the only one.
    """
    other = run(case(takes={"gemm": 1.2, "attention": 0.9}))
    found = calibrated(case(), NODE, step(other))
    assert found.workload.takes["gemm"] == pytest.approx(1.2, rel=0.01)
    assert found.workload.takes["attention"] == pytest.approx(0.9, rel=0.01)
    assert found.workload.takes["communication"] == pytest.approx(1.0, abs=0.03)
    assert found.left_over == pytest.approx(1.0, abs=3e-3)


def test_times_of_the_whole_scale_all_operators() -> None:
    other = run(case(takes={"gemm": 1.3, "attention": 1.3, "elementwise": 1.3}))
    found = calibrated(case(), NODE, step(other, classes=False))
    assert found.after.wall_s == pytest.approx(other.wall_s, rel=0.01)
    assert 1.2 < found.workload.takes["gemm"] < 1.35


def test_a_what_if_keeps_what_the_machine_takes() -> None:
    """But for a host whose speed is set by hand."""
    other = run(case(takes={"gemm": 1.2}))
    found = calibrated(case(), NODE, step(other))
    kept = found.onto(case(), {"links.bandwidth": "1 GB/s"})
    assert kept.takes == found.workload.takes
    assert kept.iteration.slowness == found.workload.iteration.slowness
    by_hand = found.onto(case(), {"slowness": 2.0})
    assert by_hand.iteration.slowness is None


@pytest.mark.slow
@pytest.mark.long
def test_a_real_step_is_predicted_and_calibrated_as_its_page_says() -> None:
    """docs/my-job.md: 50.4 ms predicted, 50.2 calibrated, 49.1 measured. Of 2048 tokens, another
    step, all operators are far off, and the wall stays 6 % long.
    """
    step = {"layers": 4, "tokens": 4096, "optimizer": "adamw", "optimizer_kernels": "fused"}
    own = described(
        loaded_case(**STEP | step | {"phase": "training", "parallel": {"kind": "fsdp"}}), NODE
    )
    found = calibrated(own, NODE, step_times([JOB]))
    walls = [
        round(1e3 * each, 1)
        for each in (found.measured.wall_s, found.before.wall_s, found.after.wall_s)
    ]
    assert walls == [49.1, 50.4, 50.2]
