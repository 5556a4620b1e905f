"""Runs that are remembered: one workload is simulated once on nodes that are the same to it.

A run is a pure function of the workload, the kinds of sharing taken away, and the numbers that it
reads of the node (reads.py). It is kept by the text of the first two, with what it read, and holds
on every node that has the same there. Strategies, isolated times, explanations, draws and studies
all ask here.
"""

from __future__ import annotations

from typing import NamedTuple

from c3sim.machine.machine import POSTS, SHARING, STORE_QUEUES
from c3sim.simulation.reads import Shape, watched
from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import kind_of

#: Times of tasks, about 1 kB each: enough for each task of the largest workload alone, twice, and
#: for thousands of runs of a few tasks.
REMEMBERED = 65536
NODES = 32  # that differ in what one workload reads; the latest that were asked for

ALONE = "task"  # what a task alone, and its stream, may be called: equal ones share a run
#: Fields by which a task waits for others.
WAITS = ("after", "launch_after", "launch_time", "awaits", "peers_late")

_CONDITIONS = ("buffers", "tasks", "streams", "host", "schedule")
_Key = tuple[str, frozenset[str], bool, bool]


class _Known(NamedTuple):
    node: Node
    read: Shape
    run: Run


_runs: dict[_Key, list[_Known]] = {}  # the latest last
_held = 0  # times of tasks in them


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
    # The parts of a workload that decide its run; names and descriptions do not.
    conditions = workload.model_dump_json(include={*_CONDITIONS})
    key = (conditions, private, by_class, energy)
    found = _known(key, node)
    if found is None:
        seen, reads = watched(node)
        if type(node) is not Node:  # somebody else watches it: the run is of this very one
            seen, reads.whole = node, True
        found = simulate(seen, workload, private=private, by_class=by_class, energy=energy)
        _remember(key, _Known(node, reads.shape(), found))
    return found


def _known(key: _Key, node: Node) -> Run | None:
    known = _runs.get(key, [])
    for place in range(len(known) - 1, -1, -1):
        if known[place].read.agree(known[place].node, node):
            known.append(known.pop(place))
            return known[-1].run
    return None


def _remember(key: _Key, known: _Known) -> None:
    """Keep *known*, and the latest of the others as far as there is room."""
    global _held
    others = _runs[key] = _runs.pop(key, [])  # it is the latest now
    others.append(known)
    _held += len(known.run.times)
    while len(others) > NODES:
        _held -= len(others.pop(0).run.times)
    while _held > REMEMBERED and len(_runs) > 1:
        _held -= sum(len(each.run.times) for each in _runs.pop(next(iter(_runs))))


def undisturbed(node: Node, workload: Workload) -> Run:
    """The run in which tasks that compute and tasks that communicate share nothing; what waits for
    another task still does.
    """
    return run_once(node, workload, frozenset(kinds_of(workload)), by_class=True, energy=False)


def kinds_of(workload: Workload) -> tuple[str, ...]:
    """Kinds of sharing that tasks of *workload* may have."""
    tasks = workload.tasks.values()
    storing = any(kind_of(task).stores_at_peers(task) for task in tasks)
    posting = any(kind_of(task).posted(task) for task in tasks)
    return (*SHARING, *[STORE_QUEUES] * storing, *[POSTS] * posting)


def forget() -> None:
    """Remember no run any more."""
    global _held
    _runs.clear()
    _held = 0


def isolated(node: Node, workload: Workload, task: str) -> TaskRun:
    """*task* alone, on its slowest GPU; equal tasks share the run."""
    own = alone(workload, task, called=ALONE)
    return run_once(node, own, energy=False).task(ALONE)


def alone(workload: Workload, task: str, called: str | None = None) -> Workload:
    """*task* by itself: in its stream with the stream's mask, without dependencies on others, the
    host's own work before its launch, or peers that come late. *called*: it and its stream.
    """
    found = workload.tasks[task]
    fields = type(found).model_fields
    waits = {name: fields[name].default for name in WAITS if name in fields}
    stream = found.stream if called is None or found.stream is None else called
    kept = found.model_copy(update={**waits, "stream": stream})
    streams = {}
    if stream is not None and found.stream in workload.streams:
        streams[stream] = workload.streams[found.stream]
    host = workload.host.model_copy(update={"order": ()})
    tasks = {called or task: kept}
    changes = {"tasks": tasks, "streams": streams, "host": host, "schedule": None}
    return workload.model_copy(update=changes)
