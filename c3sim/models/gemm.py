"""A GEMM on compute units: which macro-tile a library picks, what a tile costs, what a workgroup
claims.

The time of a tile on one CU is

    t = prologue / f + sqrt(issue^2 / f^2 + feed^2 (c / f + 1 - c)^2)
    issue = 2 tm tn k / (flops_per_cycle f_max u)
    feed  = (tm + tn) k e / operand_feed

with f the clock as a share of the maximum, tm x tn the tile, e bytes per element and u 1, or the
library's ``unaligned`` share where N e or K e is no whole number of 16 bytes, or its ``odd_rows``
where it is none of 4. Operands arrive beside the matrix instructions; the two overlap, and the root
of squares stands for the part that does not hide. c, ``operand_clocked``, is the share of their way
that follows the engine clock: little where one slice of operands waits for the fabric. (MI300X: a
256x224 tile runs at 88 % of peak issue at 2.1 GHz, suite gemm_cu_sweep with few CUs, and dense
GEMMs at 94 % at 1.1 and 1.2 GHz, blog of suite gemm_maf, where c = 1 would give 88 to 90; decision
105.) The same term makes small tiles slow.
Where the library has an ``epilogue``, the prologue is a workgroup's, before its first tile, and the
results of a tile leave at that rate behind its matrix instructions; of ``alternating`` tiles a unit
has two by turns, and the results of one leave beside the next (decision 118). L2,
memory-side cache and HBM are capacities of the machine and not part of t.

A workgroup claims, of LDS, (tm + tn) x slice x stages and ``results_lds``, and of registers of 32
bit, per lane,

    tm tn / threads + 2 (tm + tn) slice / (4 B x threads) + OTHER_REGISTERS

accumulators, two slices of operands on their way into LDS, and the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, hypot
from typing import NamedTuple

from c3sim.models.caches import PARTIAL_BYTES
from c3sim.models.gemm_choices import Choice, choices
from c3sim.models.gemm_selection import Tiling, ranked
from c3sim.models.gemm_sums import matrix_rate
from c3sim.models.latest import OfLatest
from c3sim.models.links import soft_minimum
from c3sim.spec.hardware import Gpu
from c3sim.spec.libraries import GemmLibrary, Selection
from c3sim.spec.workload import Gemm

REGISTER_BYTES = 4
#: Bytes of which the rows of a matrix are a whole number where units load blocks of it at once
#: (tensor maps of CUDA: cuTensorMapEncodeTiled, CUDA driver API).
ALIGNED = 16
#: The least that a lane can load into LDS without waiting (PTX ISA, cp.async: 4, 8 or 16 bytes).
WORD = 4
#: Addresses, loop counters, scalars of a lane. Estimate: tens of them, [32, 128].
OTHER_REGISTERS = 64
#: Share of the shorter of units and memory that a library which knows the port counts beside the
#: longer. Of 0, 0.1, 0.3 and 0.4 that with which most of 1226 choices come out: 53 % of the tiles
#: of up to 192 rows, 59 % of the others (hwmodels/h200-cublas.csv, h100-cublas.csv).
AFTER_EACH_OTHER = 0.3
#: Loads of the kernel behind a split GEMM that wait for each other: its arguments, the partial
#: sums, what is added to them. Measured: 1.65 to 2.05 us for up to 1.6 MB of partial sums on H200
#: (validation/frameworks/short.py).
REDUCTION_LOADS = 3


@dataclass(frozen=True, slots=True)
class GemmPlan:
    """One choice of tile for one GEMM."""

    tile: tuple[int, int]
    split_k: int
    tiles: int  # work items: row tiles x column tiles x split x batch
    schedule: str
    issue: float  # s of matrix instructions per tile, at the maximum clock
    feed: float  # s per tile in which its operands arrive, at the maximum clock
    clocked: float  # share of that which follows the clock
    loop: float  # s per tile in which its slices follow each other at the soonest
    prologue: float  # s per tile, at the maximum clock; with an epilogue, once for a workgroup
    epilogue: float  # s per tile in which its results leave, at the maximum clock
    alternate: bool  # a unit has two tiles by turns: one leaves while the next is computed
    flops_per_tile: float  # executed, padding included
    lds: float
    registers: int
    waves: int
    residents: int  # workgroups of this kernel that fit on one CU
    requested: float  # operand bytes per tile that are read from L2
    stages: int  # slices of operands that a workgroup keeps
    cluster: tuple[int, int] = (1, 1)  # rows x columns of tiles whose workgroups start together

    @property
    def cluster_size(self) -> int:
        return self.cluster[0] * self.cluster[1]

    @property
    def body(self) -> float:
        """Seconds per tile beside prologue and epilogue, at the maximum clock."""
        return max(hypot(self.issue, self.feed), self.loop)


class _Machine(NamedTuple):
    """Properties of a GPU and a data type that a plan depends on."""

    units: int
    dies: int
    lds: float
    registers: int
    waves: int
    wave_lanes: int
    wave_registers: int
    flops_per_cycle: float
    read_bandwidth: float  # of one unit, B per cycle
    clock: float
    port: float  # B/s from the L2s to one unit, where its port is described; 0: where it is not
    memory: float  # B/s that a pure read stream reaches
    soft: float  # exponent of the soft minimum of that and what the units ask for
    l2: float  # B/s of all L2s
    shared_cache: float  # bytes of the last cache that all units share
    next_kernel: float  # s from a kernel's end to the start of the one behind it
    slower: float  # how many times as high the clock was at which the library was tuned


class _Shape(NamedTuple):
    m: int
    n: int
    k: int
    batch: int
    element: int  # bytes of a number of A and B
    result: int  # of C
    each: tuple[int, ...]  # rows of each product of the batch; empty: m

    def row_tiles(self, tile: int) -> tuple[int, ...]:
        """Tiles down each product, of the batch or of all alike."""
        return tuple(ceil(rows / tile) for rows in self.each) or (ceil(self.m / tile),)


def plan_gemm(gpu: Gpu, task: Gemm) -> GemmPlan:
    """The library's macro-tile and split for *task*: what it was seen to choose for this shape, or
    the fastest by its own estimate, ties to the larger tile. A GPU with numbers set by hand has the
    tile and split of the one that its library was tuned on.

    Raises KeyError for an unknown library (checked on input). *task.macro_tile* and *task.schedule*
    override.
    """
    of_gpu = _plans.of(gpu)
    sides, how = (task.m, task.n, task.k, task.batch), (task.library, task.schedule)
    key = *sides, *how, task.dtype, task.result_element, task.rows, task.macro_tile
    plan = of_gpu.get(key)
    if plan is None:
        plan = of_gpu[key] = _planned(gpu, task)
    return plan


_plans: OfLatest[GemmPlan] = OfLatest()  # by GPU


def _planned(gpu: Gpu, task: Gemm) -> GemmPlan:
    elements = task.element, task.result_element
    shape = _Shape(task.m, task.n, task.k, task.batch, *elements, task.rows)
    machine, library = _machine(gpu, task), gpu.gemm_library(task.library)
    schedule = task.schedule or library.schedule
    seen = _seen(gpu, task)
    if seen is not None:
        return _tile_plan(machine, library, shape, *seen, schedule)
    if gpu.tuned_on is None:
        return _plan(machine, library, shape, task.macro_tile, schedule)
    known = _as_tuned(library, gpu.tuned_on.gemm_library(task.library))
    rates = _machine(gpu.tuned_on, task)._replace(**{f: getattr(machine, f) for f in COUNTED})
    chosen = _plan(rates, known, shape, task.macro_tile, schedule)
    return _tile_plan(machine, library, shape, chosen.tile, chosen.split_k, None, schedule)


def _seen(gpu: Gpu, task: Gemm) -> Choice | None:
    """Choice that the library was seen to make for *task*, on a GPU with as many units as the one
    where its kernels were read; None: nobody has seen it.
    """
    table = gpu.gemm_library(task.library).choices
    if table is None or task.macro_tile or task.schedule or task.rows or task.batch > 1:
        return None
    units = gpu.compute_unit_count
    return choices(table).get((units, task.m, task.n, task.k, task.dtype))


#: Fields of a machine that a library asks the driver for when it is called.
COUNTED = ["units", "dies", "lds", "registers", "waves"]
COUNTED += ["wave_lanes", "wave_registers", "shared_cache"]


@lru_cache(maxsize=1024)
def _as_tuned(library: GemmLibrary, tuned: GemmLibrary) -> GemmLibrary:
    """*library* with the rates and times that it had when it was *tuned*."""
    names = (
        "operand_feed",
        "prologue",
        "epilogue",
        "next_product",
        "slice_time",
        "memory_efficiency",
        "results_efficiency",
        "unaligned",
        "odd_rows",
    )
    return library.changed(**{name: getattr(tuned, name) for name in names})


def _machine(gpu: Gpu, task: Gemm) -> _Machine:
    cu = gpu.compute_units
    return _Machine(
        units=gpu.compute_unit_count,
        dies=gpu.dies.count,
        lds=cu.lds,
        registers=cu.registers,
        waves=cu.waves,
        wave_lanes=cu.wave_lanes,
        wave_registers=cu.wave_registers,
        flops_per_cycle=matrix_rate(gpu, task),
        read_bandwidth=cu.read_bandwidth,
        clock=gpu.clock.maximum,
        port=cu.l2_bandwidth * gpu.clock.maximum if cu.port else 0.0,
        memory=gpu.hbm.bandwidth * gpu.hbm.read_efficiency,
        soft=gpu.hbm.saturation_exponent,
        l2=gpu.dies.count * gpu.l2.bandwidth * gpu.clock.maximum,
        shared_cache=gpu.shared_cache,
        next_kernel=gpu.kernels.gap + REDUCTION_LOADS * gpu.hbm.latency,
        slower=(gpu.tuned_on or gpu).clock.maximum / gpu.clock.maximum,
    )


@lru_cache(maxsize=65536)
def _plan(
    machine: _Machine,
    library: GemmLibrary,
    shape: _Shape,
    macro_tile: tuple[int, int] | None,
    schedule: str,
) -> GemmPlan:
    m, n, k, batch, element, result, _ = shape
    operands = (m * k + k * n) * element * batch
    memory_rate = machine.memory * library.memory_efficiency
    results = m * n * result * batch
    best: tuple[float, float, GemmPlan] | None = None
    if library.selection is not None and schedule == "one_per_tile":
        return _selected(machine, library, library.selection, shape, macro_tile)
    for tile in (macro_tile,) if macro_tile else library.tiles:
        for split in _splits(machine, library, shape, tile, schedule):
            plan = _tile_plan(machine, library, shape, tile, split, None, schedule)
            requested = sum(plan.tile) * ceil(k / split) * element
            missing = min(1.0, operands / (requested * plan.tiles))
            if machine.port:
                memory_time = waited = (operands + results) / machine.memory
            else:
                readers = min(plan.tiles, machine.units) * machine.read_bandwidth * machine.clock
                readers *= library.memory_efficiency
                rate = soft_minimum(readers, machine.memory, machine.soft)
                memory_time = (operands + results) / rate
                waited = operands / rate if library.epilogue else memory_time
            time = _estimate(machine, plan, requested, (memory_time, waited), missing)
            time += _reduction_estimate(machine, library, m * n * batch, split, memory_rate)
            rank = (time, -float(tile[0] * tile[1]))
            if best is None or rank < best[:2]:
                best = (*rank, plan)
    assert best is not None  # the schema requires at least one tile
    return best[2]


def _selected(
    machine: _Machine,
    library: GemmLibrary,
    rates: Selection,
    shape: _Shape,
    macro_tile: tuple[int, int] | None,
) -> GemmPlan:
    """The plan that a library ranks first which reckons as models/gemm_selection.py says."""

    def tiling(tile: tuple[int, int]) -> Tiling:
        plan = _tile_plan(machine, library, shape, tile, 1, None, "one_per_tile")
        depth = max(1, int(library.slice_bytes / shape.element))
        rows = sum(shape.row_tiles(tile[0]))
        return Tiling(
            sides=(sum(shape.each) or shape.m, shape.n, shape.k),
            tile=tile,
            grid=(rows, ceil(shape.n / tile[1])),
            batch=1 if shape.each else shape.batch,
            elements=(shape.element, shape.result),
            slices=ceil(shape.k / depth),
            depth=depth,
            units=machine.units,
            dies=machine.dies,
            residents=plan.residents,
        )

    tilings = [tiling(tile) for tile in ((macro_tile,) if macro_tile else library.tiles)]

    def rank(each: Tiling) -> tuple[float, int]:
        seconds = ranked(each, rates, machine.flops_per_cycle, machine.clock)
        return seconds, -each.tile[0] * each.tile[1]

    best = min(tilings, key=rank)
    return _tile_plan(machine, library, shape, best.tile, best.parts, None, "one_per_tile")


def _splits(
    machine: _Machine, library: GemmLibrary, shape: _Shape, tile: tuple[int, int], schedule: str
) -> list[int]:
    """Numbers of parts of K to try: all that leave each CU one tile, where workgroups stay; else
    one, and those that give every CU one tile, or two.
    """
    if schedule == "stream_k" or library.split_depth is None:
        return [1]
    down = sum(shape.row_tiles(tile[0])) * (1 if shape.each else shape.batch)
    tiles = down * ceil(shape.n / tile[1])
    most = min(library.split_k, shape.k // library.split_depth or 1)
    if schedule == "dynamic_persistent":
        return list(range(1, max(1, min(most, machine.units // tiles)) + 1))
    wanted = (machine.units // tiles, 2 * machine.units // tiles)
    return sorted({1, *(max(1, min(most, split)) for split in wanted)})


def _matrix_share(library: GemmLibrary, shape: _Shape) -> float:
    """The share of the matrix rate that rows of the length of *shape*'s leave."""
    rows = (shape.n * shape.result, shape.k * shape.element)
    if library.odd_rows is not None and any(row % WORD for row in rows):
        return library.odd_rows
    if library.unaligned is not None and any(row % ALIGNED for row in rows):
        return library.unaligned
    return 1.0


def _tile_plan(
    machine: _Machine,
    library: GemmLibrary,
    shape: _Shape,
    tile: tuple[int, int],
    split: int,
    together: tuple[int, int] | None,
    schedule: str,
) -> GemmPlan:
    """The plan of this *tile* and *split*; *together*: tiles of a cluster, None: the library's."""
    sides, depth = tile[0] + tile[1], ceil(shape.k / split)
    flops = 2.0 * tile[0] * tile[1] * _whole_slices(library, shape, depth)
    stages = _stages(machine, library, sides)
    lds = float(min(machine.lds, sides * library.slice_bytes * stages + library.results_lds))
    registers = library.registers or _registers(machine, library, tile)
    clocked, way = _clocked(machine, library)
    cluster, tiles = _grid(library, shape, tile, together)
    tiles *= split
    residents = _residents(machine, library, lds, registers)
    return GemmPlan(
        tile=tile,
        split_k=split,
        tiles=tiles,
        schedule=schedule,
        issue=flops / machine.flops_per_cycle / machine.clock / _matrix_share(library, shape),
        feed=sides * depth * shape.element / library.operand_feed * way,
        loop=ceil(depth * shape.element / library.slice_bytes) * library.slice_time,
        clocked=clocked,
        prologue=_prologue(library, machine.units * residents, shape.batch, tiles),
        epilogue=_epilogue(machine, library, shape, tile, split),
        alternate=tile[0] * tile[1] <= (library.alternating or 0),
        flops_per_tile=flops,
        lds=lds,
        registers=registers,
        waves=library.waves,
        residents=residents,
        requested=(tile[0] / cluster[1] + tile[1] / cluster[0]) * depth * shape.element,
        stages=stages,
        cluster=cluster,
    )


def _grid(
    library: GemmLibrary, shape: _Shape, tile: tuple[int, int], together: tuple[int, int] | None
) -> tuple[tuple[int, int], int]:
    """Tiles of a cluster, *together* or the library's, and of all products with those that pad."""
    columns, each = ceil(shape.n / tile[1]), shape.row_tiles(tile[0])
    cluster = together or _cluster(max(each), columns, tile, library)
    padded = sum(_padded(rows, columns, cluster) for rows in each)
    return cluster, padded * (1 if shape.each else shape.batch)


def _residents(machine: _Machine, library: GemmLibrary, lds: float, registers: int) -> int:
    """Workgroups that a unit has room for."""
    fitting = int(machine.lds // lds), machine.registers // registers
    return max(1, min(*fitting, machine.waves // library.waves))


def _whole_slices(library: GemmLibrary, shape: _Shape, depth: int) -> int:
    """K of the slices that a part of K of this *depth* goes by."""
    part = max(1, int(library.slice_bytes / shape.element))
    return ceil(depth / part) * part


def _prologue(library: GemmLibrary, turn: int, batch: int, tiles: int) -> float:
    """Seconds before a tile, in the mean, where a workgroup's next tile is a *turn* of tiles on."""
    if batch == 1:
        return library.prologue
    return library.prologue + min(1.0, turn * batch / tiles) * library.next_product


def _epilogue(
    machine: _Machine, library: GemmLibrary, shape: _Shape, tile: tuple[int, int], split: int
) -> float:
    """Seconds in which the results of a tile, or its partial sums, leave their unit, where that
    takes time of its own.
    """
    if library.epilogue is None:
        return 0.0
    results = min(tile[0], shape.m) * min(tile[1], shape.n)
    return (
        results
        * (shape.result if split == 1 else PARTIAL_BYTES)
        / (library.epilogue * machine.clock)
    )


def _clocked(machine: _Machine, library: GemmLibrary) -> tuple[float, float]:
    """Share of the operands' way that follows the clock, and how many times as long it is as at the
    clock that the library was tuned at.
    """
    clocked = library.operand_clocked * machine.slower
    way = clocked + 1.0 - library.operand_clocked
    return clocked / way, way


def _stages(machine: _Machine, library: GemmLibrary, sides: int) -> int:
    """Slices of operands that a workgroup keeps, of a tile of so many rows and columns."""
    if library.most_stages is None:
        return library.stages
    room = int((machine.lds - library.results_lds) // (sides * library.slice_bytes))
    return max(library.stages, min(room, library.most_stages))


def _registers(machine: _Machine, library: GemmLibrary, tile: tuple[int, int]) -> int:
    """Registers of a workgroup, from its tile: see the module docstring."""
    threads = library.waves * machine.wave_lanes
    accumulators = ceil(tile[0] * tile[1] / threads)
    one_slice = ceil((tile[0] + tile[1]) * library.slice_bytes / (REGISTER_BYTES * threads))
    per_lane = accumulators + 2 * one_slice + OTHER_REGISTERS
    return library.waves * min(machine.wave_registers, per_lane)


def _padded(rows: int, columns: int, cluster: tuple[int, int]) -> int:
    """Tiles of a grid that comes in whole clusters: one beyond the edge costs what others do."""
    down, across = cluster
    return -(-rows // down) * down * -(-columns // across) * across


def _cluster(
    rows: int, columns: int, tile: tuple[int, int], library: GemmLibrary
) -> tuple[int, int]:
    """The library's cluster of tiles, down or across, whichever pads the grid of tiles less or as
    the library has it.

    On a tie the operand that is the longer side of a *tile* is shared. Where the library chooses,
    fewer tiles than a cluster has make no cluster.
    """
    size = library.cluster
    if library.clusters == "down":
        return size, 1
    if size == 1 or rows * columns < size:
        return 1, 1
    down, across = _padded(rows, columns, (size, 1)), _padded(rows, columns, (1, size))
    return (size, 1) if down < across or (down == across and tile[1] >= tile[0]) else (1, size)


def _estimate(
    machine: _Machine, plan: GemmPlan, requested: float, memory: tuple[float, float], missing: float
) -> float:
    """Estimate of a kernel's time, as the library's tuning ranks it: rounds on all CUs and memory,
    which overlap as far as several workgroups share a CU or several stages of operands are on
    their way; where the port of a CU is described, the *requested* bytes of a tile go through it.
    *memory*: seconds in which it moves all, and what is waited for: without a described port, but
    with an epilogue, in which results leave, operands alone. *missing*: share of the operand bytes
    that come from memory, not through the caches.
    """
    rounds, rest = divmod(plan.tiles, machine.units * plan.residents)
    per_unit = max(1, min(plan.residents, ceil(plan.tiles / machine.units)))
    through = requested / machine.port if machine.port else 0.0
    apart = AFTER_EACH_OTHER if machine.port else 1.0 / (per_unit * plan.stages)
    body = max(hypot(plan.issue, plan.feed * (1.0 - missing), through), plan.loop)
    each, once = (plan.epilogue, plan.prologue) if plan.epilogue else (plan.prologue, 0.0)
    time = once + rounds * (plan.residents * body + each)
    if rest:
        time += ceil(rest / machine.units) * body + each
    time = max(time, plan.requested * plan.tiles / machine.l2)
    memory_time, waited = memory
    return max(time, memory_time) + apart * min(time, waited)


def _reduction_estimate(
    machine: _Machine, library: GemmLibrary, results: int, split: int, memory_rate: float
) -> float:
    """Seconds in which the partial sums of *split* parts are written, read and added."""
    if split == 1:
        return 0.0
    partial = 1.0 * results * PARTIAL_BYTES * split
    if library.reduction is None:
        return 2.0 * partial / memory_rate
    rate = machine.l2 if partial <= machine.shared_cache else memory_rate
    return machine.next_kernel + 2.0 * partial / rate
