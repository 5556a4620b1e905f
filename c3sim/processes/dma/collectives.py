"""Collectives on DMA engines as command programs: what each GPU asks its engines to do, by variant.

=====  =========================================================================================
pcpy   a copy to every peer, each on an engine of its own (or split over several)
bcst   all-gather only: a broadcast for every two peers (or as many as one can have); the engine
       reads once and writes to each
swap   all-to-all only: one command per pair of GPUs exchanges what they have for each other
b2b    the copies back to back on one engine (or dealt over several, and over queues of each),
       with one signal at the end
=====  =========================================================================================

Names as in arXiv 2511.06605. Prelaunch is the host's (``host.prelaunched``) and works with each.
Reduce-scatter and all-reduce need engines that reduce (``dma_engines.reduce_bandwidth``): every GPU
adds its part to what its peers have. For an all-reduce it also tells them by an atomic, waits for
theirs, and copies its reduced part to all.
"""

from __future__ import annotations

from c3sim.models.groups import group_of
from c3sim.processes.dma.copies import engine_for
from c3sim.specs.dma_engines import Operation
from c3sim.specs.hardware import Node
from c3sim.specs.task import Command
from c3sim.specs.workload import Collective, Workload


def collective_program(
    node: Node, gpu: int, task: Collective, *, batch: bool = False, own: bool = False
) -> tuple[Command, ...]:
    """Commands of *gpu* for *task*; *batch*: in one call, all of an engine in one queue; *own*: a
    copy of its own shard as well.
    """
    if task.variant == "bcst":
        program = _broadcasts(node, gpu, task)
    elif task.variant == "swap":
        program = _swaps(node, gpu, task)
    elif task.op == "all_reduce":
        program = _reduced_then_gathered(node, gpu, task)
    else:
        program = _to_all(node, gpu, task, "reduce" if task.op == "reduce_scatter" else "copy")
    if own:
        program.append(Command(op="copy", bytes=task.size / (len(_peers(node, gpu, task)) + 1)))
    if not batch:
        return tuple(program)
    return tuple(command.model_copy(update={"queue": 0}) for command in program)


def _peers(node: Node, gpu: int, task: Collective) -> tuple[int, ...]:
    """How far round the node each of the other GPUs of *task* is from *gpu*."""
    group = group_of(node, task)
    if group is None:
        return tuple(range(1, node.gpus))
    return tuple((group.peer(gpu, number) - gpu) % node.gpus for number in range(1, group.size))


def is_one_batch(workload: Workload, task: Collective) -> bool:
    """Whether one call, split by peer by the runtime, asks for all of *task* (not back to back)."""
    return workload.host.submission == "batch" and task.variant != "b2b"


def _to_all(node: Node, gpu: int, task: Collective, op: Operation) -> list[Command]:
    """size/n to each peer (push) or from each (pull).

    The commands of one round go to different peers, so that all links are busy from the first round
    on. Back to back, the peers are dealt over engines, then over their queues.
    """
    parts = 1 if task.variant == "b2b" else task.engines or 1
    peers = _peers(node, gpu, task)
    size, direction = task.size / (len(peers) + 1) / parts, task.direction or "push"
    commands = []
    for part in range(parts):
        for number, peer in enumerate(peers):
            engine, queue = _engine_and_queue(node, gpu, task, peer, number, part)
            commands.append(
                Command(
                    op=op, bytes=size, peer=peer, direction=direction, engine=engine, queue=queue
                )
            )
    return commands


def _engine_and_queue(
    node: Node, gpu: int, task: Collective, peer: int, number: int, part: int
) -> tuple[int, int]:
    """Of part *part* of the copy to *peer*, the *number*-th of them."""
    engines = task.engines or 1
    if task.variant != "b2b":
        return engine_for(node, gpu, peer, part, engines)
    rounds, number = divmod(number, engines)
    return engine_for(node, gpu, 1 + number)[0], rounds % (task.ways or 1)


def _broadcasts(node: Node, gpu: int, task: Collective) -> list[Command]:
    """A broadcast for every so many peers; one that is left over gets a copy. Each is on the map's
    engine for its first peer; without a map engines take turns.
    """
    every, most = _peers(node, gpu, task), node.gpu.dma_engines.broadcast_destinations or 1
    size = task.size / (len(every) + 1)
    commands = []
    for number, begin in enumerate(range(0, len(every), most), start=1):
        first, peers = every[begin], every[begin : begin + most]
        engine, _ = engine_for(node, gpu, first if node.engine_map else number)
        if len(peers) > 1:
            commands.append(Command(op="broadcast", bytes=size, peers=peers, engine=engine))
        else:
            commands.append(Command(op="copy", bytes=size, peer=first, engine=engine))
    return commands


def _swaps(node: Node, gpu: int, task: Collective) -> list[Command]:
    """Each pair once: peers up to half way round, and those half way round by the lower GPU."""
    gpus = node.gpus
    peers = list(range(1, (gpus + 1) // 2))
    if gpus % 2 == 0 and gpu < gpus // 2:
        peers.append(gpus // 2)
    return [Command(op="swap", bytes=task.size / gpus, peer=peer) for peer in peers]


def _reduced_then_gathered(node: Node, gpu: int, task: Collective) -> list[Command]:
    """Reduce-scatter, then all-gather; the word "reduced" counts the peers that have added."""
    commands = []
    for command in _to_all(node, gpu, task, "reduce"):
        count = command.model_copy(update={"op": "atomic", "bytes": None, "on": "reduced"})
        commands += [command, count]
    additions = len(commands) // 2
    for command in _to_all(node, gpu, task, "copy"):
        update = {"op": "poll", "bytes": None, "peer": None, "on": "reduced", "value": additions}
        commands += [command.model_copy(update=update), command]
    return commands
