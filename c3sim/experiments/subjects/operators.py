"""An operator and the collective behind it, as tasks on a node; and a training step of a
recommendation model around the embedding and its all-to-all.

Unfused: a kernel that stores its result, where ``staging`` says so a copy of it into the order that
the collective wants, and a collective of the library; each is launched.

Fused: one persistent kernel, whose workgroups stay and take one task (a tile) after the other. The
calls that communicate take registers, so that ``occupancy`` of a unit's places are left; a kernel
that is bound by its requests under way has as many fewer. The order that knows of communication
makes first what peers wait for.

    in a node       all threads store straight into the peer's memory (``results: peers``); behind
                    each task, one for each peer, its workgroup sets a flag (``publish: flag``)
    between nodes   results stay; as a slice of what leaves is complete, the workgroup that ended
                    the last of its tasks puts it and a flag behind it by the NIC (``posted``)

    slice i of s is complete    with it     after (i / s) (n - 1) / n of the work
                                without it  after 1 / n + (i / s) (n - 1) / n, the own part first

The sum of an all-reduce has two phases: parts to their owners; workgroups there poll the flags
(``awaits``), add, and store the sums at all peers.

A training step, of which only the forward embedding is fused:

    forward   embedding and all-to-all beside the bottom network; dot products; top network
    backward  top network; all-to-all of gradients, update of the rows, beside the bottom network
              and the sum of the networks' gradients

Both networks are their matrix products alone; backward each has two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from c3sim.errors import InputError
from c3sim.models.gemm import plan_gemm
from c3sim.spec.hardware import Node
from c3sim.spec.models import Dlrm
from c3sim.spec.reading.loading import parse_workload
from c3sim.spec.workload import Gemm, Workload

Operator = Literal["embedding_all_to_all", "gemv_all_reduce", "gemm_all_to_all"]
ELEMENT = 2  # bytes
Tasks = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Assumptions about all operators; *late*: tasks come in the order of destinations, without
    regard to who waits; between two nodes the part of this GPU is made first, not last.
    """

    slices: int
    occupancy: float
    staging: bool
    late: bool = False
    flags: bool = True


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


def unfused_tasks(node: Node, row: Configuration, how: Conditions) -> Tasks:
    """Kernel and collective, one after the other; the last task is ``exchange``."""
    tasks: Tasks = {"compute": {**_kernel(node, row), "after": []}}
    last = "compute"
    if how.staging and row.collective == "all_to_all":
        tasks["stage"] = {"kind": "stream", "pattern": "copy", "bytes": row.bytes, "after": [last]}
        last = "stage"
    op = {"kind": "collective", "op": row.collective, "size": row.bytes}
    return {**tasks, "exchange": {**op, "after": [last]}}


def fused(node: Node, row: Configuration, how: Conditions) -> Workload:
    return as_workload(node, fused_tasks(node, row, how))


def fused_tasks(node: Node, row: Configuration, how: Conditions) -> Tasks:
    """Tasks of a fused operator; the last ones are those that :func:`lasts` names."""
    compute = {**_persistent(node, row, how), "after": []}
    if node.nodes > 1:
        return {"compute": compute, **_puts(node, row, how)}
    owned: Tasks = {"results": "peers", "order": "by_owner" if how.late else "remote_first"}
    if how.flags:
        owned["publish"] = "flag"
    tasks: Tasks = {"compute": {**compute, **owned}}
    if row.collective == "all_reduce":
        sums = {"kind": "kernel", "read": row.bytes, "written": row.bytes, "awaits": ["compute"]}
        # of the same kernel, so nobody launches them
        tasks["sums"] = {**sums, **owned, "workgroups": node.ranks, "launch_time": "0 us"}
    return tasks


def _puts(node: Node, row: Configuration, how: Conditions) -> Tasks:
    """Slices of what leaves the node: a put to the other one, or one to each by a workgroup of its
    own.
    """
    remote = 1.0 - 1.0 / node.ranks
    tasks: Tasks = {}
    for number in range(how.slices):
        done = remote * (number + 1) / how.slices + (1.0 - remote) * how.late
        put: Tasks = {"after": [f"compute.tiles[{100 * done:.12g}%]"]}
        size = row.bytes / how.slices
        if node.nodes == 2:
            put |= {"kind": "copy", "executor": "nic", "bytes": remote * size, "gpus": "all"}
            put |= {"posted": "serial"}
        else:
            put |= {"kind": "collective", "op": "all_to_all", "backend": "dma", "size": size}
            put |= {"algorithm": "direct", "posted": "lanes"}
        tasks[f"slice{number}"] = put
    return tasks


def lasts(tasks: Tasks) -> list[str]:
    """The tasks that have to be over before the results may be used."""
    return [name for name in tasks if name.startswith(("compute", "exchange", "slice", "sums"))]


PLACES = 8  # workgroups of a unit at full occupancy: 256 threads of 64 registers each


def _kernel(node: Node, row: Configuration, occupancy: float = 1.0) -> Tasks:
    """The computation, by workgroups of which each has one task."""
    operators = node.gpu.operators
    if operators is None:
        raise InputError(f"{node.name} has no operators; a study of fused ones needs them")
    if row.operator == "gemm_all_to_all":
        return {"kind": "gemm", "m": row.m, "n": row.n, "k": row.k}
    summed = row.k * (row.bytes if row.operator == "embedding_all_to_all" else row.m * ELEMENT)
    reached = operators.gather if row.operator == "embedding_all_to_all" else 1.0
    return {
        "kind": "kernel",
        "operator": "embedding",
        "read": summed,
        "written": row.bytes,
        "per_unit": PLACES,
        "workgroups": 64 * node.gpu.compute_unit_count,
        "stream_efficiency": reached * occupancy,
    }


def _persistent(node: Node, row: Configuration, how: Conditions) -> Tasks:
    """The computation, by workgroups that stay: of a GEMM as many as find room beside the calls'
    registers, else *occupancy* of the places.
    """
    kernel, units = _kernel(node, row, how.occupancy), node.gpu.compute_unit_count
    if kernel["kind"] == "gemm":
        residents = gemm_residents(node, Gemm(**kernel), how.occupancy)
        return {**kernel, "schedule": "persistent", "workgroups": units * residents}
    places = max(1, int(PLACES * how.occupancy))
    tasks = max(node.ranks if node.nodes == 1 else 0, how.slices, 64 // places)
    held = {"per_unit": places, "workgroups": units * places}
    return {**kernel, **held, "tiles": units * places * tasks}


def gemm_residents(node: Node, gemm: Gemm, occupancy: float) -> int:
    """Workgroups of *gemm* on a compute unit whose lanes have the registers besides by which a
    kernel at full occupancy loses 1 - *occupancy* of its places.
    """
    units, plan = node.gpu.compute_units, plan_gemm(node.gpu, gemm)
    full = units.registers / (PLACES * BASIC_WAVES)  # of a wave
    more = plan.waves * full * (1.0 / occupancy - 1.0)
    return max(1, min(plan.residents, int(units.registers / (plan.registers + more))))


BASIC_WAVES = 4  # of a workgroup of 256 threads


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
