"""Whether the DMA engines of a node can do what a workload asks of them."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.errors import InputError
from c3sim.input.documents import join
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Commands, Copy

Errors = Iterator[InputError]


def engine_errors(task: Collective | Copy, node: Node, path: str) -> Errors:
    """More engines, or queues of one, than there are."""
    engines = node.gpu.dma_engines
    queues = engines.queues_for_streams
    if task.engines is not None:
        of = f" of {queues} queues for streams" if queues > 1 else ""
        reason = f", a GPU of {node.name} has {engines.count} engines{of}"
        yield from _above(task.engines, engines.count * queues, reason, join(path, "engines"))
    if isinstance(task, Collective) and task.ways is not None:
        reason = f", the queues of an engine of {node.name}"
        yield from _above(task.ways, engines.queues, reason, join(path, "ways"))


def peer_errors(peer: int, node: Node, path: str) -> Errors:
    """A peer that the node does not have."""
    if node.gpus < 2:
        message = f"a copy to a peer on {node.gpus} GPU; needs a node of at least 2"
        yield InputError(message, path)
    else:
        yield from _above(peer, node.gpus - 1, f" on a node of {node.gpus} GPUs", path)


def reduce_errors(reduces: bool, node: Node, path: str) -> Errors:
    """A reduction where engines only move bytes."""
    if reduces and node.gpu.dma_engines.reduce_bandwidth is None:
        what_if = "a what-if gives them a rate: gpu.dma_engines.reduce_bandwidth"
        yield InputError(f"the DMA engines of {node.name} cannot reduce; {what_if}", path)


def command_errors(task: Commands, node: Node, path: str) -> Errors:
    """Commands of a program that no engine of the node can carry out."""
    for i, command in enumerate(task.program):
        yield from _errors_of(command, node, join(path, "program", i))


def _errors_of(command: Command, node: Node, path: str) -> Errors:
    engines = node.gpu.dma_engines
    if isinstance(command.peer, int):
        yield from peer_errors(command.peer, node, join(path, "peer"))
    for i, peer in enumerate(command.peers):
        yield from peer_errors(peer, node, join(path, "peers", i))
    if command.engine is not None:
        reason = f", there are {engines.last + 1} engines"
        yield from _above(command.engine, engines.last, reason, join(path, "engine"))
    reason = f", an engine has {engines.queues} queues"
    yield from _above(command.queue, engines.queues - 1, reason, join(path, "queue"))
    most = engines.broadcast_destinations or 1
    if len(command.peers) > most:
        message = f"{len(command.peers)} destinations; must be at most {most} on {node.name}"
        yield InputError(message, join(path, "peers"))
    if command.op not in engines.commands and command.op != "reduce":
        message = f"the DMA engines of {node.name} have no command {command.op!r}"
        yield InputError(f"{message}; they have {', '.join(engines.commands)}", join(path, "op"))
    yield from reduce_errors(command.op == "reduce", node, join(path, "op"))


def _above(value: int, most: int, reason: str, path: str) -> Errors:
    if value > most:
        yield InputError(f"got {value}; must be at most {most}{reason}", path)
