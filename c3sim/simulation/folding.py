"""Folding: whether one GPU can stand for all, because every GPU does the same.

The three topologies map onto themselves when GPUs are renumbered cyclically; a full mesh and a
switch also when they are renumbered by place in groups (models/groups.py). Within a node, only
tasks, the map of DMA engines and the host can tell GPUs apart; between nodes, the leaf switches.
"""

from __future__ import annotations

from c3sim.processes.dma.copies import same_sharing
from c3sim.processes.dma.order import engines_differ_by_gpu, uses_engines
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Commands, Copy, Gemm, Task, Workload


def can_fold(workload: Workload, node: Node) -> bool:
    """Whether every GPU of all nodes does the same, and host and network treat them alike."""
    return (
        _network_is_alike(workload, node)
        and not any(_is_for_some_gpus(task) for task in workload.tasks.values())
        and _engines_are_alike(workload, node)
        and not engines_differ_by_gpu(workload, node)
        and _host_treats_alike(workload)
    )


def _network_is_alike(workload: Workload, node: Node) -> bool:
    """Whether every GPU sees the same network: one leaf for all, or as many nodes on each."""
    wide = node.scale_out
    copies = (task for task in workload.tasks.values() if isinstance(task, Copy))
    by_nic = [copy for copy in copies if copy.executor == "nic"]
    if wide is None or node.nodes <= wide.nodes_per_leaf:
        # A copy to another place of its node stays on its leaf for some GPUs and crosses the spine
        # for others, as NICs are shared.
        return all(task.peer % node.gpus == 0 for task in by_nic)
    return node.nodes % wide.nodes_per_leaf == 0 and not by_nic


def _is_for_some_gpus(task: Task) -> bool:
    """Whether only the first GPU runs it, or, of a swap, one GPU of each pair submits; or engines
    go to peers that are at other places of the node for each GPU of a group; or every GPU makes the
    tiles of one owner first, which is another one, seen from each of them.
    """
    if isinstance(task, Copy | Commands):
        return task.gpus == "first"
    if isinstance(task, Gemm):
        return task.order == "by_owner"
    if not isinstance(task, Collective):
        return False
    return task.variant == "swap" or (task.backend == "dma" and task.group is not None)


def _engines_are_alike(workload: Workload, node: Node) -> bool:
    """Whether commands share engines alike on every GPU, though the map's numbers differ."""
    if node.engine_map is None:
        return True
    programs = (task.program for task in workload.tasks.values() if isinstance(task, Commands))
    # An engine that a command names serves another peer on every GPU.
    named = any(command.engine is not None for program in programs for command in program)
    return not named and same_sharing(node)


def _host_treats_alike(workload: Workload) -> bool:
    """Whether each GPU has a host thread, or one thread has queued kernels before the release.

    (Ranks that are released by themselves are folded class by class: simulation/draws.py.)
    """
    if workload.host.threads == "per_gpu":
        return True
    return workload.host.launch == "queued" and not any(
        task.kind == "host" or uses_engines(task) for task in workload.tasks.values()
    )
