"""Compute units divided between the parts of a workload by the CU masks of their streams.

Bit b of a mask belongs to die b mod dies, so the *count* highest bits, with *count* a multiple of
the dies, are the same number of CUs on each die. All functions are pure rewrites.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from c3sim.models.gemm import plan_gemm
from c3sim.specs.hardware import Node
from c3sim.specs.workload import DTYPE_BYTES, Gemm, Stream, Workload
from c3sim.strategies.rewrites import (
    collective_of,
    collectives,
    compute_tasks,
    streams_of,
    with_streams,
    with_tasks,
)

PER_DIE = (1, 2, 4, 8, 16)  # CUs of each die to try for the collective


def splits(node: Node) -> tuple[int, ...]:
    """Numbers of CUs to try for the collective, as far as half of the CUs stay."""
    counts = (node.gpu.dies.count * per_die for per_die in PER_DIE)
    return tuple(count for count in counts if 2 * count <= node.gpu.compute_unit_count)


def reserved(workload: Workload, node: Node, count: int) -> Workload:
    """The *count* highest CUs, and no more channels, for collectives; the others for the rest."""
    units, names = node.gpu.compute_unit_count, collectives(workload)
    changes: dict[str, Mapping[str, Any]] = {}
    for name in names:
        task = collective_of(workload, name)
        library = node.collective_library(task.backend).channels
        most = count * library.channels_per_unit
        demanded = task.channels or library.default[task.op]
        changes[name] = {"channels": min(demanded, library.maximum, most)}
    compute = streams_of(workload, compute_tasks(workload))
    parted = masked(workload, compute, _mask(0, units - count))
    communication = streams_of(workload, names)
    return with_tasks(masked(parted, communication, _mask(units - count, units)), changes)


def withheld(workload: Workload, node: Node, streams: Iterable[str]) -> Workload:
    """One CU of each die, the highest bits, left idle by *streams*."""
    return masked(workload, streams, _mask(0, node.gpu.compute_unit_count - node.gpu.dies.count))


def is_memory_bound(node: Node, task: Gemm) -> bool:
    """Whether to move operands and result once takes longer than the tiles on all CUs."""
    plan, gpu = plan_gemm(node.gpu, task), node.gpu
    elements = task.m * task.k + task.k * task.n + task.m * task.n
    size = DTYPE_BYTES[task.dtype] * task.batch * elements
    memory = size / (gpu.hbm.bandwidth * gpu.hbm.read_efficiency)
    flops_per_cycle = gpu.compute_units.flops_per_cycle[task.dtype]
    peak = gpu.compute_unit_count * flops_per_cycle * gpu.clock.maximum
    return memory > plan.flops_per_tile * plan.tiles / peak


def memory_bound_streams(workload: Workload, node: Node) -> set[str]:
    """Streams whose compute tasks are GEMMs, all of them memory-bound."""
    names = compute_tasks(workload)
    others = [
        name
        for name in names
        if not (isinstance(task := workload.tasks[name], Gemm) and is_memory_bound(node, task))
    ]
    return streams_of(workload, names) - streams_of(workload, others)


def masked(workload: Workload, streams: Iterable[str], mask: str) -> Workload:
    """*workload* with this CU mask for *streams*."""
    changes = {
        name: workload.streams.get(name, Stream()).model_copy(update={"compute_units": mask})
        for name in streams
    }
    return with_streams(workload, changes)


def _mask(first: int, end: int) -> str:
    return f"{first}-{end - 1}"
