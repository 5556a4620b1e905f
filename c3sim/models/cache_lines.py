"""Counts of lines that the fluid layer does not follow: which misses wait, which write-backs hit
the row of DRAM that is open. Switches of a GPU (``gpu.cache_policies``) act here.

    allocation bypass   no miss waits for a line                        (:func:`stall_rule`)
    rinsing             all write-backs of a row leave together         (:func:`row_misses`)
    reuse predictor     what is not found again takes no line           (models/cache_lines.py)

What a task does to the lines of the last cache that all compute units share: how much of what it
moves takes lines there, and how what it writes leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp
from typing import Literal, NamedTuple

from c3sim.models.cache_policy import OF_STORES, Insertion, last_policy
from c3sim.spec.cache_policy import CachePolicies, Policy, Stores, TransferPolicy
from c3sim.spec.hardware import Gpu

#: A part of the misses below this one is none: a run without stalls stays the same to the last bit.
LEAST_STALL = 1e-6


def pending_lines(rate: float, latency: float, line: float) -> float:
    """Lines that wait for memory at *rate* B/s (Little's law)."""
    return rate * latency / line


def stalled(pending: float, sets: float, ways: float) -> float:
    """Part of the misses that find every way of their set *pending*.

    Lines fall on sets as they come, so a set has a Poisson number of them, and the tail from
    *ways* on waits. 0 <= result <= 1.
    """
    mean = pending / sets
    if mean > 700.0:  # exp(-mean) is 0 in floats
        return 1.0 if mean >= ways else 0.0
    term, below = exp(-mean), 0.0
    for count in range(int(ways)):
        below += term
        term *= mean / (count + 1)
    return min(1.0, max(0.0, 1.0 - below))


def allocation_stall(gpu: Gpu, policies: CachePolicies, rate: float, set_aside: bool) -> float:
    """Part of the misses at *rate* B/s that wait for a line of the last shared cache: fewer ways
    are left for them where lines are set aside.
    """
    lines = gpu.shared_cache / policies.line
    ways = policies.ways * (1.0 - policies.protected_share * set_aside)
    pending = pending_lines(rate, gpu.hbm.latency, policies.line)
    return min(0.99, stalled(pending, lines / policies.ways, ways))


def stall_rule(gpu: Gpu, set_aside: bool) -> Callable[[float], float] | None:
    """:func:`allocation_stall` as a function of the rate; None where it is nothing at any rate that
    memory gives, or where misses go past the cache instead.
    """
    policies = gpu.cache_policies
    if policies is None or not policies.waits or not gpu.shared_cache:
        return None
    most = allocation_stall(gpu, policies, gpu.hbm.bandwidth, set_aside)
    if most < LEAST_STALL:
        return None
    return lambda rate: allocation_stall(gpu, policies, rate, set_aside)


def row_hits(lines_of_row: float, together: float) -> float:
    """Part of the lines written back that hit the row which the one before them opened: all but the
    first of *together* lines of a row that leave at once, at most *lines_of_row* of them.
    """
    return 1.0 - 1.0 / max(1.0, min(together, lines_of_row))


def row_misses(policies: CachePolicies | None, set_aside: bool) -> float:
    """Part of the cached stores whose line leaves without its row: beyond what memory's
    efficiencies have of them, and of lines that miss where they leave in order, row by row.

    With lines set aside each leaves by itself; rinsed, with all of its row.
    """
    if policies is None or policies.rinses:
        return 0.0
    if set_aside:
        return 1.0
    if policies.evicted_together is None or policies.row_lines is None:
        return 0.0
    in_order = row_hits(policies.row_lines, policies.row_lines)
    evicted = row_hits(policies.row_lines, policies.evicted_together)
    return (in_order - evicted) / in_order if in_order else 0.0


#: The ways in which written lines leave.
Leaving = Literal["in eviction order", "row by row", "line by line", "past the cache"]

PAST = ("uncached", "write_through")  # stores that do not wait in a line until it leaves


class CacheUse(NamedTuple):
    """The policy and the accesses of a task in caches; its kind says that of itself."""

    policy: TransferPolicy = TransferPolicy()
    stores: Stores = "cached"  # how its stores take lines
    stored: float = 0.0  # bytes that it stores, each once
    written: float = 0.0  # part of the bytes that it moves which it stores
    reused: bool = True  # whether a reuse predictor, if there is one, lets its lines stay
    counted: bool = False  # whether it counts itself what takes lines
    evicted: float | None = None  # part of what it writes that leaves from lines; None: by policy

    @property
    def told(self) -> bool:
        """True if it names a policy."""
        return self.policy != type(self.policy)()


class Lines(NamedTuple):
    """*inserted*: parts of what a task moves past the other caches that the last one takes;
    *row_misses*: part of what it writes that misses its row of DRAM.
    """

    inserted: Insertion
    row_misses: float


def lines_of(gpu: Gpu, use: CacheUse, set_aside: bool) -> Lines:
    """The lines of a task with that *use*. Where lines are set aside each written one leaves by
    itself, whoever wrote it.
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
    """Rate [B/s] that a cache takes of *moved* B/s, of which it takes *parts*."""
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
    """True if a reuse predictor sends past the last cache what is not found again there. It knows
    kernels, not DMA engines.
    """
    return gpu.cache_policies is not None and gpu.cache_policies.predicts


def results_take_lines(gpu: Gpu, updates: bool, accumulate: bool) -> bool:
    """True if what a GEMM stores does: not where memory adds it (*updates*), nor where a reuse
    predictor knows that it is not read again (to *accumulate*).
    """
    return not updates and (not predicts(gpu) or accumulate)


def released_of(gpu: Gpu, use: CacheUse) -> float:
    """Bytes that a kernel writes back when it ends, of those it wrote: what the L2s
    still hold of them; where its policy does not release them, none.
    """
    if use.stores != "released":
        return 0.0
    return min(use.stored, gpu.dies.count * gpu.l2.capacity)


def write_backs(gpu: Gpu, use: CacheUse, set_aside: bool) -> Leaving:
    """The way in which lines that a task writes leave the last cache of all compute units."""
    policies = gpu.cache_policies
    if policies is not None and policies.rinses:
        return "row by row"
    if set_aside:
        return "line by line"
    return "in eviction order" if _evicted(gpu, use) else "past the cache"


def counts_lines(gpu: Gpu, uses: Iterable[CacheUse], set_aside: bool) -> bool:
    """True if anybody names a policy, or the GPU has a switch of them on."""
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
