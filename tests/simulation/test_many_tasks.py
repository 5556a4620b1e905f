"""Runs of many tasks: what must not grow with the square of them, and what they share."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from made_workload import workload_of

from c3sim.api import prepare
from c3sim.machine import machine
from c3sim.simulation import runs
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Loop, Workload
from c3sim.tasks import engine_collective

NODE = load_node("teaching-4")


def row(count: int, **fields: Any) -> Workload:
    """A row of equal kernels on one stream."""
    task = {"kind": "kernel", "time": "10 us", "workgroups": 4, "stream": "s", **fields}
    tasks = {f"k{number}": task for number in range(count)}
    return workload_of(tasks)


@pytest.mark.parametrize(("count", "split"), [(100, True), (101, False)])
def test_counters_of_many_tasks_are_not_split_by_task(count: int, split: bool) -> None:
    """The totals are there all the same."""
    timeline = simulate(NODE, row(count), trace=True).timeline
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


def test_the_order_of_the_tasks_may_be_said() -> None:
    """It is that without a word; another one is another run."""
    runs.forget()
    workload = row(3)
    names = tuple(workload.tasks)

    def launched(order: tuple[str, ...]) -> Workload:
        return workload.changed(host__order=order)

    first = runs.run_once(NODE, workload)
    assert runs.run_once(NODE, launched(names)) is first
    assert runs.run_once(NODE, launched(names[::-1])) is not first
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


def pieces(backend: str) -> Workload:
    """A GEMM behind an all-gather in two pieces that are alike."""
    found, _ = prepare(
        "gemm-behind-all-gather-in-pieces",
        None,
        {
            "workload.schedule.pieces": 2,
            "workload.schedule.steps": "uniform",
            "task.gather.backend": backend,
        },
    )
    return found


def looped(workload: Workload) -> Workload:
    """*workload* over and over: the clock of an MI300X remembers."""
    return workload.changed(host__loop=Loop(iterations=50))


@pytest.mark.parametrize(
    ("node", "workload"),
    [
        (NODE, row(50)),
        (load_node("mi300x-8"), pieces("dma")),
        (load_node("mi300x-8"), pieces("rccl")),
        (load_node("mi300x-8"), looped(pieces("rccl"))),
    ],
    ids=["kernels", "engines", "channels", "governors"],
)
def test_a_run_leaves_the_collector_nothing(node: Node, workload: Workload) -> None:
    """No circle of objects: there were eighty objects a task, when kernels, flows and what ends
    them were circles, and a thousand of the clock, its rules and the engines.
    """
    simulate(node, workload, energy=True)  # what is remembered beyond a run
    gc.collect()
    gc.disable()
    try:
        simulate(node, workload, energy=True)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_equal_pieces_ask_for_their_commands_and_flows_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight gathers of seven copies each: one program, one kind of copies on a GPU that stands for
    all, and of the GEMMs as many as a few pieces have that find the cache otherwise.
    """
    made: list[str] = []
    program, bill = engine_collective.collective_program, machine.bill_of
    monkeypatch.setattr(
        engine_collective,
        "collective_program",
        lambda *a, **k: made.append("program") or program(*a, **k),
    )
    monkeypatch.setattr(machine, "bill_of", lambda *a, **k: made.append("flow") or bill(*a, **k))
    simulate(load_node("mi300x-8"), pieces("dma"))
    assert made.count("program") == 1
    assert 1 < made.count("flow") < 7
