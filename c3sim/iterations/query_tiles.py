"""Tiles of queries in attention: what each sees, and how long the busiest compute unit has work.

A workgroup has TILE queries of a head and goes over the keys that they see, TILE at a time
(FlashAttention-2, arXiv 2307.08691, section 3.3: 64 or 128). Under a causal mask its work grows
with its place in the sequence. Heads are dealt one after the other; a unit that ends takes the next
tile (list scheduling: Graham, Bounds on Multiprocessing Timing Anomalies, SIAM J. Appl. Math. 17,
1969).
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heapify, heapreplace

#: Rows and columns of scores that a workgroup of attention has at a time.
TILE = 128
#: Rounds of workgroups beyond which units end as good as together.
ROUNDS = 64


def keys_of_tiles(tokens: int, context: int, window: int | None, *, causal: bool) -> list[int]:
    """Keys that each tile of queries goes over, in whole tiles: what is above the diagonal and
    before the window is left out, on the edges it is computed whole.
    """
    side, seen = min(TILE, tokens), tokens + context
    if not causal:
        return [seen] * -(-tokens // side)
    found = []
    for first in range(context, seen, side):
        before = 0 if window is None else max(0, first + 1 - window) // side * side
        found.append(min(seen, first + side) - before)
    return found


@lru_cache(maxsize=1024)
def busiest(keys: tuple[int, ...], heads: int, units: int, start: float) -> float:
    """Keys that the busiest of *units* goes over, each of whose workgroups pays *start* keys more.
    *keys*: of the tiles of a head, in their order; all *heads* have as many.
    """
    whole = max(0, heads * len(keys) // units - ROUNDS) * units // len(keys)  # heads dealt evenly
    even = whole * sum(key + start for key in keys) / units
    ends = [even] * units
    heapify(ends)
    for _ in range(heads - whole):
        for key in keys:
            heapreplace(ends, ends[0] + key + start)
    return max(ends)


def evenness(keys: tuple[int, ...], heads: int, units: int, start: float) -> float:
    """Rate of workgroups that all have the mean of *keys*, dealt in whole rounds, which end with
    the busiest unit, against that of one in its loop.
    """
    rounds = -(-len(keys) * heads // units)
    return rounds * sum(keys) / len(keys) / busiest(keys, heads, units, start)
