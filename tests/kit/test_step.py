"""The time of a step: each moment is of what computes, else of communication alone, else idle."""

from dataclasses import replace

import pytest

from c3sim.kit.step import class_of, classes_of, is_step, step_of
from c3sim.result import TaskResult


def task(kind: str, start: float, end: float, operator: str | None = None) -> TaskResult:
    return TaskResult(
        isolated_s=end - start,
        start_s=start,
        end_s=end,
        time_s=end,
        slowdown=1.0,
        kind=kind,
        energy_j=0.0,
        detail={} if operator is None else {"operator": operator},
    )


STEP = {
    "gather": task("collective", 1.0, 4.0),
    "up": task("gemm", 2.0, 6.0),
    "norm": task("kernel", 5.0, 8.0, "normalisation"),
    "scatter": task("collective", 9.0, 10.0),
}


def test_parts_of_a_step_add_up_to_it():
    """0 to 1 idle; 1 to 2 the gather alone; 2 to 5 the GEMM; 5 to 6 GEMM and norm, half each; 6 to
    8 the norm; 8 to 9 idle; 9 to 10 the scatter alone."""
    step = step_of(STEP)
    expected = {"gemm": 3.5, "normalisation": 2.5, "communication alone": 2.0, "idle": 2.0}
    assert step.parts == pytest.approx(expected)
    assert list(step.parts) == list(expected)
    assert step.alone == [(1.0, 2.0), (9.0, 10.0)]
    assert step.end == 10.0 == sum(step.parts.values())


def test_exposed_parts_that_touch_are_one():
    """One collective follows another at 3: communication is alone from 1 to 5."""
    tasks = {"a": task("collective", 1.0, 3.0), "b": task("collective", 3.0, 5.0)}
    assert step_of(tasks).alone == [(1.0, 5.0)]


def test_tasks_of_a_pair_are_shown_by_kind_those_of_a_step_by_class():
    pair = {name: STEP[name] for name in ("gather", "up")}
    assert not is_step(pair) and classes_of(pair) == {"gather": "collective", "up": "gemm"}
    assert is_step(STEP)
    assert set(classes_of(STEP).values()) == {"communication", "gemm", "normalisation"}


def test_what_says_no_class_has_that_of_its_kind():
    assert class_of(task("copy", 0.0, 1.0)) == "communication"
    assert class_of(task("hold", 0.0, 1.0)) == "hold"
    assert class_of(replace(task("gemm", 0.0, 1.0), detail={"tiles": 3})) == "gemm"
