"""Parts of a step's wall time: each moment is of one part, and the parts add up to it."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from iteration_case import result
from rich.console import Console

from c3sim.iterations.shares import parts_of_step
from c3sim.kit.step import step_of, step_of_result
from c3sim.output.tables.run import iteration_table
from c3sim.simulation.run import Exposure, Run, TaskRun

pytestmark = pytest.mark.turns(5)

SPANS = {
    "up": (1.0, 5.0, "gemm"),
    "norm": (4.0, 6.0, "normalisation"),
    "sum": (5.5, 8.0, "communication"),
    "late": (9.0, 10.0, "communication"),
    "down": (12.0, 13.0, "gemm"),
}


def test_every_moment_has_its_part() -> None:
    """0 to 1 and 10 to 12 before a GEMM: launches, 3 s. 1 to 4 the GEMM, 4 to 5 half and half, 5 to
    6 the norm, though the sum has begun; 6 to 8 and 9 to 10 communication; 8 to 9 it is waited for;
    12 to 13 a GEMM again. Nothing runs until 14, and nothing follows.
    """
    times = {
        (name, 0): TaskRun(ready=start, start=start, end=end, detail={})
        for name, (start, end, _) in SPANS.items()
    }
    run = Run(
        times=times,
        end=14.0,
        begins={0: 0.0},
        idle=0.0,
        folded=True,
        events=0,
        exposure=Exposure(0.0, 0.0),
    )
    parts = parts_of_step(run, {name: kind for name, (_, _, kind) in SPANS.items()})
    expected = {"launches": 3.0, "gemm": 4.5, "normalisation": 1.5, "communication": 3.0}
    assert parts == pytest.approx({**expected, "waiting": 1.0, "idle": 1.0})


FSDP = {"kind": "fsdp"}
PIPELINE = {"kind": "pipeline", "micro_batches": 2}


@pytest.mark.parametrize(("parallel", "launch"), [(FSDP, "graph"), (PIPELINE, "eager")])
def test_parts_of_an_iteration_add_up_to_its_wall_time(parallel: dict, launch: str) -> None:
    """Of the table and the picture too, which draws a few layers."""
    step = result(layers=12, batch=2, tokens=512, parallel=parallel, launch=launch)
    assert step.simulated < 12 or step.host_bound
    assert sum(step.parts.values()) == pytest.approx(step.wall_s, rel=1e-9)
    assert step.classes_frame()["share"].sum() == pytest.approx(1.0)
    assert (step.parts.get("bubbles", 0.0) > 0) == (parallel is PIPELINE)
    drawn = step_of_result(step)
    assert sum(drawn.parts.values()) == pytest.approx(step.wall_s)
    assert drawn.end == step_of(step.tasks).end  # its axis is that of the layers drawn
    text = io.StringIO()
    Console(file=text, width=100).print(iteration_table(step))
    wall = next(line for line in text.getvalue().splitlines() if line.startswith("wall   "))
    assert wall.split()[-1] == "100.0"


def test_a_time_that_rounds_to_nothing_has_no_sign() -> None:
    """A sum over classes that ends at -1 ps of stretching."""
    step = result(layers=2, batch=1, tokens=128)
    step = replace(step, overlap=replace(step.overlap, stretched_s=-1e-12))
    text = io.StringIO()
    Console(file=text, width=100).print(iteration_table(step))
    assert "operators stretched by 0.000" in text.getvalue()


def test_operators_that_run_shorter_than_alone_are_not_stretched_by_less_than_nothing() -> None:
    step = result(layers=2, batch=1, tokens=128)
    step = replace(step, wall_s=0.02, overlap=replace(step.overlap, stretched_s=-0.0085))
    text = io.StringIO()
    Console(file=text, width=200).print(iteration_table(step))
    shorter = "operators 8.500 ms shorter than alone, as waits leave power for a higher clock"
    assert f", {shorter}" in text.getvalue()
