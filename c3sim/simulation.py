"""One simulation: a workload on a node, from the common release of all streams to the last end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import simpy

from c3sim.engine.fluid import Fluid, Observer
from c3sim.engine.progress import Progress
from c3sim.errors import DeadlockError, InputError
from c3sim.machine import Machine
from c3sim.processes.context import Context
from c3sim.processes.tasks import TaskRuns, Times, grid_shapes
from c3sim.result import Span
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Copy, Workload

__all__ = ["Outcome", "can_fold", "simulate"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened: *times* per (task, GPU), the last *end* [s], SimPy *events* processed, spans if asked for."""

    times: Mapping[tuple[str, int], Times]
    end: float
    events: int
    folded: bool
    spans: list[Span]
    machine: Machine

    def task(self, name: str) -> Times:
        """The slowest GPU's times of one task."""
        found = [times for (task, _), times in self.times.items() if task == name]
        return max(found, key=lambda times: times.end or 0.0)


def can_fold(workload: Workload, node: Node) -> bool:
    """Whether one GPU can stand for all: every GPU does the same, and the host treats them alike.

    The three topologies map onto themselves when GPUs are renumbered cyclically, so only tasks and host decide.
    """
    if any(isinstance(task, Copy) and task.gpus == "first" for task in workload.tasks.values()):
        return False
    if any(isinstance(task, Collective) and task.variant == "swap" for task in workload.tasks.values()):
        return False  # one GPU of each pair submits
    if workload.host.threads == "per_gpu":
        return True
    by_dma = any(
        task.kind == "commands"
        or (isinstance(task, Collective) and task.backend == "dma")
        or task.kind == "host"
        for task in workload.tasks.values()
    )
    return workload.host.launch == "queued" and not by_dma


def simulate(
    node: Node,
    workload: Workload,
    *,
    private: frozenset[str] = frozenset(),
    observers: Iterable[Observer] = (),
    fold: bool | None = None,
    spans: bool = False,
    compiled: bool = False,
) -> Outcome:
    """Run *workload*. *private* takes kinds of sharing away; *fold* overrides the derived choice (None); *compiled*
    (needs numba) pays off in unfolded runs with hundreds of flows at once, and changes rounding alone.

    Raises DeadlockError when nothing can happen any more and tasks are unfinished.
    """
    folded = can_fold(workload, node) if fold is None else fold
    env = simpy.Environment()
    fluid = Fluid(env, observers, _compiled() if compiled else None)
    log: list[Span] | None = [] if spans else None
    machine = Machine(node, fluid, folded=folded, private=private)
    context = Context(env, node, workload, fluid, machine, grid_shapes(workload, node), log)
    runs = TaskRuns(context)
    runs.submit()
    events = 0
    while runs.unfinished:
        try:
            env.step()
        except simpy.core.EmptySchedule:
            raise DeadlockError(runs.waiting()) from None
        events += 1
    return Outcome(runs.times, env.now, events, folded, log or [], machine)


def _compiled() -> Progress:
    """Progress of flows in compiled loops. Raises InputError where numba is not installed."""
    if find_spec("numba") is None:
        raise InputError("compiled runs need numba, which is not installed; pip install 'c3sim[fast]'")
    from c3sim.engine.compiled import CompiledProgress

    return CompiledProgress()
