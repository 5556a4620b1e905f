"""What is warm: operands that the last shared cache (memory-side, or the L2 of a GPU with one die)
still holds from the previous iteration of a loop.

``warm`` says that the workload runs in a loop on the same buffers. A task then finds its operands
where the last iteration left them, less what all others have pulled through the cache since: with V
bytes inserted by the other tasks of an iteration and a capacity C, the share max(0, 1 - V/C)
survives. (Measured: a GEMM that runs after a collective, not beside it, is 6.5 % slower than in a
loop of its own, github.com/ROCm/tritonBLAS @3b84da4 results/experiment_log.json, exp_007.)
"""

from __future__ import annotations

from c3sim.models.accesses import moved_by
from c3sim.models.cache_policy import share_of_policy
from c3sim.models.insertion import insertion_parts, results_take_lines
from c3sim.models.memory import ARRAYS
from c3sim.processes.context import Context
from c3sim.specs.task import Kernel
from c3sim.specs.workload import DTYPE_BYTES, Collective, Copy, Gemm, StreamKernel, Task


def surviving_share(context: Context, name: str) -> float:
    """Part of what task *name* left in the shared cache that is there at its next start."""
    capacity = context.node.gpu.shared_cache
    if not capacity:
        return 0.0
    sharing = context.machine.beside(name, "cache")
    gpu = context.node.gpu
    usual, streaming = 0.0, 0.0
    for other, task in context.workload.tasks.items():
        if other == name or not sharing(other):
            continue
        inserted = _inserted(context, other, task)
        parts = insertion_parts(gpu, task)
        usual, streaming = usual + inserted * parts.usual, streaming + inserted * parts.streaming
    others = usual + min(streaming, capacity * share_of_policy("stream", gpu.cache_policies))
    return max(0.0, 1.0 - others / capacity)


def _inserted(context: Context, name: str, task: Task) -> float:
    """Bytes that one run of *task* pulls through the memory-side cache of each GPU."""
    ranks, gpu = context.node.ranks, context.node.gpu
    if isinstance(task, Collective):
        if task.backend == "dma":
            return task.repeat * 2 * task.size * (ranks - 1) / ranks
        return task.repeat * context.plans.of(task).moved
    if isinstance(task, Gemm):
        results = task.m * task.n * (task.updates or results_take_lines(gpu, task))
        elements = task.m * task.k + task.k * task.n + results
        return float(elements * DTYPE_BYTES[task.dtype] * task.batch)
    if isinstance(task, StreamKernel):
        return sum(ARRAYS[task.pattern]) * task.bytes
    if isinstance(task, Kernel):
        if task.accesses:
            return moved_by(gpu, task, context.shapes[name].workgroups, gpu.shared_cache).inserted
        return task.read + task.written if task.hits == "hbm" else 0.0
    return 2 * task.bytes if isinstance(task, Copy) else 0.0
