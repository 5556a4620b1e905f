"""Runs of the simulator, reduced to plain numbers and remembered: one workload on one node is
simulated once.

A run is a pure function of node, workload and the kinds of sharing taken away, so its outcome can be kept by the text
of all three. Strategies, isolated times, explanations and studies all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from c3sim.engine.recorder import Recorder
from c3sim.machine.energy import IDLE, Account, components_of, idle_energy, task_accounts
from c3sim.result import Timeline
from c3sim.simulation.counters import counters
from c3sim.simulation.simulate import Outcome, simulate
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

REMEMBERED = 8192  # runs; about 1 kB each


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One task [s, from the common release]: when it was ready, its first workgroup or command, its
    end; energy [J] by name of the energy (``machine/energy.py``), all GPUs, without idle power.
    """

    ready: float
    start: float
    end: float
    account: Account
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def energy(self) -> float:
        return sum(self.account.values())


@dataclass(frozen=True, slots=True)
class Run:
    """One run: each task on its slowest GPU, the last end [s], energy of all GPUs [J], whatever
    they do (*idle*) and in all.
    """

    tasks: Mapping[str, TaskRun]
    wall: float
    idle: float
    folded: bool
    events: int

    @property
    def energy(self) -> float:
        return sum(task.energy for task in self.tasks.values()) + self.idle

    @property
    def account(self) -> Account:
        """Energy [J] of the whole by name of the energy, idle power included."""
        found = {IDLE: self.idle}
        for task in self.tasks.values():
            for name, joules in task.account.items():
                found[name] = found.get(name, 0.0) + joules
        return found


_runs: dict[tuple[str, str, frozenset[str]], Run] = {}
_nodes: dict[
    int, tuple[Node, str]
] = {}  # id -> the node, kept alive so that the id stays its own, and its text


def alone(workload: Workload, task: str) -> Workload:
    """*task* by itself: in its stream with the stream's mask, without dependencies on others."""
    kept = workload.tasks[task].model_copy(update={"after": ()})
    streams = {name: stream for name, stream in workload.streams.items() if name == kept.stream}
    host = workload.host.model_copy(update={"order": ()})
    return workload.model_copy(update={"tasks": {task: kept}, "streams": streams, "host": host})


def isolated(node: Node, workload: Workload, task: str) -> TaskRun:
    """The run of *task* alone."""
    return run_once(node, alone(workload, task)).tasks[task]


def run_once(node: Node, workload: Workload, private: frozenset[str] = frozenset()) -> Run:
    """The run of *workload* on *node*, from memory if it was made before."""
    key = (_text(node), _conditions(workload), private)
    run = _runs.get(key)
    if run is None:
        recorder = Recorder()
        outcome = simulate(node, workload, private=private, observers=(recorder,))
        if len(_runs) >= REMEMBERED:
            del _runs[next(iter(_runs))]
        run = _runs[key] = _reduce(node, workload, outcome, recorder)
    return run


def run_traced(node: Node, workload: Workload) -> tuple[Run, Timeline]:
    """As :func:`run_once`, with the timeline."""
    recorder = Recorder()
    outcome = simulate(node, workload, observers=(recorder,), spans=True)
    spans = sorted(outcome.spans, key=lambda span: (span.start, span.end))
    timeline = Timeline(
        spans=spans,
        counters=counters(recorder, outcome.machine),
        end=outcome.end,
        component_names=components_of(node),
    )
    return _reduce(node, workload, outcome, recorder), timeline


def _reduce(node: Node, workload: Workload, outcome: Outcome, recorder: Recorder) -> Run:
    copies = node.ranks if outcome.folded else 1
    used = task_accounts(node.gpu, recorder.segments())
    tasks = {}
    for name in workload.tasks:
        times = outcome.task(name)
        assert times.start is not None and times.end is not None  # the run is over
        account = {energy: copies * joules for energy, joules in used.get(name, {}).items()}
        tasks[name] = TaskRun(times.ready, times.start, times.end, account, dict(times.detail))
    return Run(tasks, outcome.end, idle_energy(node, outcome.end), outcome.folded, outcome.events)


def _conditions(workload: Workload) -> str:
    """What of a workload decides its run; names and descriptions do not."""
    return workload.model_dump_json(include={"buffers", "tasks", "streams", "host"})


def _text(node: Node) -> str:
    found = _nodes.get(id(node))
    if found is None or found[0] is not node:
        if len(_nodes) >= 64:
            _nodes.clear()
        found = _nodes[id(node)] = (node, node.model_dump_json())
    return found[1]
