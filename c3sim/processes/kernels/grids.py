"""The grid of every task that needs compute units: workgroups, CU mask and cluster."""

from __future__ import annotations

from c3sim.models.gemm import plan_gemm
from c3sim.models.groups import group_of
from c3sim.models.hierarchy import Plans
from c3sim.processes.kernels.any_kernel import kernel_workgroups
from c3sim.processes.kernels.dealing import usable_cluster
from c3sim.processes.kernels.gemm import gemm_workgroups
from c3sim.processes.kernels.residency import GridShape
from c3sim.specs.hardware import Node
from c3sim.specs.task import Kernel, Stores
from c3sim.specs.workload import (
    Collective,
    Copy,
    Gemm,
    Hold,
    StreamKernel,
    Task,
    Workload,
    parse_cu_mask,
)


def is_kernel(node: Node, workload: Workload, copy: Copy) -> bool:
    """Whether compute units do *copy*: it says so, or it is a call of the runtime within the GPU,
    and the runtime launches a kernel for it (``dma_engines.local_copies``).
    """
    within = (copy.source, copy.destination) == ("gpu", "gpu") and copy.executor == "dma"
    by_kernel = node.gpu.dma_engines.local_copies == "kernels"
    host = workload.host
    a_call = host.submission == "one_by_one" and (
        not host.prelaunched or host.release == "per_rank"
    )
    return copy.executor == "kernel" or (within and by_kernel and a_call)


def own_shard(node: Node, workload: Workload, task: Task) -> Copy | None:
    """The copy of a rank's own shard in a collective by engines, if compute units do it."""
    if not (isinstance(task, Collective) and task.out_of_place):
        return None
    group = group_of(node, task)
    size = task.size / (node.gpus if group is None else group.size)
    copy = Copy(kind="copy", bytes=size, destination="gpu", gpus="all")
    return copy if is_kernel(node, workload, copy) else None


def grid_shapes(workload: Workload, node: Node) -> dict[str, GridShape]:
    """Grid of every task that needs compute units."""
    shapes, plans = {}, Plans(node)
    units = node.gpu.compute_unit_count
    for name, task in workload.tasks.items():
        allowed = (
            workload.streams[task.stream].compute_units if task.stream in workload.streams else None
        )
        mask = None if allowed is None else parse_cu_mask(allowed, units)
        if isinstance(task, Gemm):
            plan = plan_gemm(node.gpu, task)
            workgroups = gemm_workgroups(node.gpu, plan, task)
            shapes[name] = GridShape(
                workgroups, mask, usable_cluster(node.gpu, mask, workgroups, plan.cluster_size)
            )
        elif isinstance(task, Kernel):
            shapes[name] = GridShape(kernel_workgroups(task, node.gpu), mask)
        elif isinstance(task, StreamKernel | Stores | Hold) or (
            isinstance(task, Copy) and is_kernel(node, workload, task)
        ):
            shapes[name] = GridShape(task.workgroups or units, mask)
        elif own_shard(node, workload, task) is not None:
            shapes[name] = GridShape(units, mask)
        elif isinstance(task, Collective) and task.backend != "dma":
            rules = node.collective_library(task.backend).channels
            groups = rules.workgroups(plans.of(task).channels)
            size = usable_cluster(node.gpu, mask, groups, rules.cluster)
            shapes[name] = GridShape(groups, mask, size)
    return shapes
