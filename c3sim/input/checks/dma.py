"""Whether a node's DMA engines can do what a workload asks of them: engines, queues, peers,
destinations, reductions.
"""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.input.yaml_nodes import join
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Commands, Copy


def engine_errors(task: Collective | Copy, node: Node, path: str) -> list[InputError]:
    """More engines, or queues of one, than there are."""
    engines, errors = node.gpu.dma_engines, []
    queues = engines.queues_for_streams
    if task.engines is not None:
        of = f" of {queues} queues for streams" if queues > 1 else ""
        reason = f", a GPU of {node.name} has {engines.count} engines{of}"
        errors += _above(task.engines, engines.count * queues, reason, join(path, "engines"))
    if isinstance(task, Collective) and task.ways is not None:
        reason = f", the queues of an engine of {node.name}"
        errors += _above(task.ways, engines.queues, reason, join(path, "ways"))
    return errors


def peer_errors(peer: int, node: Node, path: str) -> list[InputError]:
    """A peer that the node does not have."""
    if node.gpus < 2:
        message = f"a copy to a peer on {node.gpus} GPU; needs a node of at least 2"
        return [InputError(message, path)]
    return _above(peer, node.gpus - 1, f" on a node of {node.gpus} GPUs", path)


def reduce_errors(reduces: bool, node: Node, path: str) -> list[InputError]:
    """A reduction where engines only move bytes."""
    if not reduces or node.gpu.dma_engines.reduce_bandwidth is not None:
        return []
    message = (
        f"the DMA engines of {node.name} cannot reduce; a what-if gives them a rate: "
        "gpu.dma_engines.reduce_bandwidth"
    )
    return [InputError(message, path)]


def command_errors(task: Commands, node: Node, path: str) -> list[InputError]:
    """Commands of a program that no engine of the node can carry out."""
    return [
        error
        for i, command in enumerate(task.program)
        for error in _errors_of(command, node, join(join(path, "program"), i))
    ]


def _errors_of(command: Command, node: Node, path: str) -> list[InputError]:
    engines, errors = node.gpu.dma_engines, []
    if isinstance(command.peer, int):
        errors += peer_errors(command.peer, node, join(path, "peer"))
    for i, peer in enumerate(command.peers):
        errors += peer_errors(peer, node, join(join(path, "peers"), i))
    if command.engine is not None:
        reason = f", there are {engines.last + 1} engines"
        errors += _above(command.engine, engines.last, reason, join(path, "engine"))
    reason = f", an engine has {engines.queues} queues"
    errors += _above(command.queue, engines.queues - 1, reason, join(path, "queue"))
    most = engines.broadcast_destinations or 1
    if len(command.peers) > most:
        message = f"{len(command.peers)} destinations; must be at most {most} on {node.name}"
        errors.append(InputError(message, join(path, "peers")))
    if command.op not in engines.commands and command.op != "reduce":
        message = (
            f"the DMA engines of {node.name} have no command {command.op!r}; "
            f"they have {', '.join(engines.commands)}"
        )
        errors.append(InputError(message, join(path, "op")))
    return errors + reduce_errors(command.op == "reduce", node, join(path, "op"))


def _above(value: int, most: int, reason: str, path: str) -> list[InputError]:
    if value <= most:
        return []
    return [InputError(f"got {value}; must be at most {most}{reason}", path)]
