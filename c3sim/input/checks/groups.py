"""Whether the GPUs of a node divide into the groups that a collective asks for."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.errors import InputError
from c3sim.input.documents import join
from c3sim.models.groups import group_of, on_rails
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective


def group_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    """Groups lie inside a node, whose links lead from each GPU to each other one; or they have a
    GPU of every node.
    """
    group = group_of(node, task)
    if group is None:
        if task.group is None and task.stride != 1:
            yield InputError("stride is for groups; give group too", join(path, "stride"))
        return
    where = join(path, "group")
    if group.size < 2:
        yield InputError(f"got {group.size}; a group has at least 2 GPUs", where)
    elif on_rails(node, group):
        if task.backend == "dma":
            yield InputError("DMA engines do not reach other nodes in groups", where)
        elif task.algorithm not in (None, "ring", "direct"):
            message = f"{task.algorithm!r} is not between nodes; allowed: ring, direct"
            yield InputError(message, join(path, "algorithm"))
    elif node.gpus % (group.size * group.stride):
        message = (
            f"groups of {group.size} GPUs, {group.stride} apart, do not divide the {node.gpus}"
        )
        if node.nodes > 1:
            message += f" GPUs of a node; between nodes: {node.nodes}, {node.gpus} apart"
        yield InputError(message + ("" if node.nodes > 1 else f" GPUs of {node.name}"), where)
    elif node.links.topology == "ring":
        yield InputError(f"{node.name} is a ring; its collectives are of all GPUs", where)
    elif node.nodes > 1 and task.backend == "dma":
        yield InputError("DMA engines have no groups on several nodes", where)
    elif task.variant == "swap":
        yield InputError("swaps are among all GPUs of a node", join(path, "variant"))
    elif task.algorithm == "hierarchical" or task.pipeline is not None:
        message = "phases are between nodes; a group inside a node has none"
        yield InputError(message, join(path, "algorithm" if task.algorithm else "pipeline"))
