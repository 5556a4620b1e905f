"""Runs that are remembered: one workload on one node is simulated once.

A run is a pure function of node, workload and the kinds of sharing taken away, so it can be kept by
the text of all three. Strategies, isolated times, explanations and studies all ask here.
"""

from __future__ import annotations

from c3sim.machine.machine import POSTS, SHARING, STORE_QUEUES
from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import kind_of

#: Times of tasks, about 1 kB each: enough for each task of the largest workload alone, twice, and
#: for thousands of runs of a few tasks.
REMEMBERED = 65536
REMEMBERED_NODES = 8192

ALONE = "task"  # what a task alone, and its stream, may be called: equal ones share a run
#: Fields by which a task waits for others.
WAITS = ("after", "launch_after", "launch_time", "awaits", "peers_late")
#: Parts of a node that have no say in the times of a task alone which stays within a GPU
#: (tests/simulation/test_isolated_once.py).
AROUND_A_GPU = frozenset({"name", "description", "links", "collective_libraries", "scale_out"})

_CONDITIONS = ("buffers", "tasks", "streams", "host", "schedule")
_Key = tuple[str, str, frozenset[str], bool, bool]
_runs: dict[_Key, Run] = {}
_held = 0  # times of tasks in them
#: by id of a node, which is kept, so that the id stays, and whether only its GPU counts
_texts: dict[tuple[int, bool], tuple[Node, str]] = {}


def run_once(
    node: Node,
    workload: Workload,
    private: frozenset[str] = frozenset(),
    *,
    by_class: bool = False,
    energy: bool = True,
    around: bool = True,
) -> Run:
    """The run of *workload* on *node*, from memory if it was simulated before; *private* and
    *by_class* as in :func:`simulate`. The *energy* of one that is asked for without is not known.
    Not *around*: what is around a GPU has no say in what is asked for.
    """
    # The parts of a workload that decide its run; names and descriptions do not.
    conditions = workload.model_dump_json(include={*_CONDITIONS})
    key = (_text(node, around), conditions, private, by_class, energy)
    run = _runs.get(key)
    if run is None:
        run = simulate(node, workload, private=private, by_class=by_class, energy=energy)
        _remember(key, run)
    return run


def _remember(key: _Key, run: Run) -> None:
    """Keep *run*, and the latest of the others as far as there is room."""
    global _held
    _runs[key] = run
    _held += len(run.times)
    while _held > REMEMBERED and len(_runs) > 1:
        _held -= len(_runs.pop(next(iter(_runs))).times)


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


def _text(node: Node, around: bool) -> str:
    """The whole of *node*, or what counts where nothing *around* a GPU does."""
    key = id(node), around
    if key not in _texts:
        if len(_texts) >= REMEMBERED_NODES:
            _texts.clear()
        left_out = None if around else set(AROUND_A_GPU)
        _texts[key] = (node, node.model_dump_json(exclude=left_out))
    return _texts[key][1]


def forget() -> None:
    """Remember no run any more."""
    global _held
    _runs.clear()
    _held = 0
    _texts.clear()


def isolated(node: Node, workload: Workload, task: str) -> TaskRun:
    """*task* alone, on its slowest GPU; equal tasks share the run."""
    around = not kind_of(workload.tasks[task]).within_gpu
    own = alone(workload, task, called=ALONE)
    return run_once(node, own, around=around, energy=False).task(ALONE)


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
