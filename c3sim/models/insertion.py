"""What a task does to the lines of the last cache that all compute units share: how much of what it
moves takes lines there, and how what it writes leaves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from c3sim.models.cache_lines import row_misses
from c3sim.models.cache_policy import OF_STORES, Insertion, last_policy
from c3sim.specs.cache_policy import Policy, Stores, TransferPolicy
from c3sim.specs.hardware import Gpu
from c3sim.specs.workload import Gemm

#: How written lines leave.
Leaving = Literal["in eviction order", "row by row", "line by line", "past the cache"]

PAST = ("uncached", "write_through")  # stores that do not wait in a line until it leaves


class CacheUse(NamedTuple):
    """What a task tells the caches, and what it does there; its kind says that of itself."""

    policy: TransferPolicy = TransferPolicy()
    stores: Stores = "cached"  # how its stores take lines
    stored: float = 0.0  # bytes that it stores, each once
    written: float = 0.0  # part of the bytes that it moves which it stores
    reused: bool = True  # whether a reuse predictor, if there is one, lets its lines stay
    counted: bool = False  # whether it counts itself what takes lines
    evicted: float | None = None  # part of what it writes that leaves from lines; None: by policy

    @property
    def told(self) -> bool:
        """Whether it names a policy."""
        return self.policy != type(self.policy)()


class Lines(NamedTuple):
    """*inserted*: parts of what a task moves past the other caches that the last one takes;
    *row_misses*: part of what it writes that misses its row of DRAM.
    """

    inserted: Insertion
    row_misses: float


def lines_of(gpu: Gpu, use: CacheUse, set_aside: bool) -> Lines:
    """Of a task with that *use*. Where lines are set aside each written one leaves by itself,
    whoever wrote it.
    """
    usual = row_misses(gpu.cache_policies, set_aside)
    evicted = usual if set_aside or not usual else usual * _evicted(gpu, use)
    return Lines(insertion_parts(gpu, use), evicted)


def total(insertions: Iterable[Insertion]) -> Insertion:
    """All of them together."""
    every = list(insertions)
    return Insertion(
        float(sum(usual for usual, _ in every)), float(sum(streaming for _, streaming in every))
    )


def taken(parts: Insertion, moved: float) -> Insertion:
    """What a cache takes of *moved* B/s, of which it takes *parts*."""
    return Insertion(moved * parts.usual, moved * parts.streaming)


def insertion_parts(gpu: Gpu, use: CacheUse) -> Insertion:
    """Parts of what a task moves past the other caches that the last one takes."""
    loads = stores = last_policy(gpu, use.policy)
    parts: tuple[tuple[Policy, float], ...]
    if use.counted:
        parts = (("stream" if loads == "stream" else "allocate", 1.0),)  # it counts the others
    elif not use.reused:
        return Insertion(0.0, 0.0)
    else:
        written = 0.0
        if use.stores != "cached":
            stores, written = OF_STORES[use.stores], use.written
        parts = ((loads, 1.0 - written), (stores, written))
    return Insertion(
        usual=sum(part for how, part in parts if how in ("allocate", "keep")),
        streaming=sum(part for how, part in parts if how == "stream"),
    )


def predicts(gpu: Gpu) -> bool:
    """Whether a reuse predictor sends past the last cache what is not found again there. It knows
    kernels, not DMA engines.
    """
    return gpu.cache_policies is not None and gpu.cache_policies.predicts


def results_take_lines(gpu: Gpu, task: Gemm) -> bool:
    """Whether what a GEMM stores does: not where memory adds it, nor where a reuse predictor knows
    that it is not read again.
    """
    return not task.updates and (not predicts(gpu) or task.accumulate)


def released_of(gpu: Gpu, use: CacheUse) -> float:
    """Bytes that a kernel writes back when it ends, of those it wrote: what the L2s
    still hold of them; where its policy does not release them, none.
    """
    if use.stores != "released":
        return 0.0
    return min(use.stored, gpu.dies.count * gpu.l2.capacity)


def write_backs(gpu: Gpu, use: CacheUse, set_aside: bool) -> Leaving:
    """How what a task writes leaves the last cache that all compute units share."""
    policies = gpu.cache_policies
    if policies is not None and policies.rinses:
        return "row by row"
    if set_aside:
        return "line by line"
    return "in eviction order" if _evicted(gpu, use) else "past the cache"


def counts_lines(gpu: Gpu, uses: Iterable[CacheUse], set_aside: bool) -> bool:
    """Whether anybody names a policy, or the GPU has a switch of them on."""
    policies = gpu.cache_policies
    if policies is None:
        return False
    switched = policies.rinses or policies.predicts or not policies.waits
    given = switched or policies.evicted_together is not None or set_aside
    return given or any(use.told for use in uses)


def _evicted(gpu: Gpu, use: CacheUse) -> float:
    """Part of what a task writes that leaves from lines of a cache."""
    if use.evicted is not None:
        return use.evicted
    as_loads = use.stores in ("cached", "released")
    if use.stores in PAST or (as_loads and last_policy(gpu, use.policy) == "bypass"):
        return 0.0
    return float(use.reused)
