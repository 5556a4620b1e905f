"""Checks of a copy: its ends, and what carries it."""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.kind import (
    Checks,
    Errors,
    engines_errors,
    peer_errors,
    posting_errors,
    posting_on_node_errors,
)
from c3sim.spec.workload import Copy


class CopyChecks(Checks[Copy]):
    def alone(self, task: Copy) -> Errors:
        yield from posting_errors(task)
        ends = {task.source, task.destination}
        if "gpu" not in ends:
            message = f"copy from {task.source} to {task.destination}; one end must be gpu"
            yield InputError(message)
        elif task.direction is not None and (task.executor != "dma" or "peer" not in ends):
            message = "chooses between the engines of two GPUs; needs executor dma and a peer"
            yield InputError(f"{task.direction!r} {message}", "direction")
        elif task.engines is not None and task.executor != "dma":
            message = "a copy on compute units has no engines; needs executor dma"
            yield InputError(message, "engines")
        elif task.parameters == "managed" and task.executor != "kernel":
            message = "'managed' is of the launch of a kernel; needs executor kernel"
            yield InputError(message, "parameters")

    def on_node(self, task: Copy, node: Node) -> Errors:
        by_nic = task.executor == "nic"
        if by_nic:
            yield from nic_copy_errors(task, node)
        elif "peer" in (task.source, task.destination):
            yield from peer_errors(task.peer, node, "peer")
        yield from engines_errors(task.engines, node)
        yield from posting_on_node_errors(task, node, across=by_nic)
        if task.parameters == "managed" and node.gpu.kernels.parameter_fault is None:
            message = (
                f"{node.gpu.name} gives no kernels.parameter_fault; what 'managed' costs there"
            )
            yield InputError(message, "parameters")


def nic_copy_errors(task: Copy, node: Node) -> Errors:
    """A copy by NICs goes from a GPU to a peer in another node."""
    if node.nodes == 1:
        message = f"'nic' copies between nodes; {node.name} is one node"
        yield InputError(message, "executor")
    elif (task.source, task.destination) != ("gpu", "peer"):
        ends = f"{task.source} and {task.destination}"
        yield InputError(f"a NIC writes: source gpu and destination peer, not {ends}")
    elif not node.gpus <= task.peer < node.ranks:
        first = f"{node.gpus} (the same GPU of the next node)"
        message = f"got {task.peer}; must be {first} to {node.ranks - 1}"
        yield InputError(message, "peer")
