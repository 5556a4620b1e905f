"""One simulation: a workload on a node, from the common release of all streams to the last end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import simpy

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Observer
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress
from c3sim.engine.recorder import Recorder
from c3sim.errors import DeadlockError, InputError
from c3sim.machine.energy import IDLE, Account, components_of, idle_energy, task_accounts
from c3sim.machine.machine import Machine
from c3sim.processes.context import Context
from c3sim.processes.kernels.grids import grid_shapes
from c3sim.processes.tasks import TaskRuns
from c3sim.result import Span, Timeline
from c3sim.simulation.counters import counters
from c3sim.simulation.folding import can_fold
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRun:
    """A task on a GPU: ready, first workgroup or command, end [s from release]; its choices."""

    ready: float
    start: float
    end: float
    detail: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What happened: *times* per (task, simulated GPU) in
    the order of the tasks, the last *end* [s], *events* processed.

    *accounts*: per task the energy [J] of all GPUs by name of the energy (machine/energy.py),
    without idle power; None where energy was not recorded. *idle* [J]: of all GPUs, whatever runs.
    """

    times: Mapping[tuple[str, int], TaskRun]
    end: float
    idle: float
    folded: bool
    events: int
    accounts: Mapping[str, Account] | None = None
    timeline: Timeline | None = None

    def task(self, name: str) -> TaskRun:
        """The task on its slowest GPU."""
        return max(
            (run for (task, _), run in self.times.items() if task == name), key=lambda run: run.end
        )

    def account_of(self, name: str) -> Account:
        """The account of one task."""
        assert self.accounts is not None, "this run did not record energy"
        return self.accounts.get(name, {})

    @property
    def account(self) -> Account:
        """Energy [J] of the whole by name of the energy, idle power included."""
        assert self.accounts is not None, "this run did not record energy"
        total = {IDLE: self.idle}
        for account in self.accounts.values():
            for name, joules in account.items():
                total[name] = total.get(name, 0.0) + joules
        return total

    @property
    def energy(self) -> float:
        """Energy [J] of the whole, idle power included."""
        assert self.accounts is not None, "this run did not record energy"
        return sum(sum(account.values()) for account in self.accounts.values()) + self.idle


def simulate(
    node: Node,
    workload: Workload,
    *,
    private: frozenset[str] = frozenset(),
    observers: Iterable[Observer] = (),
    fold: bool | None = None,
    energy: bool = False,
    trace: bool = False,
    compiled: bool = False,
) -> Run:
    """Run *workload*.

    *private*: kinds of sharing to take away. *fold*: overrides the derived decision (None).
    *energy*: record the accounts; *trace*: the timeline as well. *compiled* (needs numba): pays off
    in unfolded runs with hundreds of flows at once, and changes rounding alone.

    Raises DeadlockError when nothing can happen any more and tasks are unfinished.
    """
    folded = can_fold(workload, node) if fold is None else fold
    recorder = Recorder() if energy or trace else None
    clock = Clock()
    watching = (*observers, recorder) if recorder else tuple(observers)
    fluid = Fluid(clock, watching, _compiled() if compiled else None)
    machine = Machine(node, fluid, folded=folded, private=private)
    spans: list[Span] | None = [] if trace else None
    context = Context(clock, node, workload, fluid, machine, grid_shapes(workload, node), spans)
    tasks = TaskRuns(context)
    tasks.submit()
    events = 0
    while tasks.unfinished:
        try:
            clock.step()
        except simpy.core.EmptySchedule:
            raise DeadlockError(tasks.waiting()) from None
        events += 1
    return Run(
        times=_task_runs(workload, tasks),
        end=clock.now,
        idle=idle_energy(node, clock.now),
        folded=folded,
        events=events,
        accounts=None if recorder is None else _accounts(workload, machine, recorder),
        timeline=None if recorder is None or spans is None else _timeline(machine, recorder, spans),
    )


def _task_runs(workload: Workload, tasks: TaskRuns) -> dict[tuple[str, int], TaskRun]:
    """In the order of the workload's tasks."""
    order = {name: position for position, name in enumerate(workload.tasks)}
    runs = {}
    for key, times in sorted(tasks.times.items(), key=lambda item: order[item[0][0]]):
        assert times.start is not None and times.end is not None  # the run is over
        runs[key] = TaskRun(
            ready=times.ready, start=times.start, end=times.end, detail=times.detail
        )
    return runs


def _accounts(workload: Workload, machine: Machine, recorder: Recorder) -> dict[str, Account]:
    """Energy of each task on all GPUs, those that are folded included."""
    copies = machine.node.ranks if machine.folded else 1
    simulated = task_accounts(machine.node.gpu, recorder.segments())
    return {
        task: {name: copies * joules for name, joules in simulated.get(task, {}).items()}
        for task in workload.tasks
    }


def _timeline(machine: Machine, recorder: Recorder, spans: Sequence[Span]) -> Timeline:
    return Timeline(
        spans=sorted(spans, key=lambda span: (span.start, span.end)),
        counters=counters(recorder, machine),
        end=machine.fluid.env.now,
        component_names=components_of(machine.node),
    )


def _compiled() -> Progress:
    """Progress of flows in compiled loops. Raises InputError where numba is not installed."""
    if find_spec("numba") is None:
        raise InputError(
            "compiled runs need numba, which is not installed; pip install 'c3sim[fast]'"
        )
    from c3sim.engine.compiled.progress import CompiledProgress

    return CompiledProgress()
