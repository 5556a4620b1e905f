"""What a task does to the lines of the last cache that all compute units share: how much of what it
moves takes lines there, and how what it writes leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from c3sim.models.accesses import moved_by
from c3sim.models.cache_lines import row_misses
from c3sim.models.cache_policy import OF_STORES, Insertion, last_policy, policy_of, share_of_policy
from c3sim.models.memory import ARRAYS
from c3sim.specs.cache_policy import Policy, TransferPolicy
from c3sim.specs.hardware import Gpu
from c3sim.specs.task import Kernel
from c3sim.specs.workload import Collective, Copy, Gemm, StreamKernel, Task

#: How written lines leave.
Leaving = Literal["in eviction order", "row by row", "line by line", "past the cache"]

PAST = ("uncached", "write_through")  # stores that do not wait in a line until it leaves
RESIDENT = 8  # workgroups on a compute unit, of a kernel whose own number is not known yet


class Lines(NamedTuple):
    """*inserted*: parts of what a task moves past the other caches that the last one takes;
    *row_misses*: part of what it writes that misses its row of DRAM.
    """

    inserted: Insertion
    row_misses: float


def lines_of(gpu: Gpu, task: Task, set_aside: bool) -> Lines:
    """Of *task*. Where lines are set aside each written one leaves by itself, whoever wrote it."""
    usual = row_misses(gpu.cache_policies, set_aside)
    evicted = usual if set_aside or not usual else usual * _evicted(gpu, task)
    return Lines(insertion_parts(gpu, task), evicted)


def total(insertions: Iterable[Insertion]) -> Insertion:
    """All of them together."""
    every = list(insertions)
    return Insertion(
        float(sum(usual for usual, _ in every)), float(sum(streaming for _, streaming in every))
    )


def taken(parts: Insertion, moved: float) -> Insertion:
    """What a cache takes of *moved* B/s, of which it takes *parts*."""
    return Insertion(moved * parts.usual, moved * parts.streaming)


def insertion_parts(gpu: Gpu, task: Task) -> Insertion:
    """Parts of what *task* moves past the other caches that the last one takes."""
    policy = policy_of(task) or TransferPolicy()
    loads = stores = last_policy(gpu, policy)
    parts: tuple[tuple[Policy, float], ...]
    if isinstance(task, Kernel) and task.accesses:
        parts = (("stream" if loads == "stream" else "allocate", 1.0),)  # it counts the others
    elif not reused(gpu, task):
        return Insertion(0.0, 0.0)
    else:
        written = 0.0
        if isinstance(task, StreamKernel | Kernel) and task.cache.stores != "cached":
            stores, written = OF_STORES[task.cache.stores], _written(task)
        parts = ((loads, 1.0 - written), (stores, written))
    return Insertion(
        usual=sum(part for how, part in parts if how in ("allocate", "keep")),
        streaming=sum(part for how, part in parts if how == "stream"),
    )


def reused(gpu: Gpu, task: Task) -> bool:
    """Whether lines of *task* take room: always, but where a reuse predictor knows that none of
    them is found again. It knows kernels, not DMA engines; of a GEMM it lets the operands stay.
    """
    policies = gpu.cache_policies
    if policies is None or not policies.predicts:
        return True
    if isinstance(task, StreamKernel):
        size = sum(ARRAYS[task.pattern]) * task.bytes
        room = gpu.shared_cache * share_of_policy(last_policy(gpu, task.cache), policies)
        return (task.passes > 1 or task.inputs == "warm") and size <= room
    if isinstance(task, Kernel):
        return task.hits != "hbm"
    if isinstance(task, Collective):
        return task.backend == "dma"
    return not isinstance(task, Copy) or task.executor != "kernel"


def results_take_lines(gpu: Gpu, task: Gemm) -> bool:
    """Whether what a GEMM stores does: not where memory adds it, nor where a reuse predictor knows
    that it is not read again.
    """
    predicts = gpu.cache_policies is not None and gpu.cache_policies.predicts
    return not task.updates and (not predicts or task.accumulate)


def released_of(gpu: Gpu, task: Task) -> float:
    """Bytes that the kernel of *task* writes back when it ends, of those it wrote: what the L2s
    still hold of them; where its policy does not release them, none.
    """
    if not isinstance(task, StreamKernel | Kernel) or task.cache.stores != "released":
        return 0.0
    return min(_stored(task), gpu.dies.count * gpu.l2.capacity)


def write_backs(gpu: Gpu, task: Task, set_aside: bool) -> Leaving:
    """How what *task* writes leaves the last cache that all compute units share."""
    policies = gpu.cache_policies
    if policies is not None and policies.rinses:
        return "row by row"
    if set_aside:
        return "line by line"
    return "in eviction order" if _evicted(gpu, task) else "past the cache"


def counts_lines(gpu: Gpu, tasks: Iterable[Task], set_aside: bool) -> bool:
    """Whether anybody names a policy, or the GPU has a switch of them on."""
    policies = gpu.cache_policies
    if policies is None:
        return False
    switched = policies.rinses or policies.predicts or not policies.waits
    given = switched or policies.evicted_together is not None or set_aside
    return given or any(policy_of(task) is not None for task in tasks)


def _stored(task: StreamKernel | Kernel) -> float:
    """Bytes that *task* stores, each once."""
    if isinstance(task, StreamKernel):
        return ARRAYS[task.pattern][1] * task.bytes
    return task.written + sum(access.bytes for access in task.accesses if access.stores)


def _written(task: StreamKernel | Kernel) -> float:
    """Part of the bytes that *task* moves which it stores."""
    if isinstance(task, StreamKernel):
        return _stored(task) / (sum(ARRAYS[task.pattern]) * task.bytes)
    moved = task.read + task.written
    return task.written / moved if moved else 0.0


def _evicted(gpu: Gpu, task: Task) -> float:
    """Part of what *task* writes that leaves from lines of a cache."""
    if isinstance(task, Kernel) and task.accesses:
        most = float(gpu.compute_unit_count * (task.per_unit or RESIDENT))
        running = min(float(task.workgroups or most), most)
        moved = moved_by(gpu, task, running, gpu.shared_cache)
        return moved.evicted / moved.written if moved.written else 0.0
    stores = task.cache.stores if isinstance(task, StreamKernel | Kernel) else "cached"
    as_loads = stores in ("cached", "released")
    policy = policy_of(task)
    if stores in PAST or (as_loads and policy and last_policy(gpu, policy) == "bypass"):
        return 0.0
    return float(results_take_lines(gpu, task) if isinstance(task, Gemm) else reused(gpu, task))
