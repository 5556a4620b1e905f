"""Traffic of a tiled GEMM past each cache level, from the tiles in flight and their order.

Nothing here is a hit rate. Tiles that run together on a die share the rows of A and the columns of
B they have in common (one L2 per die). Tiles that run together on the GPU share through the
memory-side cache. What a later group of tiles reads again comes from the memory-side cache as far
as it is still there.

Check (suite cache counters, MI300X, 8192^3 bf16, macro-tile 256x224): requests to L2 9.5 GB, past
L2 1.9 GB, from HBM about the two operands once (14 % of what passes L2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import ceil, inf
from typing import Literal, NamedTuple

#: Partial sums of a split GEMM are written in fp32.
PARTIAL_BYTES = 4
#: Row-tiles in a group that libraries run column by column, beside all of them; swizzles of tuned
#: kernels (WorkGroupMapping of hipBLASLt, GROUP_SIZE_M of Triton) are powers of two.
GROUPS_OF_ROWS = (1, 2, 4, 8, 16, 32)
TileOrder = Literal["best", "rows", "lists"]


class Again(NamedTuple):
    """Operand bytes that a tile reads again, and what must stay in the cache for that to hit."""

    near: float  # by tiles that follow,
    near_footprint: float
    swept: float  # by the next sweep over all rows or columns
    swept_footprint: float
    swept_b: bool = False  # whether the sweep is over B; what is read again nearby is A's

    def missing(self, share: float) -> float:
        """Bytes from memory, with a *share* [bytes] of the cache that all dies share. A sweep over
        more than fits evicts each line before it is needed again.
        """
        evicted = 1.0 - resident_fraction(self.near_footprint, share)
        return self.near * evicted + (self.swept if self.swept_footprint > share else 0.0)


@dataclass(frozen=True, slots=True)
class GemmTraffic:
    """Bytes per tile."""

    l2: float  # requested from L2
    past_l2: float
    first_touch: float  # of those past L2: operands for the first time,
    again: Again  # and operands again
    written: float
    group: int = 1  # rows of tiles that are dealt out column by column

    @property
    def reread(self) -> float:
        return self.again.near + self.again.swept

    def in_the_mean(self, share: float) -> GemmTraffic:
        """Mean traffic of all tiles, where this *share* of them is not wholly beyond an edge."""
        if share == 1.0:
            return self
        near, near_footprint, swept, swept_footprint, swept_b = self.again
        again = Again(share * near, near_footprint, share * swept, swept_footprint, swept_b)
        return replace(
            self,
            l2=share * self.l2,
            past_l2=share * self.past_l2,
            first_touch=share * self.first_touch,
            again=again,
            written=share * self.written,
        )


@dataclass(frozen=True, slots=True)
class _Block:
    """Row and column tiles that the tiles in flight cover: of the GPU, and of one die."""

    height: float
    width: float
    die_height: float
    die_width: float

    def of_die(self, rows: float, columns: float) -> float:
        """Tiles that one die covers, *rows* per row tile and *columns* per column tile."""
        return self.die_height * rows + self.die_width * columns

    def of_gpu(self, rows: float, columns: float) -> float:
        return self.height * rows + self.width * columns


def _blocks(
    in_flight: float, rows: int, columns: int, dies: int, order: TileOrder
) -> Iterator[_Block]:
    """Orders of tiles: down groups of g row-tiles (all: by column), or along the rows, as a queue
    hands them out; dies take each D-th tile. Lists of consecutive ones are in different rows.
    """
    if order == "rows":
        width = min(float(columns), in_flight)
        height, die_width = in_flight / width, max(1.0, width / dies)
        yield _Block(height, width, max(1.0, min(height, in_flight / dies / die_width)), die_width)
        return
    groups = {rows} if order == "lists" else {rows, *(g for g in GROUPS_OF_ROWS if g < rows)}
    for group in sorted(groups):
        width = min(float(columns), max(1.0, in_flight / group))
        height = max(min(float(group), in_flight), min(float(rows), in_flight / width))
        per_die = max(1.0, in_flight / dies)
        die_height = max(1.0, height / dies)
        yield _Block(height, width, die_height, min(width, max(1.0, per_die / die_height)))


class _Shape(NamedTuple):
    """One GEMM of a batch: rows of tiles, bytes of a tile's row and column, bytes of A and B."""

    rows: int
    row_bytes: float
    column_bytes: float
    a: float
    b: float
    tiles: int
    split: int

    def again(self, block: _Block, in_flight: float) -> Again:
        """Bytes that one of *in_flight* concurrent tiles reads again. Down groups of rows the
        group's rows are read again by its next columns, and B by the next group; by column A by the
        next columns.
        """
        again_a = block.height * self.row_bytes / in_flight - self.a / self.tiles
        again_b = block.width * self.column_bytes / in_flight - self.b / self.tiles
        again_a, again_b = max(0.0, again_a), max(0.0, again_b)
        group = min(self.a, block.height * self.row_bytes * self.split)
        columns = min(self.b, block.width * self.column_bytes * self.split)
        if block.height < self.rows:
            return Again(again_a, group + columns, again_b, group + self.b, swept_b=True)
        return Again(0.0, 0.0, again_a, group + columns)

    def cost(
        self, in_flight: float, per_die: float, memory: tuple[float, float] | None, block: _Block
    ) -> tuple[float, float]:
        """Bytes past the L2s of a die, then past all; with *memory* the time of a tile's bytes."""
        past = block.of_die(self.row_bytes, self.column_bytes)
        if memory is None:
            return past, block.of_gpu(self.row_bytes, self.column_bytes)
        capacity, faster = memory
        return past / per_die + faster * self.again(block, in_flight).missing(capacity), 0.0


@lru_cache(maxsize=4096)
def gemm_traffic(
    m: int,
    n: int,
    k: int,
    batch: int,
    tile: tuple[int, int],
    split_k: int,
    elements: tuple[int, int],
    dies: int,
    in_flight: int,
    l2_rows: float = inf,
    cluster: tuple[int, int] = (1, 1),
    memory: tuple[float, float] | None = None,
    order: TileOrder = "best",
) -> GemmTraffic:
    """Traffic per tile of C[m,n] = A[m,k] B[k,n] with *in_flight* tiles on the GPU, spread round
    robin over *dies*. *elements*: bytes of a number of A and B, and of C.

    Tuned libraries order tiles for their caches: the order with the least traffic past the L2s,
    then the least past all dies. With *memory*, (bytes of the cache that all dies share, how many
    times as fast it is as memory), the order in which what passes the L2s takes the least time. An
    *order* of their own: along the rows, or lists of consecutive tiles, one for each workgroup.
    Tiles of a die walk K in step. They share as far as one of its L2s holds two slices of all their
    rows and columns, the one in use and the one that arrives: it has room for *l2_rows* of them.
    The tiles of a *cluster* (rows x columns of tiles) read what they have in common from L2 once.
    """
    tile_m, tile_n, (element, result) = min(tile[0], m), min(tile[1], n), elements
    rows, columns = ceil(m / tile[0]), ceil(n / tile[1])
    tiles = rows * columns * split_k * batch
    in_flight = max(1, min(in_flight, tiles))
    row_bytes, column_bytes = (side * (k / split_k) * element for side in (tile_m, tile_n))
    of_one_part = min(float(rows * columns), in_flight / max(1, min(split_k * batch, in_flight)))
    per_die = max(1.0, of_one_part / dies)
    per_batch = tiles // batch
    operands = float(m * k * element), float(k * n * element)
    shape = _Shape(rows, row_bytes, column_bytes, *operands, per_batch, split_k)
    blocks = _blocks(of_one_part, rows, columns, dies, order)
    block = min(blocks, key=partial(shape.cost, of_one_part, per_die, memory))
    l2_unique = block.of_die(row_bytes, column_bytes) / per_die
    requested = row_bytes / cluster[1] + column_bytes / cluster[0]
    l2_unique += (requested - l2_unique) * (1.0 - min(1.0, l2_rows / block.of_die(tile_m, tile_n)))
    written = float(tile_m * tile_n * (result if split_k == 1 else PARTIAL_BYTES))
    compulsory = sum(operands) / per_batch
    return GemmTraffic(
        l2=requested + written,
        past_l2=min(requested, max(l2_unique, compulsory)) + written,
        first_touch=compulsory,
        again=shape.again(block, of_one_part),
        written=written,
        group=1 if order == "rows" else max(1, round(block.height)),
    )


def cache_share(capacity: float, own_insertion: float, all_insertion: float) -> float:
    """Share [bytes] of a memory-side cache: in proportion to what each user inserts per second."""
    return capacity if all_insertion <= own_insertion else capacity * own_insertion / all_insertion


def resident_fraction(footprint: float, share: float) -> float:
    """Part of *footprint* bytes that a *share* of the cache still holds when it is read again."""
    return 1.0 if footprint <= share else share / footprint
