"""One simulation: a workload on a node, from the common release of all streams to the last end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import simpy

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Observer
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress
from c3sim.errors import DeadlockError, InputError
from c3sim.machine.machine import Machine
from c3sim.processes.context import Context
from c3sim.processes.dma.copies import same_sharing
from c3sim.processes.dma.order import engines_differ_by_gpu
from c3sim.processes.tasks import TaskRuns, Times, grid_shapes
from c3sim.result import Span
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Commands, Copy, Task, Workload


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened: *times* per (task, GPU), the last *end* [s], SimPy *events* processed, spans
    if asked for.
    """

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
    """Whether one GPU can stand for all, of all nodes: every GPU does the same, host and network
    treat them alike.

    The three topologies map onto themselves when GPUs are renumbered cyclically, so within a node
    only tasks, the map of DMA engines and host decide. Nodes are alike if all leaf switches have as
    many of them.
    """
    if not _nodes_alike(workload, node):
        return False
    if any(
        isinstance(task, Copy | Commands) and task.gpus == "first"
        for task in workload.tasks.values()
    ):
        return False
    if any(
        isinstance(task, Collective) and task.variant == "swap" for task in workload.tasks.values()
    ):
        return False  # one GPU of each pair submits
    if node.engine_map is not None and not _engines_alike(workload, node):
        return False
    if engines_differ_by_gpu(workload, node):
        return False
    if workload.host.threads == "per_gpu":
        return True
    by_dma = any(
        task.kind in ("commands", "host")
        or (isinstance(task, Collective) and task.backend == "dma")
        or (isinstance(task, Copy) and task.executor == "dma")
        for task in workload.tasks.values()
    )
    return workload.host.launch == "queued" and not by_dma


def _nodes_alike(workload: Workload, node: Node) -> bool:
    """Whether every GPU sees the same network."""
    wide = node.scale_out
    if wide is None or node.nodes <= wide.nodes_per_leaf:
        return not any(_changes_rail(task, node) for task in workload.tasks.values())
    by_nic = any(
        isinstance(task, Copy) and task.executor == "nic" for task in workload.tasks.values()
    )
    return node.nodes % wide.nodes_per_leaf == 0 and not by_nic


def _changes_rail(task: Task, node: Node) -> bool:
    """Whether it is a copy that stays on its leaf for some GPUs and crosses the spine for others:
    NICs are shared, and the peer is not in the same place of its node.
    """
    return isinstance(task, Copy) and task.executor == "nic" and task.peer % node.gpus != 0


def _engines_alike(workload: Workload, node: Node) -> bool:
    """Whether DMA commands share engines in the same way on every GPU, though the map numbers them
    differently.
    """
    for task in workload.tasks.values():
        if isinstance(task, Commands) and any(
            command.engine is not None for command in task.program
        ):
            return False  # a number means another peer's engine on every GPU
    return same_sharing(node)


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
    """Run *workload*. *private* takes kinds of sharing away; *fold* overrides the derived choice
    (None); *compiled* (needs numba) pays off in unfolded runs with hundreds of flows at once, and
    changes rounding alone.

    Raises DeadlockError when nothing can happen any more and tasks are unfinished.
    """
    folded = can_fold(workload, node) if fold is None else fold
    env = Clock()
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
        raise InputError(
            "compiled runs need numba, which is not installed; pip install 'c3sim[fast]'"
        )
    from c3sim.engine.compiled.progress import CompiledProgress

    return CompiledProgress()
