"""Bytes that algorithms of collectives send, read and write, counted by hand.

Per GPU, for a message of S bytes (the size of nccl-tests: the full buffer) on n GPUs, in units of
S/n:

    ==============  =====  ======  ======  ======  ============================================
    operation       sent   steps   reads   writes  algorithm
    ==============  =====  ======  ======  ======  ============================================
    all_reduce      2n-2   2n-2    3n-2    3n-2    ring: reduce-scatter, then all-gather
    all_gather      n-1    n-1     n       2n-1    ring, through the neighbour's buffer
    reduce_scatter  n-1    n-1     2n-1    n       ring
    all_to_all      n-1    n-1     2n-1    2n-1    direct: to the peers' buffers in rounds, copied
                                                   out there
    all_reduce      3n     2 ld n  5n      4n      binary tree, up and down: the GPU inside the
                                                   tree that sends most
    all_reduce      n+1    2       3n      3n      switch: it adds what it reads from all GPUs for
                                                   the one that asks, and writes the sum to all;
                                                   copies into and out of the buffers it knows
    all_gather      n      1       1       n       switch: each GPU writes its shard once, and the
                                                   switch hands it to all, to this GPU as well
    reduce_scatter  n      1       n       1       switch: it adds the shards that it reads from all
                                                   GPUs; buffers that it knows, without copies
    all_reduce      n2-n   1       2n2-n   n2      one_shot: all to every peer, added there
                                                   (n2: n squared)
    all_reduce      2n-2   2       2n-1    2n-1    two_shot: shards to their ranks, sums to all

    between buffers that all ranks have registered, without copies:
    all_reduce      n+1    2       n       n       switch: as above
    all_reduce      2n-2   2       n       n       direct: a rank loads its shard from all, adds,
                                                   and stores the sum at all
    all_gather      n-1    1       1       n-1     direct: loaded once, stored at every peer
    reduce_scatter  n-1    1       n       1       direct: loads its shard from all, and adds
    ==============  =====  ======  ======  ======  ============================================

Writes include those that arrive from peers. For all_reduce the count is confirmed by counters:
2.75 S read and 2.75 S written at n = 8 (cache_counters.json). ``direct`` for the other operations
sends straight to every peer.

All-reduce by stores to peers inside one kernel: in one shot, or in two.

``one_shot``  every rank stores all it has (S) at every peer, a release and a flag behind it, and
              adds what has arrived: one step, (n - 1) S sent
``two_shot``  every rank stores at each peer that peer's shard (S/n), which adds what has arrived
              and stores the sum at every peer: two steps, 2 (n - 1)/n S sent

A workgroup stores as any kernel does (models/stores.py) and finds what has arrived in the last
cache, at the rate of its L2. Each step ends with a release, the way over a link, and the sight of a
flag. Small messages want one step, larger ones the fewer bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import NamedTuple

from c3sim.models.stores import policy_cost, remote_stores
from c3sim.spec.hardware import Gpu
from c3sim.spec.libraries import ChannelParts, PeerChannels


class Counts(NamedTuple):
    """In units of S/n, but for *steps*: those that a byte goes through."""

    sent: int
    steps: int
    reads: int
    writes: int


class Primitive(NamedTuple):
    """One primitive of a channel, in units of S/n. A store to a peer counts as one store."""

    loads: int
    stores: int
    sent: int


COUNTS: dict[tuple[str, str], Callable[[int], Counts]] = {
    ("all_reduce", "ring"): lambda n: Counts(2 * n - 2, 2 * n - 2, 3 * n - 2, 3 * n - 2),
    ("all_reduce", "tree"): lambda n: Counts(3 * n, 2 * ceil(log2(n)), 5 * n, 4 * n),
    ("all_reduce", "switch"): lambda n: Counts(n + 1, 2, 3 * n, 3 * n),
    ("all_reduce", "direct"): lambda n: Counts(2 * n - 2, 2, 3 * n - 2, 3 * n - 2),
    ("all_reduce", "one_shot"): lambda n: Counts(n * n - n, 1, 2 * n * n - n, n * n),
    ("all_reduce", "two_shot"): lambda n: Counts(2 * n - 2, 2, 2 * n - 1, 2 * n - 1),
    ("all_gather", "ring"): lambda n: Counts(n - 1, n - 1, n, 2 * n - 1),
    ("all_gather", "switch"): lambda n: Counts(n, 1, 1, n),
    ("all_gather", "direct"): lambda n: Counts(n - 1, 1, n, 2 * n - 1),
    ("reduce_scatter", "ring"): lambda n: Counts(n - 1, n - 1, 2 * n - 1, n),
    ("reduce_scatter", "switch"): lambda n: Counts(n, 1, n, 1),
    ("reduce_scatter", "direct"): lambda n: Counts(n - 1, 1, 2 * n - 1, n),
    ("all_to_all", "direct"): lambda n: Counts(n - 1, 1, 2 * n - 1, 2 * n - 1),
}

#: What differs where all ranks have registered their buffers.
REGISTERED: dict[tuple[str, str], Callable[[int], Counts]] = {
    ("all_reduce", "switch"): lambda n: Counts(n + 1, 2, n, n),
    ("all_reduce", "direct"): lambda n: Counts(2 * n - 2, 2, n, n),
    ("all_gather", "direct"): lambda n: Counts(n - 1, 1, 1, n - 1),
    ("reduce_scatter", "direct"): lambda n: Counts(n - 1, 1, n, 1),
}


def counts_of(op: str, algorithm: str, ranks: int, *, registered: bool = False) -> Counts:
    """Counts of bytes that *algorithm* sends, reads and writes among *ranks*; *registered*: between
    buffers that all of them know, so that nothing is copied into or out of buffers of the library.

    Raises KeyError for an algorithm that the operation does not have.
    """
    known = REGISTERED.get((op, algorithm)) if registered else None
    return (known or COUNTS[op, algorithm])(ranks)


_SEND = Primitive(1, 1, 1)
_COPY_SEND = Primitive(1, 2, 1)  # to the next rank and, out of place, to its own output
_RECEIVE = Primitive(1, 1, 0)
_RECEIVE_COPY_SEND = Primitive(1, 2, 1)
_RECEIVE_REDUCE = Primitive(2, 1, 0)
_RECEIVE_REDUCE_SEND = Primitive(2, 1, 1)
_RECEIVE_REDUCE_COPY_SEND = Primitive(2, 2, 1)

#: The primitives of one chunk, one after the other, on every rank at once.
PRIMITIVES: dict[tuple[str, str], Callable[[int], tuple[Primitive, ...]]] = {
    ("all_gather", "ring"): lambda n: (_SEND, *[_RECEIVE_COPY_SEND] * (n - 2), _RECEIVE),
    ("reduce_scatter", "ring"): lambda n: (
        _SEND,
        *[_RECEIVE_REDUCE_SEND] * (n - 2),
        _RECEIVE_REDUCE,
    ),
    ("all_reduce", "ring"): lambda n: (
        _SEND,
        *[_RECEIVE_REDUCE_SEND] * (n - 2),
        _RECEIVE_REDUCE_COPY_SEND,
        *[_RECEIVE_COPY_SEND] * (n - 2),
        _RECEIVE,
    ),
    # sends to one peer while it receives from another
    ("all_to_all", "direct"): lambda n: (Primitive(2, 2, 1),) * (n - 1),
}


def primitives_of(
    op: str, algorithm: str, ranks: int, *, out_of_place: bool = False
) -> tuple[Primitive, ...]:
    """Primitives of one chunk, in order; none where a collective is not told apart into primitives.
    Out of place a ring's all-gather begins with a copy to its own output as it sends.
    """
    known = PRIMITIVES.get((op, algorithm))
    if known is None:
        return ()
    each = known(ranks)
    if out_of_place and (op, algorithm) == ("all_gather", "ring"):
        return (_COPY_SEND, *each[1:])
    return each


ALGORITHMS = {op: tuple(name for of, name in COUNTS if of == op) for op, _ in COUNTS}


def rounds(op: str, algorithm: str, ranks: int) -> int:
    """Steps that follow one another. An all-to-all has a round of a send and a receive for every
    peer, though a byte goes through one step only.
    """
    if (op, algorithm) == ("all_to_all", "direct"):
        return ranks - 1
    return COUNTS[op, algorithm](ranks).steps


SHOTS = ("one_shot", "two_shot")
#: Algorithms that send straight to every peer.
STRAIGHT = ("direct", *SHOTS)


def shot_step_time(gpu: Gpu) -> float:
    """Seconds of a workgroup from its last store of a step to the next step, without links."""
    stores = remote_stores(gpu)
    return policy_cost(stores, None).release_time + stores.flag_time


def shot_primitives(gpu: Gpu, algorithm: str, ranks: int) -> tuple[tuple[float, float], ...]:
    """Steps of one channel in order, as in models/phase.py: (s at the maximum clock, bytes sent),
    both per payload byte that it sends in all.
    """
    clock = gpu.clock.maximum
    store = 1.0 / (policy_cost(remote_stores(gpu), None).bandwidth * clock)
    load = 1.0 / (gpu.compute_units.l2_bandwidth * clock)
    if algorithm == "one_shot":  # of S (n - 1): n loads and a store here for each byte of S
        return ((store, 1.0), ((ranks + 1) * load / (ranks - 1), 0.0))
    sent = 0.5  # of 2 (n - 1) S/n: n loads for each byte of S/n
    return ((sent * store, sent), (sent * (store + ranks * load / (ranks - 1)), sent))


class Dealt(NamedTuple):
    """The channels and parts of direct sends."""

    channels: int  # that get something
    evenness: float  # the mean over the most that one of them gets
    rounds: int  # parts that one of them has at most, one after the other


def deal(rule: PeerChannels, channels: int, ranks: int, size: float) -> Dealt:
    """The use of *channels* by direct sends of *size* bytes to each peer.

    ``power_of_two``: there is a power of two of channels; each peer has its share, or twice as many
    as long as a channel's part is larger than ``part``. The parts of all peers are dealt to the
    channels in turn.
    """
    total = 2 ** ceil(log2(channels))
    each = max(1, total // ranks)
    while size / each > rule.part and 2 * each <= total:
        each *= 2
    parts = each * (ranks - 1)
    used = min(parts, total)
    most = ceil(parts / used)
    return Dealt(used, parts / used / most, most)


def channels_by_size(
    rule: ChannelParts, channels: int, ranks: int, size: float, passes: int
) -> int:
    """Channels of at most *channels* that a ring of *ranks* gives a part of a message of *size*
    bytes, which goes round *passes* times.

    There are as many as leave each ``part + ranks part_per_rank`` bytes. Whole cells of
    ``cell / passes`` bytes are then dealt in equal numbers, rounded up, until none is left, so that
    the last channels may get nothing.
    """
    least = rule.part + ranks * rule.part_per_rank
    channels = max(1, min(channels, int(size // least))) if least else channels
    cells = max(1, ceil(size * passes / rule.cell))
    return ceil(cells / ceil(cells / channels))
