"""A training step of a recommendation model around the embedding and its all-to-all.

    forward   embedding and all-to-all beside the bottom network; dot products; top network
    backward  top network; all-to-all of gradients, update of the rows, beside the bottom network
              and the sum of the networks' gradients

Both networks are their matrix products alone; backward each has two. Only the forward embedding is
fused.
"""

from __future__ import annotations

from collections.abc import Iterable

from c3sim.specs.dlrm import Dlrm
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.studies.fused.workloads import (
    Conditions,
    Configuration,
    Tasks,
    as_workload,
    fused_tasks,
    lasts,
    unfused_tasks,
)


def embedding_of(model: Dlrm, batch: int) -> Configuration:
    """What each GPU looks up of its tables: on average as much as its samples need of all."""
    tables = len(model.rows)
    return Configuration(
        "embedding_all_to_all", batch * tables, model.width, round(sum(model.lookups) / tables)
    )


def training_step(node: Node, model: Dlrm, batch: int, how: Conditions, *, fuse: bool) -> Workload:
    row = embedding_of(model, batch)
    tasks = (fused_tasks if fuse else unfused_tasks)(node, row, how)
    exchanged = lasts(tasks)
    bottom = list(zip((model.dense, *model.bottom), model.bottom, strict=False))
    top = list(zip((model.interactions, *model.top), model.top, strict=False))
    ends = [*_network(tasks, "bottom", bottom, batch, []), *exchanged]
    vectors = len(model.rows) + 1
    dots = {"kind": "gemm", "m": vectors, "n": vectors, "k": model.width, "batch": batch}
    tasks["dots"] = {**dots, "after": ends}
    forward = _network(tasks, "top", top, batch, ["dots"])
    backward = _network(tasks, "top_back", reversed(top), batch, forward, products=2)
    gradients = {"kind": "collective", "op": "all_to_all", "size": row.bytes}
    tasks["gradients"] = {**gradients, "after": backward}
    update = {"kind": "kernel", "operator": "embedding"}
    moved = {"read": 2 * row.k * row.bytes, "written": row.k * row.bytes}
    tasks["update"] = {**update, **moved, "after": ["gradients"]}
    _network(tasks, "bottom_back", reversed(bottom), batch, backward, products=2)
    size = model.network_parameters * model.element
    tasks["sum"] = {"kind": "collective", "op": "all_reduce", "size": size, "after": ["gradients"]}
    return as_workload(node, tasks)


def _network(
    tasks: Tasks,
    name: str,
    layers: Iterable[tuple[int, int]],
    batch: int,
    after: list[str],
    products: int = 1,
) -> list[str]:
    """Adds the matrix products of a network; the name of the last."""
    for number, (inputs, outputs) in enumerate(layers):
        for product in range(products):
            m, n, k = (batch, outputs, inputs) if product == 0 else (outputs, inputs, batch)
            task = f"{name}{number}_{product}"
            tasks[task] = {"kind": "gemm", "m": m, "n": n, "k": k, "after": after}
            after = [task]
    return after
