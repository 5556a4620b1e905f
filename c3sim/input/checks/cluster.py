"""Whether several nodes, and the network between them, can do what a workload asks of them."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.errors import InputError
from c3sim.input.documents import join
from c3sim.models.hierarchy import PHASES, cluster_algorithms
from c3sim.specs.hardware import Node
from c3sim.specs.words import unknown_errors
from c3sim.specs.workload import Collective, Copy

BY_ENGINES = {"all_gather": ("hierarchical",), "all_to_all": ("hierarchical", "direct")}


def across_nodes_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    """What *task* says of algorithms, phases and engines, on several nodes or on one."""
    phased = task.algorithm == "hierarchical"
    if node.scale_out is None:
        message = f"only between nodes; {node.name} is one node, its file has no scale_out"
        if phased:
            yield InputError(message, join(path, "algorithm"))
        if task.pipeline is not None:
            yield InputError(message, join(path, "pipeline"))
    elif task.pipeline is not None and task.algorithm not in (None, "hierarchical"):
        message = f"{task.algorithm!r} has no phases; needs algorithm hierarchical"
        yield InputError(message, join(path, "pipeline"))
    elif node.nodes > 1 and task.backend == "dma":
        yield from _engine_errors(task, node, path)
    elif node.nodes > 1:
        allowed, offered = cluster_algorithms(task.op), node.scale_out.algorithms
        what = f"algorithm of {task.op} on {node.nodes} nodes"
        yield from unknown_errors(what, task.algorithm, allowed, join(path, "algorithm"))
        what = f"collective between nodes of {node.name}"
        yield from unknown_errors(what, task.op, offered, join(path, "op"))
        if task.op in offered and (phased or "hierarchical" in offered[task.op]):
            yield from _phase_errors(task, node, path)


def _phase_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    """Phases inside a node are collectives of the library."""
    backend = task.backend or next(iter(node.collective_libraries))
    library = node.collective_libraries.get(backend)
    for where, op in PHASES[task.op]:
        if library and where == "node" and op not in library.algorithms:
            yield InputError(f"phases inside a node need {op!r}, which the library has not", path)


def _engine_errors(task: Collective, node: Node, path: str) -> Iterator[InputError]:
    what = f"collective on engines of {node.nodes} nodes"
    yield from unknown_errors(what, task.op, BY_ENGINES, join(path, "op"))
    if task.op not in BY_ENGINES:
        return
    what, allowed = f"algorithm of {task.op} on engines", BY_ENGINES[task.op]
    yield from unknown_errors(what, task.algorithm, allowed, join(path, "algorithm"))
    if task.variant not in (None, "pcpy"):
        message = f"{task.variant!r} is for the GPUs of one node; on {node.nodes} nodes only 'pcpy'"
        yield InputError(message, join(path, "variant"))


def nic_copy_errors(task: Copy, node: Node, path: str) -> Iterator[InputError]:
    """A copy by NICs goes from a GPU to a peer in another node."""
    if node.nodes == 1:
        message = f"'nic' copies between nodes; {node.name} is one node"
        yield InputError(message, join(path, "executor"))
    elif (task.source, task.destination) != ("gpu", "peer"):
        ends = f"{task.source} and {task.destination}"
        yield InputError(f"a NIC writes: source gpu and destination peer, not {ends}", path)
    elif not node.gpus <= task.peer < node.ranks:
        first = f"{node.gpus} (the same GPU of the next node)"
        message = f"got {task.peer}; must be {first} to {node.ranks - 1}"
        yield InputError(message, join(path, "peer"))
