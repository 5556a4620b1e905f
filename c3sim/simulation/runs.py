"""Runs that are remembered: one workload on one node is simulated once.

A run is a pure function of node, workload and the kinds of sharing taken away, so it can be kept by
the text of all three. Strategies, isolated times, explanations and studies all ask here.
"""

from __future__ import annotations

from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

REMEMBERED = 8192  # runs; about 1 kB each

_runs: dict[tuple[str, str, frozenset[str]], Run] = {}


def run_once(node: Node, workload: Workload, private: frozenset[str] = frozenset()) -> Run:
    """The run of *workload* on *node* with its energy, from memory if it was simulated before."""
    # What of a workload decides its run; names and descriptions do not.
    conditions = workload.model_dump_json(include={"buffers", "tasks", "streams", "host"})
    key = (_text_of(node), conditions, private)
    run = _runs.get(key)
    if run is None:
        if len(_runs) >= REMEMBERED:
            del _runs[next(iter(_runs))]
        run = _runs[key] = simulate(node, workload, private=private, energy=True)
    return run


_last_node: list[tuple[Node, str]] = []


def _text_of(node: Node) -> str:
    """All of *node* as text; that of the last one is kept, as runs come in rows on one node."""
    if not _last_node or _last_node[0][0] is not node:
        _last_node[:] = [(node, node.model_dump_json())]
    return _last_node[0][1]


def forget() -> None:
    """Remember no run any more."""
    _runs.clear()


def isolated(node: Node, workload: Workload, task: str) -> TaskRun:
    """*task* alone, on its slowest GPU; equal tasks are simulated once, whatever their names."""
    single = alone(workload, task)
    renamed = single.model_copy(update={"tasks": {"task": single.tasks[task]}})
    return run_once(node, renamed).task("task")


def alone(workload: Workload, task: str) -> Workload:
    """*task* by itself: in its stream with the stream's mask, without dependencies on others."""
    kept = workload.tasks[task].model_copy(update={"after": (), "launch_after": ()})
    streams = {name: stream for name, stream in workload.streams.items() if name == kept.stream}
    host = workload.host.model_copy(update={"order": ()})
    return workload.model_copy(update={"tasks": {task: kept}, "streams": streams, "host": host})
