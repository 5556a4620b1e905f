"""Whether engines serve commands at other times, or in another order, from GPU to GPU."""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.processes.dma.collectives import collective_program, is_one_batch
from c3sim.processes.dma.programs import engine_numbers
from c3sim.specs.hardware import Node
from c3sim.specs.task import Command
from c3sim.specs.workload import Collective, Commands, Copy, Task, Workload


def engines_differ_by_gpu(workload: Workload, node: Node) -> bool:
    """True in three cases:

    - engines poll for a release at times of their own;
    - sources carry several requests, or one beside other commands, each in its own order;
    - queues of one engine are released together, and each engine begins with another.
    """
    tasks = [task for task in workload.tasks.values() if uses_engines(task)]
    engines = node.gpu.dma_engines
    if engines.pull_executor == "source":
        pulls = sum(_pulls(task, workload, node) for task in tasks)
        if pulls > 1 or (pulls and len(tasks) > 1):
            return True
    if not workload.host.prelaunched or not tasks:
        return False
    if engines.poll_interval or len(tasks) > 1:
        return True
    return any(_shares_an_engine(node, _program(task, workload, node)) for task in tasks)


def _pulls(task: Task, workload: Workload, node: Node) -> int:
    """Commands of *task* that read from a peer."""
    if isinstance(task, Copy):
        return task.direction == "pull" or (task.source == "peer" and task.direction is None)
    if isinstance(task, Collective) and task.direction != "pull":
        return 0
    program = _program(task, workload, node)
    return sum(command.direction == "pull" and command.peer != "host" for command in program)


def _program(task: Task, workload: Workload, node: Node) -> Sequence[Command]:
    """Commands of *task*; of a copy none, as it is a single one."""
    if isinstance(task, Commands):
        return task.program
    if isinstance(task, Collective):
        return collective_program(node, 0, task, batch=is_one_batch(workload, task))
    return ()


def uses_engines(task: Task) -> bool:
    """Whether *task* is carried out by DMA engines."""
    if isinstance(task, Copy):
        return task.executor == "dma"
    return isinstance(task, Commands) or (isinstance(task, Collective) and task.backend == "dma")


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
