"""Whether what a workload asks of several nodes, and of the network between them, can be had on a
node file.
"""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.input.yaml_nodes import join
from c3sim.models.hierarchy import PHASES, cluster_algorithms
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Copy

BY_ENGINES = {"all_gather": ("hierarchical",), "all_to_all": ("hierarchical", "direct")}


def across_nodes_errors(task: Collective, node: Node, path: str) -> list[InputError]:
    """What *task* says of algorithms, phases and engines, on several nodes or on one."""
    phased = task.algorithm == "hierarchical"
    if node.scale_out is None:
        asked = {"algorithm": phased, "pipeline": task.pipeline is not None}
        needs = f"only between nodes; {node.name} is one node, its file has no scale_out"
        return [
            InputError(needs, join(path, field)) for field, is_asked in asked.items() if is_asked
        ]
    if task.pipeline is not None and task.algorithm not in (None, "hierarchical"):
        return [
            InputError(
                f"{task.algorithm!r} has no phases; needs algorithm hierarchical",
                join(path, "pipeline"),
            )
        ]
    if node.nodes == 1:
        return []
    if task.backend == "dma":
        return _engine_errors(task, node, path)
    errors = []
    allowed = cluster_algorithms(task.op)
    if task.algorithm is not None and task.algorithm not in allowed:
        what = f"algorithm of {task.op} on {node.nodes} nodes"
        errors.append(InputError(unknown(what, task.algorithm, allowed), join(path, "algorithm")))
    if task.op not in node.scale_out.algorithms:
        known = tuple(node.scale_out.algorithms)
        errors.append(
            InputError(
                unknown(f"collective between nodes of {node.name}", task.op, known),
                join(path, "op"),
            )
        )
    elif phased or "hierarchical" in node.scale_out.algorithms[task.op]:
        library = node.collective_libraries.get(
            task.backend or next(iter(node.collective_libraries))
        )
        missing = [
            op
            for where, op in PHASES[task.op]
            if library and where == "node" and op not in library.algorithms
        ]
        errors += [
            InputError(f"phases inside a node need {op!r}, which the library has not", path)
            for op in missing
        ]
    return errors


def _engine_errors(task: Collective, node: Node, path: str) -> list[InputError]:
    if task.op not in BY_ENGINES:
        what = f"collective on engines of {node.nodes} nodes"
        return [InputError(unknown(what, task.op, BY_ENGINES), join(path, "op"))]
    errors = []
    if task.algorithm is not None and task.algorithm not in BY_ENGINES[task.op]:
        what = f"algorithm of {task.op} on engines"
        errors.append(
            InputError(unknown(what, task.algorithm, BY_ENGINES[task.op]), join(path, "algorithm"))
        )
    if task.variant not in (None, "pcpy"):
        message = f"{task.variant!r} is for the GPUs of one node; on {node.nodes} nodes only 'pcpy'"
        errors.append(InputError(message, join(path, "variant")))
    return errors


def nic_copy_errors(task: Copy, node: Node, path: str) -> list[InputError]:
    """A copy by NICs goes from a GPU to a peer in another node."""
    if node.nodes == 1:
        return [
            InputError(
                f"'nic' copies between nodes; {node.name} is one node", join(path, "executor")
            )
        ]
    if (task.source, task.destination) != ("gpu", "peer"):
        return [
            InputError(
                f"a NIC writes: source gpu and destination peer, not {task.source} and "
                f"{task.destination}",
                path,
            )
        ]
    if node.gpus <= task.peer < node.ranks:
        return []
    message = (
        f"got {task.peer}; must be {node.gpus} (the same GPU of the next node) to {node.ranks - 1}"
    )
    return [InputError(message, join(path, "peer"))]
