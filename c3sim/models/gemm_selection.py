"""Seconds by which hipBLASLt ranks the tiles of a GEMM where it has no table of tuned sizes, and
the parts of K that it takes: AMD's Origami.

A round of tiles is reckoned as

    1.5 first + loops (max(matrix, loads) + 500 cycles) + 2 (last + sums)

of slices of K: *loads* are those of all units at once, from L2, from the cache behind it or from
memory, whichever takes longest. A tile whose K is split pays 10,000 cycles more, and its sums.
Rates are those of the library (``selection`` of a hardware file), not of the GPU: they decide a
choice, and no time of a simulation. Left out: kernels for operands that no other tile reads, loops
written by hand, which it reckons 5 to 20 % quicker, and how rows of a matrix lie in memory.

Source: github.com/ROCm/rocm-libraries shared/origami, release 0.0.3 (MIT licence):
src/origami/gemm.cpp, streamk.cpp, include/origami/heuristics.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

from c3sim.spec.libraries import Selection

#: Weights and cycles of heuristics.hpp.
FIRST, LAST, LOOP = 1.5, 2.0, 500.0
MEMORY_LATENCY, SPLIT, PADDED = 200.0, 10_000.0, 50_000.0
OCCUPANCY = 0.95  # of what comes before and behind the loop, for each workgroup of a unit
NEVER_SHARED = 0.5  # share of the loads that it finds in L2 where no tile has a neighbour
LINE = 128  # bytes, of which the rows of a tile's results are a whole number
ADDED = 64.0  # partial sums that a unit adds in a cycle
#: Fewest slices of a part of K; and of a tile whose parts are added at once, by all of its units.
LEAST_SLICES, AT_ONCE = 8, 64
IN_TURN = (16, 12, 8, 6, 4, 3, 2)  # parts of a tile whose sums go from one to the next


@dataclass(frozen=True, slots=True)
class Tiling:
    """A product in tiles, as the library sees it: columns of C lie side by side."""

    sides: tuple[int, int, int]  # m, n, k
    tile: tuple[int, int]
    grid: tuple[int, int]  # tiles down and across
    batch: int
    elements: tuple[int, int]  # bytes of a number of A and B, of C
    slices: int  # of K
    depth: int  # K of a slice
    units: int
    dies: int
    residents: int  # workgroups of which a unit has room

    @property
    def tiles(self) -> int:
        return self.grid[0] * self.grid[1] * self.batch

    @property
    def parts(self) -> int:
        """Parts of K: as many as units without a tile can take, of eight slices at least."""
        most = min(self.units // self.tiles, self.slices // LEAST_SLICES)
        if self.slices >= AT_ONCE and self.tiles <= self.units // 4:
            return max(1, most)
        return next((parts for parts in IN_TURN if parts <= most), 1)

    @property
    def workgroups(self) -> int:
        return self.tiles * self.parts

    @property
    def together(self) -> int:
        return min(self.units, self.workgroups)

    @property
    def order(self) -> int:
        """Rows of tiles that are walked together."""
        return 1 if self.batch > 1 else ceil(sqrt(self.units // self.dies))

    def block(self, wide: int) -> tuple[int, int]:
        """Tiles down and across of a block that is *wide*, wrapped where C is not so wide."""
        down, across = self.grid
        high = min(self.order, down)
        if wide > across:
            high, wide = high + wide // across * self.order, across
        return min(down, high), max(1, wide)

    def shared(self, down: int, across: int) -> float:
        """Share of the loads of a block of tiles that another tile of it has made."""
        return 1.0 - self.loads(down, across) / (down * across * self.loads(1, 1))

    def loads(self, down: int, across: int) -> float:
        """Bytes of a slice of K of the rows and columns of a block."""
        return float((down * self.tile[0] + across * self.tile[1]) * self.depth * self.elements[0])


def ranked(tiling: Tiling, rates: Selection, flops_per_cycle: float, clock: float) -> float:
    """Seconds that the library reckons for *tiling*."""
    tall, wide = tiling.tile
    matrix = 2.0 * tall * wide * tiling.depth / flops_per_cycle / clock
    loads = _loads(tiling, rates, clock)
    m, n, k = tiling.sides
    down, across = tiling.grid
    launched = float(down * tall * across * wide * tiling.slices * tiling.depth)
    padding = launched / (m * n * k)
    resident = min(tiling.residents, ceil(tiling.workgroups / tiling.units))
    share = OCCUPANCY**resident
    memory = rates.memory_bandwidth * min(1.0, rates.unit_share * tiling.together)
    results = tall * ceil(wide * tiling.elements[1] / LINE) * LINE
    last = (tiling.together // tiling.parts * results / memory + matrix * padding) * share
    if tiling.parts > 1:
        last += down * across * tiling.parts * results / memory
        last += (tall * wide * tiling.parts / ADDED + SPLIT) / clock
    last += k % tiling.depth / k * PADDED / clock
    loops = max(1, ceil(ceil(k / tiling.parts) / tiling.depth) - 1)
    each = max(matrix, loads) * padding + LOOP / clock
    rounds = ceil(max(tiling.workgroups, tiling.tiles) / tiling.units)
    return rounds * (loops * each + FIRST * loads * padding * share + LAST * last)


def _loads(tiling: Tiling, rates: Selection, clock: float) -> float:
    """Seconds in which a slice of all tiles that run at once arrives."""
    together = tiling.together
    asked = together * tiling.loads(1, 1)
    down, across = tiling.grid
    at_once = ceil(min(down * across, tiling.units) / (tiling.parts * tiling.batch))
    of_die = ceil(at_once / tiling.dies)
    found = tiling.shared(*tiling.block(ceil(of_die / min(tiling.order, down))))
    found = min(found, tiling.shared(down, across)) or NEVER_SHARED
    block = tiling.block(ceil(together / tiling.order))
    products = min(float(tiling.batch), max(1.0, together / (down * across)))
    least = tiling.loads(*block) * products
    past = (1.0 - found) * asked
    missing = max(least, (1.0 - tiling.shared(*block)) * past)
    reached = min(1.0, rates.unit_share * together)
    return max(
        asked / (rates.l2_bandwidth * together / tiling.units),
        max(past, least) / (rates.cache_bandwidth * reached),
        missing / (rates.memory_bandwidth * reached) + MEMORY_LATENCY / clock,
    )
