"""Whether kernels of a node can store at peers as a workload says."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.errors import InputError
from c3sim.input.documents import join
from c3sim.specs.hardware import Node
from c3sim.specs.stores import Stores
from c3sim.specs.words import unknown_errors
from c3sim.specs.workload import Gemm


def stores_errors(task: Stores, node: Node, path: str) -> Iterator[InputError]:
    """Peers, what the GPU's file knows, and fields of stores alone."""
    if node.gpus < 2:
        yield InputError("stores at peers on 1 GPU; needs a node of at least 2", path)
    if task.direction == "pull":
        for field in ("in_flight", "policy", "publish"):
            if getattr(task, field) is not None:
                message = "loads are no stores; needs direction push"
                yield InputError(message, join(path, field))
    elif node.gpu.remote_stores is None:
        yield _unknown_here(node, path)
    else:
        policies = node.gpu.remote_stores.policies
        where = join(path, "policy")
        yield from unknown_errors("store policy", task.policy, policies, where)


def storing_gemm_errors(task: Gemm, node: Node, path: str) -> Iterator[InputError]:
    """What a GEMM publishes, or stores at peers, needs costs and peers."""
    if task.results == "peers" and node.gpus < 2:
        message = "stores at peers on 1 GPU; needs a node of at least 2"
        yield InputError(message, join(path, "results"))
    for field, used in (("results", task.results == "peers"), ("publish", bool(task.publish))):
        if used and node.gpu.remote_stores is None:
            yield _unknown_here(node, join(path, field))


def _unknown_here(node: Node, path: str) -> InputError:
    message = f"{node.gpu.name} gives no remote_stores; needed to store at peers or publish tiles"
    return InputError(message, path)
