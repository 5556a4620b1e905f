"""Whether a node's DMA engines can do what a workload asks of them: engines, queues, peers,
destinations, reductions.
"""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.input.yaml_nodes import join
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Commands, Copy


def engine_errors(task: Collective | Copy, node: Node, path: str) -> list[InputError]:
    """More engines, or queues of one, than there are."""
    have, errors = node.gpu.dma_engines, []
    queues = have.queues_for_streams
    most = have.count * queues
    if task.engines is not None and task.engines > most:
        of = f" of {queues} queues for streams" if queues > 1 else ""
        message = f"got {task.engines}; must be at most {most}, a GPU of {node.name} has {have.count} engines{of}"
        errors.append(InputError(message, join(path, "engines")))
    if isinstance(task, Collective) and task.ways is not None and task.ways > have.queues:
        message = f"got {task.ways}; must be at most {have.queues}, the queues of an engine of {node.name}"
        errors.append(InputError(message, join(path, "ways")))
    return errors


def peer_errors(peer: int, node: Node, path: str) -> list[InputError]:
    """A peer that the node does not have."""
    if node.gpus < 2:
        return [
            InputError(f"a copy to a peer on {node.gpus} GPU; needs a node of at least 2", path)
        ]
    if peer >= node.gpus:
        return [
            InputError(
                f"got {peer}; must be at most {node.gpus - 1} on a node of {node.gpus} GPUs", path
            )
        ]
    return []


def reduce_errors(reduces: bool, node: Node, path: str) -> list[InputError]:
    """A reduction where engines only move bytes."""
    if not reduces or node.gpu.dma_engines.reduce_bandwidth is not None:
        return []
    message = f"the DMA engines of {node.name} cannot reduce; a what-if gives them a rate: gpu.dma_engines.reduce_bandwidth"
    return [InputError(message, path)]


def command_errors(task: Commands, node: Node, path: str) -> list[InputError]:
    """Commands of a program that no engine of the node can carry out."""
    engines, errors = node.gpu.dma_engines, []
    for i, command in enumerate(task.program):
        where = join(join(path, "program"), i)
        if isinstance(command.peer, int):
            errors += peer_errors(command.peer, node, join(where, "peer"))
        for j, peer in enumerate(command.peers):
            errors += peer_errors(peer, node, join(join(where, "peers"), j))
        if command.engine is not None and command.engine > engines.last:
            message = f"got {command.engine}; must be at most {engines.last}, there are {engines.last + 1} engines"
            errors.append(InputError(message, join(where, "engine")))
        if command.queue >= engines.queues:
            message = f"got {command.queue}; must be at most {engines.queues - 1}, an engine has {engines.queues} queues"
            errors.append(InputError(message, join(where, "queue")))
        most = engines.broadcast_destinations or 1
        if len(command.peers) > most:
            message = f"{len(command.peers)} destinations; must be at most {most} on {node.name}"
            errors.append(InputError(message, join(where, "peers")))
        if command.op not in engines.commands and command.op != "reduce":
            message = f"the DMA engines of {node.name} have no command {command.op!r}; they have {', '.join(engines.commands)}"
            errors.append(InputError(message, join(where, "op")))
        errors += reduce_errors(command.op == "reduce", node, join(where, "op"))
    return errors
