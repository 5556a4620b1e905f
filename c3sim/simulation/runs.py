"""Runs that are remembered: one workload on one node is simulated once.

A run is a pure function of node, workload and the kinds of sharing taken away, so it can be kept by
the text of all three. Strategies, isolated times, explanations and studies all ask here.
"""

from __future__ import annotations

from c3sim.machine.machine import SHARING
from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Workload

REMEMBERED = 8192  # runs; about 1 kB each

ALONE = "task"  # what a task alone, and its stream, may be called: equal ones share a run

_CONDITIONS = ("buffers", "tasks", "streams", "host", "schedule")
_runs: dict[tuple[str, str, frozenset[str], bool], Run] = {}
_texts: dict[int, tuple[Node, str]] = {}  # by id of a node, which is kept, so that the id stays


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
    conditions = workload.model_dump_json(include={*_CONDITIONS})
    key = (_text(node), conditions, private, by_class)
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


def _text(node: Node) -> str:
    """The whole of *node*."""
    if id(node) not in _texts:
        if len(_texts) >= REMEMBERED:
            _texts.clear()
        _texts[id(node)] = (node, node.model_dump_json())
    return _texts[id(node)][1]


def forget() -> None:
    """Remember no run any more."""
    _runs.clear()
    _texts.clear()


def isolated(node: Node, workload: Workload, task: str) -> TaskRun:
    """*task* alone, on its slowest GPU; equal tasks share the run."""
    return run_once(node, alone(workload, task, called=ALONE)).task(ALONE)


def alone(workload: Workload, task: str, called: str | None = None) -> Workload:
    """*task* by itself: in its stream with the stream's mask, without dependencies on others, the
    host's own work before its launch, or peers that come late. *called*: it and its stream.
    """
    found = workload.tasks[task]
    waits: dict[str, object] = {"after": (), "launch_after": (), "launch_time": None}
    if isinstance(found, Collective):
        waits["peers_late"] = 0.0
    stream = found.stream if called is None or found.stream is None else called
    kept = found.model_copy(update={**waits, "stream": stream})
    streams = {}
    if stream is not None and found.stream in workload.streams:
        streams[stream] = workload.streams[found.stream]
    host = workload.host.model_copy(update={"order": ()})
    tasks = {called or task: kept}
    changes = {"tasks": tasks, "streams": streams, "host": host, "schedule": None}
    return workload.model_copy(update=changes)
