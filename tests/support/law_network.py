"""The bytes that NICs and leaf switches have to carry, reckoned from the workload alone."""

from __future__ import annotations

from law_runs import Trial

from c3sim.spec.hardware import Node
from c3sim.spec.workload import Collective, Copy

# Bytes that each GPU sends to other nodes, in units of the message size S, on N nodes of g GPUs. A
# hierarchical collective
# does over NICs what N GPUs do that hold S/g each, an all-to-all what N GPUs do that hold S (each
# rail's part of all
# GPUs of the node). A ring through all n = N g GPUs leaves the node once in g hops.
HIERARCHICAL = {
    "all_reduce": lambda N, g: 2 * (N - 1) / N / g,
    "all_gather": lambda N, g: (N - 1) / N / g,
    "reduce_scatter": lambda N, g: (N - 1) / N / g,
    "all_to_all": lambda N, g: (N - 1) / N,
}


def _sent(node: Node, task: object, algorithm: str) -> float:
    """Bytes that each GPU sends to other nodes, in units of S."""
    N, g, n = node.nodes, node.gpus, node.ranks
    if algorithm == "hierarchical":
        return HIERARCHICAL[task.op](N, g)
    times = 2 if task.op == "all_reduce" else 1
    if algorithm == "ring":
        return times * (n - 1) / n / g
    return times * (n - g) / n  # direct: a part of S / n to each of them


def between_nodes(trial: Trial) -> tuple[float, float]:
    """Bytes that all tasks together send to other nodes, and those of them that cross the spine:
    all of them where every node has a leaf of its own; where all nodes are on a leaf per rail, what
    goes to a GPU that is not in the same place of its node.
    """
    node = trial.node
    wanted = crossing = 0.0
    own_leaf = node.scale_out.nodes_per_leaf == 1
    for name, task in trial.workload.tasks.items():
        if isinstance(task, Copy) and task.executor == "nic":
            asked = task.repeat * task.bytes * (node.ranks if task.gpus == "all" else 1)
            wanted, crossing = wanted + asked, crossing + own_leaf * asked
        if isinstance(task, Collective):
            if task.backend == "dma":
                algorithm, efficiency = task.algorithm or "hierarchical", 1.0
            else:
                detail = trial.unfolded.times[name, 0].detail
                library = node.collective_library(task.backend)
                algorithm, efficiency = (
                    detail["algorithm"],
                    library.protocols[detail["protocol"]].efficiency,
                )
            asked = task.repeat * node.ranks * _sent(node, task, algorithm) * task.size / efficiency
            changes = (node.gpus - 1) / node.gpus if algorithm == "direct" else 0.0
            wanted, crossing = wanted + asked, crossing + (1.0 if own_leaf else changes) * asked
    return wanted, crossing
