"""Checks of a task by itself and on a node, as each kind of task declares them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.task import EngineTask, TaskBase
from c3sim.spec.workload import parse_after

T = TypeVar("T", bound=TaskBase)
Errors = Iterator[InputError]


class Checks(Generic[T]):
    """Checks of a kind of task; one that says nothing has no mistakes of its own. Paths of mistakes
    begin at the task.
    """

    def alone(self, _task: T) -> Errors:
        """Mistakes among the fields of a task."""
        return iter(())

    def on_node(self, _task: T, _node: Node) -> Errors:
        """Mistakes of a task on a node that lacks something it needs."""
        return iter(())


def below(path: str, errors: Errors) -> Errors:
    """*errors* of a part as those of the whole, which has it at *path*."""
    for error in errors:
        yield InputError(error.message, f"{path}.{error.path}" if error.path else path)


def posting_errors(task: EngineTask) -> Errors:
    """A workgroup posts packets for engines, behind its tiles, and waits for nothing else; or a
    kernel of its own does, in a stream.
    """
    if task.posted is None:
        return
    if task.carrier not in ("dma", "nic"):
        message = f"packets are for engines; this task is done by {task.carrier}"
        yield InputError(message, "posted")
    if task.repeat > 1:
        yield InputError(f"a kernel posts once; got repeat: {task.repeat}", "posted")
    if task.stream is not None:  # a kernel of its own there, which waits for anything
        return
    try:
        waits = [parse_after(text) for text in task.after]
    except InputError:  # said elsewhere
        return
    if len(waits) != 1 or (waits[0].tiles, waits[0].peer) == (None, None):
        message = (
            "a kernel posts behind a group of its tiles; needs one after: [gemm.tiles[25%]], or a"
            " stream, for a kernel that does nothing else"
        )
        yield InputError(message, "posted")


def posting_on_node_errors(task: EngineTask, node: Node, across: bool) -> Errors:
    """The cost of posting a packet must be known: of NICs where it goes *across* nodes."""
    wide = node.scale_out
    if task.posted is None:
        return
    if across:
        if wide is None or wide.kernel_post_time is None:
            message = f"{node.name} gives no scale_out.kernel_post_time; what a put costs a kernel"
            yield InputError(message, "posted")
    elif node.gpu.dma_engines.post_time is None:
        message = f"{node.gpu.name} gives no dma_engines.post_time; needed for kernels that post"
        yield InputError(message, "posted")


def engines_errors(given: int | None, node: Node) -> Errors:
    """Mistake: *given* are more engines than there are."""
    engines = node.gpu.dma_engines
    queues = engines.queues_for_streams
    if given is not None:
        of = f" of {queues} queues for streams" if queues > 1 else ""
        reason = f", a GPU of {node.name} has {engines.count} engines{of}"
        yield from above(given, engines.count * queues, reason, "engines")


def peer_errors(peer: int, node: Node, path: str) -> Errors:
    """A peer that the node does not have."""
    if node.gpus < 2:
        message = f"a copy to a peer on {node.gpus} GPU; needs a node of at least 2"
        yield InputError(message, path)
    else:
        yield from above(peer, node.gpus - 1, f" on a node of {node.gpus} GPUs", path)


def reduce_errors(reduces: bool, node: Node, path: str) -> Errors:
    """A reduction where engines only move bytes."""
    if reduces and node.gpu.dma_engines.reduce_bandwidth is None:
        what_if = "a what-if gives them a rate: gpu.dma_engines.reduce_bandwidth"
        yield InputError(f"the DMA engines of {node.name} cannot reduce; {what_if}", path)


def above(value: int, most: int, reason: str, path: str) -> Errors:
    if value > most:
        yield InputError(f"got {value}; must be at most {most}{reason}", path)
