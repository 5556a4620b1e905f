"""What a measured step took, by class: from the traces of both ranks of a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from c3sim.importers.workloads.step import step_times

JOB = Path(__file__).parents[1] / "data" / "fsdp_h200x2"


def test_classes_of_a_step_are_those_that_the_trace_shows() -> None:
    """Four layers of Llama 3 8B under FSDP with a fused AdamW: 49.1 ms, as its import says. Every
    kernel has a class; with what is exposed they fill the wall, but for pauses between kernels and
    copies beside others.
    """
    found = step_times([JOB], 2)
    assert found.wall_s == pytest.approx(49.1e-3, rel=0.01)
    computing = sum(time for name, time in found.busy_s.items() if name != "communication")
    assert found.exposed_s is not None
    assert computing + found.exposed_s == pytest.approx(found.wall_s, rel=0.03)
    assert found.busy_s["gemm"] > found.busy_s["communication"] > found.busy_s["attention"]
    assert found.host_s is not None and found.host_s < found.wall_s
