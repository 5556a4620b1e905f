"""Whether engines serve what is asked of them at other times, or in another order, from GPU to GPU."""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.processes.dma.collectives import collective_program, in_one_call
from c3sim.processes.dma.programs import engine_numbers
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Commands, Copy, Task, Workload


def turns_differ(workload: Workload, node: Node) -> bool:
    """Where engines look for a release at times of their own; where sources carry several requests,
    or one beside other commands (each in its own order of who asked); and where queues of one
    engine are released together (each engine begins with another).
    """
    by_engines = [task for task in workload.tasks.values() if _by_engines(task)]
    programs = [
        collective_program(node, 0, task, batch=in_one_call(workload, task))
        if isinstance(task, Collective)
        else task.program
        for task in by_engines
        if isinstance(task, Collective | Commands)
    ]
    pulls = sum(
        command.direction == "pull" and command.peer != "host"
        for program in programs
        for command in program
    )
    pulls += sum(isinstance(task, Copy) and _pulls(task) for task in by_engines)
    if node.gpu.dma_engines.pull_executor == "source" and (
        pulls > 1 or (pulls and len(by_engines) > 1)
    ):
        return True
    if not workload.host.prelaunched or not by_engines:
        return False
    if node.gpu.dma_engines.poll_interval or len(by_engines) > 1:
        return True
    return any(_shares_an_engine(node, program) for program in programs)


def _by_engines(task: Task) -> bool:
    if isinstance(task, Copy):
        return task.executor == "dma"
    return isinstance(task, Commands) or (isinstance(task, Collective) and task.backend == "dma")


def _pulls(task: Copy) -> bool:
    """Whether the GPU that asks for it reads from a peer."""
    return task.direction == "pull" or (task.source == "peer" and task.direction is None)


def _shares_an_engine(node: Node, program: Sequence[Command]) -> bool:
    """Whether one engine has several peers in several queues."""
    served: dict[int, set[tuple[int, object]]] = {}
    for engine, command in zip(engine_numbers(node, 0, program), program, strict=True):
        if command.bytes is not None:
            served.setdefault(engine, set()).add((command.queue, command.peer))
    return any(
        len({queue for queue, _ in places}) > 1 and len({peer for _, peer in places}) > 1
        for places in served.values()
    )
