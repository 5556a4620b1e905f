"""Collectives on DMA engines as command programs: what each GPU asks its engines to do, by variant.

    pcpy  a copy to every peer, each on an engine of its own (or split over several)
    bcst  all-gather only: a broadcast for every two peers (or as many as one can have); the engine reads once and writes to each
    swap  all-to-all only: one command per pair of GPUs exchanges what they have for each other, in place
    b2b   the copies back to back on one engine (or dealt over several, and over queues of each), with one signal at the end

Names as in arXiv 2511.06605. Prelaunch is the host's (``host.prelaunched``) and works with each of them. Reduce-scatter and
all-reduce need engines that reduce (``dma_engines.reduce_bandwidth``): every GPU adds its part to what its peers have, and, for
an all-reduce, tells them by an atomic, waits for theirs, and copies its reduced part to all.
"""

from __future__ import annotations

from c3sim.processes.dma.copies import engine_for
from c3sim.specs.commands import Command
from c3sim.specs.dma_engines import Operation
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Workload


def collective_program(
    node: Node, gpu: int, task: Collective, *, batch: bool = False
) -> tuple[Command, ...]:
    """What *gpu* submits for *task* (backend dma), in order. *batch*: in one call, so all of an
    engine in one queue.
    """
    program = _program(node, gpu, task)
    if batch:
        return tuple(command.model_copy(update={"queue": 0}) for command in program)
    return program


def in_one_call(workload: Workload, task: Collective) -> bool:
    """Whether the runtime is asked for all of *task* at once, and splits it by peer; what is back
    to back is meant to stay so.
    """
    return workload.host.submission == "batch" and task.variant != "b2b"


def _program(node: Node, gpu: int, task: Collective) -> tuple[Command, ...]:
    if task.variant == "bcst":
        return _broadcasts(node, gpu, task)
    if task.variant == "swap":
        return _swaps(node, gpu, task)
    if task.op == "reduce_scatter":
        return _to_all(node, gpu, task, "reduce")
    if task.op == "all_reduce":
        return _reduced_then_gathered(node, gpu, task)
    return _to_all(node, gpu, task, "copy")


def _to_all(node: Node, gpu: int, task: Collective, op: Operation) -> tuple[Command, ...]:
    """size/n to each peer (push) or from each (pull).

    The commands of one round go to different peers, so that all links are busy from the first round
    on. Back to back, the peers are dealt over engines, then over their queues.
    """
    parts = 1 if task.variant == "b2b" else task.engines or 1
    commands = []
    for part in range(parts):
        for offset in range(1, node.gpus):
            engine, queue = _place(node, gpu, task, offset, part)
            commands.append(
                Command(
                    op=op,
                    bytes=task.size / node.gpus / parts,
                    peer=offset,
                    direction=task.direction or "push",
                    engine=engine,
                    queue=queue,
                )
            )
    return tuple(commands)


def _place(node: Node, gpu: int, task: Collective, offset: int, part: int) -> tuple[int, int]:
    """Engine and queue of what goes to the peer at *offset*."""
    engines = task.engines or 1
    if task.variant != "b2b":
        return engine_for(node, gpu, offset, part, engines)
    turn = offset - 1
    return engine_for(node, gpu, 1 + turn % engines)[0], turn // engines % (task.ways or 1)


def _broadcasts(node: Node, gpu: int, task: Collective) -> tuple[Command, ...]:
    """Peers in groups; a group of one gets a copy. The engine of the map for the first of them, or
    engines in turn.
    """
    most, size = node.gpu.dma_engines.broadcast_destinations or 1, task.size / node.gpus
    commands = []
    for turn, first in enumerate(range(1, node.gpus, most), start=1):
        peers = tuple(range(first, min(first + most, node.gpus)))
        engine, _ = engine_for(node, gpu, first if node.engine_map else turn)
        if len(peers) > 1:
            commands.append(Command(op="broadcast", bytes=size, peers=peers, engine=engine))
        else:
            commands.append(Command(op="copy", bytes=size, peer=first, engine=engine))
    return tuple(commands)


def _swaps(node: Node, gpu: int, task: Collective) -> tuple[Command, ...]:
    """Each pair once: with the peers up to half way round, and the pairs half way round by their
    lower GPU.
    """
    gpus = node.gpus
    offsets = [
        *range(1, (gpus + 1) // 2),
        *([gpus // 2] if gpus % 2 == 0 and gpu < gpus // 2 else []),
    ]
    return tuple(Command(op="swap", bytes=task.size / gpus, peer=offset) for offset in offsets)


def _reduced_then_gathered(node: Node, gpu: int, task: Collective) -> tuple[Command, ...]:
    """Reduce-scatter, then all-gather; the word "reduced" of a GPU counts the peers that have added
    to its part.
    """
    commands = []
    for command in _to_all(node, gpu, task, "reduce"):
        told = command.model_copy(update={"op": "atomic", "bytes": None, "on": "reduced"})
        commands += [command, told]
    additions = len(commands) // 2
    for command in _to_all(node, gpu, task, "copy"):
        update = {"op": "poll", "bytes": None, "peer": None, "on": "reduced", "value": additions}
        commands += [command.model_copy(update=update), command]
    return tuple(commands)
