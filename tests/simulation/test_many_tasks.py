"""Runs of many tasks: what must not grow with the square of them, and what they share."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from c3sim.input.loading import load_hardware, parse_workload
from c3sim.simulation import runs
from c3sim.simulation.simulate import simulate
from c3sim.specs.workload import Workload

NODE = load_hardware("teaching-4").node


def row(count: int, **fields: Any) -> Workload:
    """A row of equal kernels on one stream."""
    task = {"kind": "kernel", "time": "10 us", "workgroups": 4, "stream": "s", **fields}
    tasks = {f"k{number}": task for number in range(count)}
    return parse_workload({"schema": 1, "name": "row", "tasks": tasks})


@pytest.mark.parametrize(("count", "split"), [(100, True), (101, False)])
def test_counters_of_many_tasks_are_not_split_by_task(count: int, split: bool) -> None:
    """The totals are there all the same."""
    timeline = simulate(NODE, row(count), trace=True).timeline
    assert timeline is not None
    (units,) = (c for c in timeline.counters if c.name == "gpu0.compute_units")
    assert bool(units.by_task) is split
    assert max(units.values) == 4


def test_equal_tasks_share_a_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    runs.forget()
    made = []
    monkeypatch.setattr(
        runs, "simulate", lambda *args, **more: made.append(1) or simulate(*args, **more)
    )
    workload = row(20)
    times = {runs.isolated(NODE, workload, name).end for name in workload.tasks}
    assert (len(times), len(made)) == (1, 1)
    runs.forget()


def test_a_run_leaves_the_collector_as_it_was() -> None:
    assert gc.isenabled()
    simulate(NODE, row(2))
    assert gc.isenabled()
    gc.disable()
    try:
        simulate(NODE, row(2))
        assert not gc.isenabled()
    finally:
        gc.enable()


def left_over(count: int) -> int:
    """Objects of a run that only the garbage collector frees."""
    workload = row(count)
    simulate(NODE, workload, energy=True)  # what is remembered beyond a run
    gc.collect()
    gc.disable()
    try:
        simulate(NODE, workload, energy=True)
        return gc.collect()
    finally:
        gc.enable()


def test_tasks_that_have_ended_leave_the_collector_little() -> None:
    """Two objects a task; they were eighty when kernels, flows and what ends them were circles."""
    assert left_over(150) - left_over(50) <= 5 * 100
