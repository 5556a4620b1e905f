"""Cache policies: capacity of each task, and the part of its lines that is found again.

The fluid layer follows no lines. The room of a task in a cache follows what everybody inserts and
how (:func:`room`); a footprint that its room cannot hold is found again in part
(:func:`found_again`). What waits and what leaves: models/cache_lines.py.

Of accesses, past a level goes what that level does not find again, by what is touched between two
uses (:func:`evicted_between`).
"""

from __future__ import annotations

from functools import lru_cache
from math import exp
from typing import NamedTuple

from c3sim.models.caches import Again, cache_share, resident_fraction
from c3sim.spec.cache_policy import CachePolicies, CachePolicy, Policy, Stores, TransferPolicy
from c3sim.spec.hardware import Gpu
from c3sim.spec.task import Access, Kernel, Served

LOST = 8.0  # times a cache: what is touched that leaves none of its lines
STEPS = 30  # of Newton's method: near a room that just fits it halves the error in each
#: The ways in which lines of a store are taken.
OF_STORES: dict[Stores, Policy] = {
    "cached": "allocate",
    "released": "allocate",
    "stream": "stream",
    "keep": "keep",
    "write_through": "allocate",
    "uncached": "bypass",
}


class Insertion(NamedTuple):
    """B/s, or parts, of what is inserted: *usual*, and *streaming*, which is first to leave."""

    usual: float
    streaming: float


def last_policy(gpu: Gpu, policy: TransferPolicy) -> Policy:
    """Part of *policy* for the last cache that all compute units share."""
    return policy.at("l2" if gpu.memory_side_cache is None else "memory_side")


def room(
    capacity: float,
    own: float,
    policy: Policy,
    others: Insertion,
    policies: CachePolicies | None,
    set_aside: bool = False,
) -> float:
    """Bytes of a cache of *capacity* that a task holds which inserts *own* B/s beside *others*.

    Lines told to leave first hold at most ``streaming_share``; lines told to stay hold what is
    *set aside*, or, where nothing is, all; the rest is shared as it is inserted. Without others,
    and policies, that is all of it (models/caches.py, cache_share).
    """
    if policy == "bypass":
        return 0.0
    if policies is None:
        return cache_share(capacity, own, own + others.usual + others.streaming)
    protected = policies.protected_share * capacity if set_aside else 0.0
    if policy == "keep":
        return protected or capacity
    usual, streaming = others
    if policy == "stream":
        limit = min(policies.streaming_share * capacity, capacity - protected)
        return limit * own / (own + streaming) if own else limit
    left = capacity - protected
    every = own + usual + streaming
    if every <= own:
        return left
    passing = min(policies.streaming_share * capacity, left * streaming / every)
    return (left - passing) * own / (own + usual) if own else 0.0


def found_again(footprint: float, held: float, policy: Policy) -> float:
    """Part of a *footprint* [bytes] that repeats which is found in the *held* bytes.

    A sweep that goes round by order of use evicts each line before it comes again: all or nothing.
    Lines of a policy leave as if at random: each of the m F misses of a sweep over F lines takes
    one of C, so a line is still there with h = 1 - m = (1 - 1/C)^(m F) = exp(-m F / C) (loops under
    random replacement: Smith and Goodman, A Study of Instruction Cache Organizations and
    Replacement Policies, ISCA 1983).
    """
    if policy == "bypass" or not held:
        return float(footprint <= 0.0)
    if footprint <= held:
        return 1.0
    return 0.0 if policy == "allocate" else _left_at_random(footprint / held)


@lru_cache(maxsize=1024)
def _left_at_random(times: float) -> float:
    """H of :func:`found_again` for a footprint of *times* > 1 the room, by Newton's method from m =
    1, where m - 1 + exp(-m times) is convex and grows.
    """
    missed = 1.0
    for _ in range(STEPS):
        there = exp(-missed * times)
        missed -= (missed - 1.0 + there) / (1.0 - times * there)
    return 1.0 - missed


@lru_cache(maxsize=4096)
def evicted_between(touched: float, held: float, ways: int) -> float:
    """Part of the lines that leave a cache of *held* bytes while *touched* others pass.

    Sets have *ways* lines in the order of use, and addresses are hashed, so that the lines that
    fall into one set are Poisson distributed with mean A x, x = touched / held:

        P(N >= A) = 1 - sum over n < A of exp(-A x) (A x)^n / n!

    (Smith, A Comparative Study of Set Associative Memory Mapping Algorithms, IEEE Trans. Software
    Engineering 4, 1978; reuse distances through sets: Hill and Smith, IEEE Trans. Computers 38,
    1989.)
    """
    if not held:
        return 1.0
    mean = ways * touched / held
    if mean > LOST * ways:
        return 1.0
    term = stay = exp(-mean)
    for n in range(1, ways):
        term *= mean / n
        stay += term
    return 1.0 - stay


def share_of_policy(policy: Policy, policies: CachePolicies | None) -> float:
    """Part of a cache that nobody shares which lines of *policy* may hold."""
    if policy == "bypass":
        return 0.0
    return policies.streaming_share if policy == "stream" and policies else 1.0


def operand_misses(
    again: Again,
    share: float,
    sizes: tuple[float, float],
    how: tuple[Policy | None, Policy | None],
    gpu: Gpu,
    set_aside: bool,
) -> float:
    """Bytes of a GEMM's tile from memory of those that it reads *again*, with a *share* [bytes] of
    the last cache. *sizes*: bytes of A and B; *how*: the policy of each.
    """
    policies = gpu.cache_policies
    if policies is None or how == (None, None):
        return again.missing(share)
    capacity = gpu.shared_cache
    stays = policies.protected_share * capacity if set_aside else capacity
    kept = [
        found_again(size, stays, "keep") if policy == "keep" else 0.0
        for size, policy in zip(sizes, how, strict=True)
    ]
    aside = sum(size * part for size, part in zip(sizes, kept, strict=True))

    def found(operand: int, footprint: float, usual: float) -> float:
        policy = how[operand]
        if policy == "bypass":
            return 0.0
        if policy == "stream":
            held = policies.streaming_share * capacity
            return min(usual, found_again(footprint, held, policy))
        return max(usual, kept[operand])

    near, swept = (max(0.0, f - aside) for f in (again.near_footprint, again.swept_footprint))
    found_near = found(0, near, resident_fraction(near, share))
    found_swept = found(int(again.swept_b), swept, float(swept <= share))
    return again.near * (1.0 - found_near) + again.swept * (1.0 - found_swept)


class Moved(NamedTuple):
    """Bytes of a kernel by place, and what memory loses on them."""

    l1: float = 0.0  # found in L1,
    l2: float = 0.0  # in L2
    past_l2: float = 0.0
    read: float = 0.0  # of DRAM
    written: float = 0.0
    inserted: float = 0.0  # of these, what the last shared cache takes
    evicted: float = 0.0  # written, from lines of a cache
    row_misses: float = 0.0  # part read or written that hits no open row
    stalls: float = 0.0  # part of the time that misses wait for lines while memory is idle

    def plus(self, other: Moved) -> Moved:
        return Moved(*(mine + its for mine, its in zip(self, other, strict=True)))


def moved_by(gpu: Gpu, task: Kernel, held: float) -> Moved:
    """Bytes that *task* moves, which holds *held* bytes of the last shared cache."""
    if task.served:
        return between(task.served, held)
    moved = Moved()
    for access in task.accesses:
        moved = moved.plus(_moved(gpu, task.cache, access, held))
    return moved


def between(served: tuple[Served, ...], held: float) -> Moved:
    """Entry of *served* at *held* bytes; between two entries in proportion."""
    above = next((at for at, each in enumerate(served) if each.held >= held), len(served) - 1)
    high, low = served[above], served[max(0, above - 1)]
    step = high.held - low.held
    part = min(1.0, max(0.0, (held - low.held) / step)) if step else 1.0

    def mix(name: str) -> float:
        return float(getattr(low, name) * (1.0 - part) + getattr(high, name) * part)

    read, written, cache = mix("read"), mix("written"), mix("cache")
    inserted = mix("inserted")
    return Moved(
        l1=mix("l1"),
        l2=mix("l2"),
        past_l2=read + written + cache,
        read=read,
        written=written,
        inserted=inserted,
        evicted=written if inserted else 0.0,
        row_misses=mix("row_misses"),
        stalls=mix("stalls"),
    )


def _moved(gpu: Gpu, policy: CachePolicy, access: Access, held: float) -> Moved:
    again = access.bytes * access.again
    policies = gpu.cache_policies
    memory_side = gpu.memory_side_cache is not None
    l2_policy = _policy(policy, access, policy.at("l2"))
    of_l2 = gpu.dies.count * gpu.l2.capacity * share_of_policy(l2_policy, policies)
    room = of_l2 if memory_side or not gpu.shared_cache else held
    l1 = 0.0
    if policies and access.near is not None and not access.stores and policy.l1 != "bypass":
        l1 = again * (1.0 - evicted_between(access.near, policies.l1_capacity, policies.ways))
    l2 = (again - l1) * _found(access.far, room, l2_policy, policies)
    past = again - l1 - l2
    last = _policy(policy, access, policy.at("memory_side")) if memory_side else l2_policy
    kept = past * _found(access.far, held, last, policies) if memory_side else 0.0
    from_dram = access.bytes + past - kept
    useful = l2 + kept > 0
    takes = last != "bypass" and (useful or not (policies and policies.predicts))
    return Moved(
        l1=l1,
        l2=l2,
        past_l2=access.bytes + past,
        read=0.0 if access.stores else from_dram,
        written=from_dram if access.stores else 0.0,
        inserted=from_dram if takes else 0.0,
        evicted=from_dram if access.stores and takes else 0.0,
    )


def _found(touched: float, held: float, policy: Policy, policies: CachePolicies | None) -> float:
    """Part found again of lines between whose uses so much is *touched*."""
    if policies is None or policy != "allocate":
        return found_again(touched, held, policy)
    return 1.0 - evicted_between(touched, held, policies.ways)


def _policy(policy: CachePolicy, access: Access, loads: Policy) -> Policy:
    return OF_STORES[policy.stores] if access.stores else loads
