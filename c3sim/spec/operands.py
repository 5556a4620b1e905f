"""Bytes that tasks work on."""

from __future__ import annotations

from c3sim.spec.task import Stores
from c3sim.spec.workload import DTYPE_BYTES, Collective, Copy, Gemm, StreamKernel, Task

#: pattern -> arrays read, written
ARRAYS = {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1)}


def operand_bytes(task: Task) -> float:
    """Bytes [B] of a GPU's memory that *task* works on: operands and results of a GEMM, arrays of a
    stream kernel, the buffer of a collective, what is copied or stored. 0 of a kernel of any kind:
    its bytes are traffic.
    """
    if isinstance(task, Gemm):
        elements = task.m * task.k + task.k * task.n + task.m * task.n
        return float(elements * DTYPE_BYTES[task.dtype] * task.batch)
    if isinstance(task, StreamKernel):
        return float(sum(ARRAYS[task.pattern]) * task.bytes)
    if isinstance(task, Collective):
        return task.size
    return task.bytes if isinstance(task, Copy | Stores) else 0.0
