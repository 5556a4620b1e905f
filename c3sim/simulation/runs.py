"""Runs that are remembered: one workload on one node is simulated once.

A run is a pure function of node, workload and the kinds of sharing taken away, so it can be kept by
the text of all three. Strategies, isolated times, explanations and studies all ask here.
"""

from __future__ import annotations

from c3sim.machine.machine import SHARING
from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

REMEMBERED = 8192  # runs; about 1 kB each
UNNAMED = "alone"  # the task of a run of its own

_runs: dict[tuple[str, str, frozenset[str], bool], Run] = {}


def run_once(
    node: Node,
    workload: Workload,
    private: frozenset[str] = frozenset(),
    *,
    by_class: bool = False,
    energy: bool = True,
) -> Run:
    """The run of *workload* on *node*, from memory if it was simulated before; *private* and
    *by_class* as in :func:`simulate`. The *energy* of one that is asked for without is not known.
    """
    # What of a workload decides its run; names and descriptions do not.
    conditions = workload.model_dump_json(include={"buffers", "tasks", "streams", "host"})
    key = (node.model_dump_json(), conditions, private, by_class)
    run = _runs.get(key)
    if run is None:
        if len(_runs) >= REMEMBERED:
            del _runs[next(iter(_runs))]
        run = simulate(node, workload, private=private, by_class=by_class, energy=energy)
        _runs[key] = run
    return run


def undisturbed(node: Node, workload: Workload) -> Run:
    """The run in which tasks that compute and tasks that communicate share nothing; what waits for
    another task still does.
    """
    return run_once(node, workload, frozenset(SHARING), by_class=True, energy=False)


def forget() -> None:
    """Remember no run any more."""
    _runs.clear()


def isolated(node: Node, workload: Workload, task: str) -> TaskRun:
    """*task* alone, on its slowest GPU; equal tasks share the run."""
    only = alone(workload, task)
    unnamed = only.model_copy(update={"tasks": {UNNAMED: only.tasks[task]}})
    return run_once(node, unnamed).task(UNNAMED)


def alone(workload: Workload, task: str) -> Workload:
    """*task* by itself: in its stream with the stream's mask, without dependencies on others."""
    kept = workload.tasks[task].model_copy(update={"after": ()})
    streams = {name: stream for name, stream in workload.streams.items() if name == kept.stream}
    host = workload.host.model_copy(update={"order": ()})
    return workload.model_copy(update={"tasks": {task: kept}, "streams": streams, "host": host})
