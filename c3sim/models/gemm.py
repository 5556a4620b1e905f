"""A GEMM on compute units: which macro-tile a library picks, what a tile costs, what a workgroup
claims.

The time of a tile on one CU is

    t = prologue / f + sqrt( issue^2 / f^2 + feed^2 ),
    issue = 2 tm tn k / (flops_per_cycle f_max),   feed = (tm + tn) k e / operand_feed

with f the clock as a share of the maximum and e bytes per element. Operands arrive beside the matrix instructions, at a
rate that caches and fabric decide, not the engine clock; the two overlap, and the root of squares stands for the part
that does not hide. (Measured: a 256x224 tile runs at 87 % of peak issue at 2.1 GHz, suite gemm_cu_sweep with few CUs, and
dense GEMMs at 94 % at 1.2 GHz, blog of suite gemm_maf; a sum of both times would give 91 % there, a maximum 100 %.) The
same term makes small tiles slow. L2, memory-side cache and HBM are capacities of the machine and not part of t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from math import ceil, hypot

from c3sim.models.caches import SLICE_BYTES
from c3sim.specs.hardware import Gpu
from c3sim.specs.libraries import GemmLibrary
from c3sim.specs.workload import DTYPE_BYTES, Gemm

THREADS = 256


@dataclass(frozen=True, slots=True)
class GemmPlan:
    """One choice of tile for one GEMM."""

    tile: tuple[int, int]
    split_k: int
    tiles: int  # work items: row tiles x column tiles x split x batch
    schedule: str
    issue: float  # s of matrix instructions per tile, at the maximum clock
    feed: float  # s per tile in which its operands arrive, at any clock
    prologue: float  # s per tile, at the maximum clock
    flops_per_tile: float  # executed, padding included
    lds: float
    registers: int
    waves: int
    residents: int  # workgroups of this kernel that fit on one CU
    cluster: tuple[int, int] = (1, 1)  # rows x columns of tiles whose workgroups start together

    @property
    def cluster_size(self) -> int:
        return self.cluster[0] * self.cluster[1]

    @property
    def body(self) -> float:
        """S per tile beside the prologue, at the maximum clock."""
        return hypot(self.issue, self.feed)


def _residents(gpu: Gpu, lds: float, registers: int, waves: int) -> int:
    cu = gpu.compute_units
    return max(1, min(int(cu.lds // lds), cu.registers // registers, cu.waves // waves))


@lru_cache(maxsize=65536)
def _tile_plan(
    gpu_key: int,
    library: str,
    m: int,
    n: int,
    k: int,
    batch: int,
    dtype: str,
    tile: tuple[int, int],
    split: int,
    schedule: str,
) -> GemmPlan:
    gpu = _GPUS[gpu_key]
    lib, cu, clock = gpu.gemm_libraries[library], gpu.compute_units, gpu.clock.maximum
    element = DTYPE_BYTES[dtype]
    depth = ceil(k / split)
    flops = 2.0 * tile[0] * tile[1] * depth
    issue = flops / cu.flops_per_cycle[dtype] / clock  # type: ignore[index]
    feed = (tile[0] + tile[1]) * depth * element / lib.operand_feed
    lds = float(min(cu.lds, (tile[0] + tile[1]) * SLICE_BYTES * lib.stages))
    tile_registers = ceil(tile[0] * tile[1] / THREADS) + 2 * ceil((tile[0] + tile[1]) / 8) + 64
    registers = lib.registers or 4 * min(512, tile_registers)
    cluster, padded = _cluster(ceil(m / tile[0]), ceil(n / tile[1]), tile, lib.cluster)
    tiles = padded * split * batch
    return GemmPlan(
        tile=tile,
        split_k=split,
        tiles=tiles,
        schedule=schedule,
        issue=issue,
        feed=feed,
        prologue=lib.prologue,
        flops_per_tile=flops,
        lds=lds,
        registers=registers,
        waves=lib.waves,
        residents=_residents(gpu, lds, registers, lib.waves),
        cluster=cluster,
    )


def _cluster(
    rows: int, columns: int, tile: tuple[int, int], size: int
) -> tuple[tuple[int, int], int]:
    """The cluster of *size* tiles, down or across, that pads the grid of tiles less, and how many
    tiles that makes.

    Grids come in whole clusters, so a tile beyond the edge costs what any other does. On a tie the
    operand that is the longer side of a *tile* is shared. Fewer tiles than a cluster has make no
    cluster.
    """
    if size == 1 or rows * columns < size:
        return (1, 1), rows * columns
    down, across = -(-rows // size) * size * columns, rows * -(-columns // size) * size
    if down < across or (down == across and tile[1] >= tile[0]):
        return (size, 1), down
    return (1, size), across


_GPUS: dict[int, Gpu] = {}  # key -> spec, so that plans can be cached by a hashable key
_KEYS: dict[int, int] = {}  # id of a spec -> its key; keys are never used twice
_REMEMBERED = 256
_numbers = count()


def _key(gpu: Gpu) -> int:
    """A key of *gpu* for the caches below; the oldest specs are forgotten, so that sweeps do not
    pile them up.
    """
    key = _KEYS.get(id(gpu))
    if key is None:
        if len(_GPUS) >= _REMEMBERED:
            oldest = next(iter(_GPUS))
            del _KEYS[id(_GPUS.pop(oldest))]
        key = _KEYS[id(gpu)] = next(_numbers)
        _GPUS[key] = gpu  # keeps the spec alive, so that its id stays its own
    return key


def _estimate(gpu: Gpu, plan: GemmPlan, stages: int, memory_time: float, missing: float) -> float:
    """What the library's tuning would have measured: rounds on all CUs and memory, which overlap as
    far as several workgroups share a CU or several *stages* of operands are on their way.
    *missing*: share of the operand bytes that come from memory, not through the caches.
    """
    slots = gpu.compute_unit_count * plan.residents
    rounds, rest = divmod(plan.tiles, slots)
    body = hypot(plan.issue, plan.feed * (1.0 - missing))
    time = rounds * (plan.residents * body + plan.prologue)
    if rest:
        time += ceil(rest / gpu.compute_unit_count) * body + plan.prologue
    crowd = max(1, min(plan.residents, ceil(plan.tiles / gpu.compute_unit_count)))
    return max(time, memory_time) + min(time, memory_time) / (crowd * stages)


def plan_gemm(gpu: Gpu, task: Gemm) -> GemmPlan:
    """The library's macro-tile and split for *task*: the fastest by its own estimate, ties to the
    larger tile.

    Raises KeyError for an unknown library (checked on input). *task.macro_tile* and *task.schedule*
    override.
    """
    return _plan(
        _key(gpu),
        task.library or next(iter(gpu.gemm_libraries)),
        task.m,
        task.n,
        task.k,
        task.batch,
        task.dtype,
        task.macro_tile,
        task.schedule,
    )


@lru_cache(maxsize=65536)
def _plan(
    gpu_key: int,
    library: str,
    m: int,
    n: int,
    k: int,
    batch: int,
    dtype: str,
    macro_tile: tuple[int, int] | None,
    schedule: str | None,
) -> GemmPlan:
    gpu = _GPUS[gpu_key]
    lib: GemmLibrary = gpu.gemm_libraries[library]
    style = schedule or lib.schedule
    element = DTYPE_BYTES[dtype]
    operands = (m * k + k * n + m * n) * element * batch
    memory_rate = gpu.hbm.bandwidth * gpu.hbm.read_efficiency * lib.memory_efficiency
    best: tuple[float, float, GemmPlan] | None = None
    for tile in (macro_tile,) if macro_tile else lib.tiles:
        base = ceil(m / tile[0]) * ceil(n / tile[1]) * batch
        limit = lib.split_k if style == "one_per_tile" else 1
        splits = {1}
        for target in (gpu.compute_unit_count // base, 2 * gpu.compute_unit_count // base):
            splits.add(max(1, min(limit, target, k // 256 or 1)))
        for split in sorted(splits):
            plan = _tile_plan(gpu_key, library, m, n, k, batch, dtype, tile, split, style)
            traffic = operands + (2.0 * m * n * 4 * split * batch if split > 1 else 0.0)
            readers = (
                min(plan.tiles, gpu.compute_unit_count)
                * gpu.compute_units.read_bandwidth
                * gpu.clock.maximum
            )
            requested = plan.feed * lib.operand_feed * plan.tiles
            missing = min(1.0, (m * k + k * n) * element * batch / requested)
            time = _estimate(gpu, plan, lib.stages, traffic / min(memory_rate, readers), missing)
            rank = (time, -float(tile[0] * tile[1]))
            if best is None or rank < best[:2]:
                best = (*rank, plan)
    assert best is not None  # the schema requires at least one tile
    return best[2]
