"""An operator and the collective behind it, as tasks on a node; and a training step of a
recommendation model around the embedding and its all-to-all.

Unfused: a kernel that stores its result, where ``staging`` says so a copy of it into the order that
the collective wants, and a collective of the library; each is launched.

Fused: one persistent kernel with ``occupancy`` of the places that a kernel has, so that it moves as
much less per second. Its work is cut into slices. As a slice is complete its parts go to the peers,
stored straight into their memory in the node, put by the NIC between nodes; the kernel goes on
meanwhile. With the order that knows of communication what peers wait for comes first, and what
stays on the GPU last:

    slice i of s is complete    with it     after (i / s) (n - 1) / n of the work
                                without it  after 1 / n + (i / s) (n - 1) / n, the own part first

The sum of an all-reduce has two phases: parts to their owners, sums from the owners to all. A store
of a slice is a copy by an engine that takes no time but that of memory and links
(:func:`with_stores`).

A training step, of which only the forward embedding is fused:

    forward   embedding and all-to-all beside the bottom network; dot products; top network
    backward  top network; all-to-all of gradients, update of the rows, beside the bottom network
              and the sum of the networks' gradients

Both networks are their matrix products alone; backward each has two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from c3sim.errors import InputError
from c3sim.experiments.study import Row
from c3sim.simulation.runs import run_once
from c3sim.spec.hardware import Node
from c3sim.spec.models import Dlrm
from c3sim.spec.reading.loading import load_any_model, parse_workload
from c3sim.spec.study import Study
from c3sim.spec.workload import Workload

Operator = Literal["embedding_all_to_all", "gemv_all_reduce", "gemm_all_to_all"]
ELEMENT = 2  # bytes
Tasks = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Assumptions about all operators; *late*: the part of this GPU is made first, not last."""

    slices: int
    occupancy: float
    staging: bool
    late: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """One row: *m* x *n* results over depth *k*. Embedding: m vectors of n numbers, each the sum of
    k rows; GEMV: m numbers, n = 1.
    """

    operator: Operator
    m: int
    n: int
    k: int

    @property
    def bytes(self) -> int:
        return self.m * self.n * ELEMENT

    @property
    def name(self) -> str:
        return f"{self.m} x {self.n} x {self.k}"

    @property
    def collective(self) -> str:
        return "all_reduce" if self.operator == "gemv_all_reduce" else "all_to_all"


def unfused(node: Node, row: Configuration, how: Conditions) -> Workload:
    return as_workload(node, unfused_tasks(node, row, how))


def unfused_tasks(node: Node, row: Configuration, how: Conditions, after: str = "") -> Tasks:
    """*after*: the task that comes before the kernel; its last is ``exchange``."""
    before = [after] if after else []
    tasks: Tasks = {"compute": {**_kernel(node, row), "after": before}}
    last = "compute"
    if how.staging and row.collective == "all_to_all":
        tasks["stage"] = {"kind": "stream", "pattern": "copy", "bytes": row.bytes, "after": [last]}
        last = "stage"
    op = {"kind": "collective", "op": row.collective, "size": row.bytes}
    return {**tasks, "exchange": {**op, "after": [last]}}


def fused(node: Node, row: Configuration, how: Conditions) -> Workload:
    return as_workload(node, fused_tasks(node, row, how))


def fused_tasks(node: Node, row: Configuration, how: Conditions, after: str = "") -> Tasks:
    """Its last tasks are those that :func:`lasts` names."""
    tasks: Tasks = {
        "compute": {**_kernel(node, row, how.occupancy), "after": [after] if after else []}
    }
    remote = 1.0 - 1.0 / node.ranks
    for number in range(how.slices):
        done = remote * (number + 1) / how.slices + (1.0 - remote) * how.late
        part = {"kind": "collective", "backend": "dma", "size": row.bytes / how.slices}
        ready = f"compute.tiles[{100 * done:.12g}%]"
        tasks[f"slice{number}"] = {**part, "op": "all_to_all", "after": [ready]}
        if row.collective == "all_reduce":
            sums = {**part, "op": "all_gather", "after": [f"slice{number}"]}
            tasks[f"sums{number}"] = sums
    return tasks


def lasts(tasks: Tasks) -> list[str]:
    """The tasks that have to be over before the results may be used."""
    return [name for name in tasks if name.startswith(("compute", "exchange", "slice", "sums"))]


def with_stores(node: Node) -> Node:
    """*node* with engines that stand for stores of a kernel's workgroups: one for every peer, as
    fast as its links, without latencies, packets or a host of their own. A flag takes a hop.
    """
    peers = max(1, node.gpus - 1)
    rate = node.links.bandwidth * node.links.per_peer
    update: dict[str, object] = {
        "count": peers,
        "host_count": 0,
        "local_count": 0,
        "per_peer": 1,
        "bandwidth": rate,
        "bytes_in_flight": None,
        "latency": 0.0,
        "copy_latency": node.links.latency,
        "packet_time": 0.0,
        "queue_switch_time": 0.0,
        "queues": 4096,
        "stream_queues": None,
        "trigger_latency": 0.0,
    }
    engines = node.gpu.dma_engines.model_copy(update=update)
    gpu = node.gpu.model_copy(update={"dma_engines": engines})
    links = node.links.model_copy(update={"engine_map": None})
    return node.model_copy(update={"gpu": gpu, "links": links})


def _kernel(node: Node, row: Configuration, occupancy: float = 1.0) -> Tasks:
    """The computation; persistent where *occupancy* is below 1."""
    units, operators = node.gpu.compute_unit_count, node.gpu.operators
    if operators is None:
        raise InputError(f"{node.name} has no operators; a study of fused ones needs them")
    if row.operator == "gemm_all_to_all":
        gemm: Tasks = {"kind": "gemm", "m": row.m, "n": row.n, "k": row.k}
        if occupancy == 1.0:
            return gemm
        return {**gemm, "schedule": "persistent", "workgroups": int(units * occupancy)}
    summed = row.k * (row.bytes if row.operator == "embedding_all_to_all" else row.m * ELEMENT)
    reached = operators.gather if row.operator == "embedding_all_to_all" else 1.0
    return {
        "kind": "kernel",
        "operator": "embedding",
        "read": summed,
        "written": row.bytes,
        "tiles": 64 * units,
        "stream_efficiency": reached * occupancy,
    }


def as_workload(node: Node, tasks: Tasks) -> Workload:
    host = {"launch": "eager"}
    document = {"schema": 1, "name": "operator", "node": node.name, "tasks": tasks, "host": host}
    return parse_workload(document)


def embedding_of(model: Dlrm, batch: int) -> Configuration:
    """Rows that each GPU looks up: on average as much as its samples need of all."""
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


def conditions_of(study: Study) -> Conditions:
    said = study.assumptions
    slices, occupancy = int(said["slices"]), float(said["occupancy"])
    return Conditions(slices=slices, occupancy=occupancy, staging=bool(said["staging"]))


def end_of(node: Node, workload: Workload) -> float:
    return run_once(node, workload, energy=False).end


def compared(node: Node, one: Configuration, how: Conditions) -> tuple[float, float, float | None]:
    """Ends [s]: unfused, fused, and of two nodes fused with the part of this GPU first."""
    storing = with_stores(node)

    def end(*, late: bool) -> float:
        return end_of(storing, fused(storing, one, replace(how, late=late)))

    before, after = end_of(node, unfused(node, one, how)), end(late=False)
    return before, after, end(late=True) if node.nodes == 2 else None


def training(study: Study, node: Node) -> Row:
    """*exchange_share*: of embedding and all-to-all in the unfused step."""
    model, how = load_any_model(str(study.assumptions["model"])), conditions_of(study)
    if not isinstance(model, Dlrm):
        raise InputError(f"{model.name} is no recommendation model", "assumptions.model")
    assert node.scale_out is not None
    batch, nodes = int(study.assumptions["batch"]), int(study.assumptions["nodes"])
    wide = node.model_copy(update={"scale_out": node.scale_out.model_copy(update={"nodes": nodes})})
    storing = with_stores(wide)
    before = run_once(wide, training_step(wide, model, batch, how, fuse=False), energy=False)
    after = end_of(storing, training_step(storing, model, batch, how, fuse=True))
    return Row(
        node=node.name,
        nodes=nodes,
        batch=batch,
        unfused_s=before.end,
        fused_s=after,
        saving=1.0 - after / before.end,
        exchange_share=before.task("exchange").end / before.end,
    )
