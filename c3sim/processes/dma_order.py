"""Whether engines serve what is asked of them at other times, or in another order, from GPU to GPU."""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.processes.dma_collectives import collective_program, in_one_call
from c3sim.processes.programs import engine_numbers
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Commands, Copy, Workload

__all__ = ["turns_differ"]


def turns_differ(workload: Workload, node: Node) -> bool:
    """Where engines look for a release at times of their own; and with several peers, where sources carry requests (each
    in its own order of who asked), and where queues of one engine are released together (each engine begins with another).
    """
    if node.gpu.dma_engines.poll_period and _released(workload):
        return True
    programs = [
        collective_program(node, 0, task, batch=in_one_call(workload, task))
        if isinstance(task, Collective)
        else task.program
        for task in workload.tasks.values()
        if isinstance(task, Commands) or (isinstance(task, Collective) and task.backend == "dma")
    ]
    pulled = {
        command.peer
        for program in programs
        for command in program
        if command.direction == "pull" and command.peer != "host"
    } | {task.peer for task in workload.tasks.values() if isinstance(task, Copy) and task.direction == "pull"}
    if node.gpu.dma_engines.pull_carrier == "source" and len(pulled) > 1:
        return True
    return workload.host.prelaunched and any(_shares_an_engine(node, program) for program in programs)


def _released(workload: Workload) -> bool:
    """Whether commands wait for the release."""
    return workload.host.prelaunched and any(
        task.executor == "dma"
        if isinstance(task, Copy)
        else isinstance(task, Commands) or (isinstance(task, Collective) and task.backend == "dma")
        for task in workload.tasks.values()
    )


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
