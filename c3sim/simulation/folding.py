"""Folding: whether one GPU can stand for all, because every GPU does the same.

The three topologies map onto themselves when GPUs are renumbered cyclically; a full mesh and a
switch also when they are renumbered by place in groups (models/groups.py). A task is folded only
where its kind says why it may be. Within a node, only tasks, the map of DMA engines and the host
can tell GPUs apart; between nodes, the leaf switches.
"""

from __future__ import annotations

from c3sim.processes.dma.copies import same_sharing
from c3sim.processes.plan import Plan
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import plan


def can_fold(workload: Workload, node: Node) -> bool:
    """True if every GPU of all nodes does the same, and host and network treat them alike."""
    return folds(plan(workload, node))


def folds(plan: Plan) -> bool:
    """True as of :func:`can_fold`, for a workload that has been resolved."""
    return (
        _leaves_are_alike(plan.scene.node)
        and all(task.foldable for task in plan.tasks.values())
        and _engines_are_alike(plan)
        and not _engines_differ_by_gpu(plan)
        and _host_treats_alike(plan)
    )


def _leaves_are_alike(node: Node) -> bool:
    """True if all GPUs are on one leaf switch, or as many nodes on each."""
    wide = node.scale_out
    return wide is None or node.nodes <= wide.nodes_per_leaf or not node.nodes % wide.nodes_per_leaf


def _engines_are_alike(plan: Plan) -> bool:
    """True if commands, where there are any, share engines alike on every GPU, though the map's
    numbers differ.
    """
    if plan.scene.node.engine_map is None or not any(t.by_engines for t in plan.tasks.values()):
        return True
    # An engine that a command names serves another peer on every GPU.
    named = any(task.names_engines for task in plan.tasks.values())
    return not named and same_sharing(plan.scene.node)


def _engines_differ_by_gpu(plan: Plan) -> bool:
    """True if engines serve commands at other times, or in another order, from GPU to GPU:

    - engines poll for a release at times of their own;
    - sources carry several requests, or one beside other commands, each in its own order;
    - queues of one engine are released together, and each engine begins with another: those of one
      task, or of tasks in several streams.
    """
    tasks = [task for task in plan.tasks.values() if task.by_engines]
    engines = plan.scene.node.gpu.dma_engines
    if engines.pull_executor == "source":
        pulls = sum(task.pulls for task in tasks)
        if pulls > 1 or (pulls and len(tasks) > 1):
            return True
    if not plan.scene.workload.host.prelaunched or not tasks:
        return False
    if engines.poll_interval or len({task.task.stream or task.name for task in tasks}) > 1:
        return True
    return any(task.shares_an_engine for task in tasks)


def _host_treats_alike(plan: Plan) -> bool:
    """True if each GPU has a host thread, or one thread has queued kernels before the release.

    (Ranks that are released by themselves are folded class by class: simulation/draws.py.)
    """
    host = plan.scene.workload.host
    if host.threads == "per_gpu":
        return True
    return host.launch == "queued" and not any(task.by_host for task in plan.tasks.values())
