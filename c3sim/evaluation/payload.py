"""What a task moves for its user: the bytes that energy per byte refers to."""

from __future__ import annotations

from c3sim.models.groups import ranks_in
from c3sim.models.memory import ARRAYS
from c3sim.specs.hardware import Node
from c3sim.specs.task import Kernel, Stores
from c3sim.specs.workload import Collective, Commands, Copy, StreamKernel, Task


def payload_bytes(node: Node, task: Task) -> float | None:
    """Bytes [B] on all GPUs, or None for a task whose purpose is not to move any (GEMM, hold,
    host).

    A collective: what has to cross links or NICs, (n-1)/n of its size per GPU, twice that in an
    all-reduce (nccl-tests' bus bytes). Stores: what goes to peers. A copy or program of commands:
    what is written. A stream kernel, and any kernel without FLOP: what it reads and writes.
    """
    gpus = node.ranks
    if isinstance(task, Collective):
        among = ranks_in(node, task)
        each = (2.0 if task.op == "all_reduce" else 1.0) * (among - 1) * task.size * task.repeat
        return each * (gpus // among)
    if isinstance(task, Copy):
        return task.bytes * task.repeat * (gpus if task.gpus == "all" else 1)
    if isinstance(task, Commands):
        written = sum(
            (2 if command.op == "swap" else len(command.peers) or 1) * (command.bytes or 0.0)
            for command in task.program
        )
        return written * task.repeat * (gpus if task.gpus == "all" else 1)
    if isinstance(task, Stores):
        return task.bytes * task.repeat * gpus
    if isinstance(task, StreamKernel):
        return sum(ARRAYS[task.pattern]) * task.bytes * task.passes * task.repeat * gpus
    if isinstance(task, Kernel) and not task.flops:
        again = sum(access.bytes * (1.0 + access.again) for access in task.accesses)
        return (task.read + task.written + again) * task.repeat * gpus
    return None
