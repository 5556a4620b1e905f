"""Laws about bytes between nodes: what NICs and leaf switches carry, reckoned from the workload alone."""

from __future__ import annotations

import pytest
from law_cases import REL, Case, every_case
from law_observer import observed

from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Copy

# What each GPU sends to other nodes, in units of the message size S, on N nodes of g GPUs. A hierarchical collective
# does over NICs what N GPUs do that hold S/g each, an all-to-all what N GPUs do that hold S (each rail's part of all
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


@every_case("bytes_sent_equal_bytes_received", lambda c: c.node.nodes > 1)
def test_bytes_between_nodes(case: Case) -> None:
    """What all NICs send is what all receive, and what the tasks ask for. What crosses the spine goes up at one leaf and
    down at another: all of it where every node has a leaf of its own, nothing where one leaf holds all nodes.
    """
    node = case.node
    outcome, seen = observed(case, fold=False)
    moved = seen.moved()
    out, into, up, down = (
        sum(amount for name, amount in moved.items() if name.endswith(end))
        for end in ("nic.out", "nic.in", ".up", ".down")
    )
    wanted = 0.0
    for name, task in case.workload.tasks.items():
        if isinstance(task, Copy) and task.executor == "nic":
            wanted += task.repeat * task.bytes * (node.ranks if task.gpus == "all" else 1)
        if isinstance(task, Collective):
            if task.backend == "dma":
                algorithm, efficiency = task.algorithm or "hierarchical", 1.0
            else:
                detail = outcome.times[name, 0].detail
                library = node.collective_library(task.backend)
                algorithm, efficiency = detail["algorithm"], library.protocols[detail["protocol"]].efficiency
            wanted += (
                task.repeat * node.ranks * _sent(node, task, algorithm) * task.size / efficiency
            )
    assert out == pytest.approx(wanted, rel=REL)
    assert into == pytest.approx(wanted, rel=REL)
    crosses = node.scale_out.nodes_per_leaf == 1
    assert [up, down] == pytest.approx([wanted * crosses] * 2, rel=REL)
