"""Answers of the exercises, computed by the model or by hand, and what typical mistakes lead to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

from lines import LINE, distance
from pieces import in_pieces
from queues_of_streams import sharded

import c3sim

PAIR = "gemm-beside-all-gather"
STEP = "llama3-8b-training"
#: Lesson 2: a GEMM whose last round leaves room for the channels; that of 8192 x 8192 fills the
#: shader engines at which they begin.
WIDE: Mapping[str, object] = {"task.gemm.n": 9216}


def best_size() -> float:
    """Size in MiB at which the all-gather takes as long as the GEMM, both alone; by halving."""
    low, high = 128.0, 896.0
    while high - low > 1:
        middle = (low + high) / 2
        result = c3sim.run(PAIR, set={"task.gather.size": f"{middle} MiB"})
        longer = result.tasks["gather"].isolated_s > result.tasks["gemm"].isolated_s
        low, high = (low, middle) if longer else (middle, high)
    return (low + high) / 2


def wait_of_half() -> float:
    """Milliseconds that the all-gather waits for room beside a GEMM of half the depth."""
    return c3sim.run(PAIR, set={**WIDE, "task.gemm.k": 4096}).tasks["gather"].room_s * 1e3


def enough_channels() -> float:
    """The fewest channels whose wall time is within 2 % of the shortest, for 224 MiB."""
    walls = {}
    for channels in (8, 16, 24, 32, 40, 48, 56, 64):
        settings = {"task.gather.channels": channels, "task.gather.size": "224 MiB"}
        walls[channels] = c3sim.run(PAIR, strategy="sp", set=settings).wall_s
    return min(channels for channels, wall in walls.items() if wall <= 1.02 * min(walls.values()))


def crossing() -> float:
    """Size in MiB from which an all-gather alone is quicker on DMA engines than on units."""
    low, high = 4.0, 256.0
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        size = {"task.gather.size": f"{round(64 * middle) * 16} KiB"}
        engines = c3sim.run("all-gather-alone", set={**size, "task.gather.backend": "dma"})
        units = c3sim.run("all-gather-alone", set=size)
        low, high = (low, middle) if engines.wall_s < units.wall_s else (middle, high)
    return math.sqrt(low * high)


def best_pieces() -> float:
    """The number of pieces (1, 2, 4 ... 32) with the shortest wall time for 256 MiB."""
    return min((1, 2, 4, 8, 16, 32), key=lambda pieces: in_pieces(pieces, 256).wall_s)


def last_round() -> float:
    """Tiles of the last round: by hand, from the tile that the model names."""
    rows, columns = (int(side) for side in _tile().split("x"))
    tiles = math.ceil(8192 / rows) * math.ceil(8192 / columns)
    return tiles - 304 * (math.ceil(tiles / 304) - 1)


def _tile() -> str:
    return str(c3sim.run("gemm-alone").tasks["gemm"].detail["macro_tile"])


def false_share() -> float:
    """Per cent of the time in which both run that saves nothing, with 16 channels."""
    result = c3sim.run(PAIR, strategy="sp", set={"task.gather.channels": 16})
    both = min(task.end_s for task in result.tasks.values())  # both begin at once
    return 100 * (1 - (result.serial_s - result.wall_s) / both)


def more_power() -> float:
    """Per cent by which a limit of 900 W instead of 750 W shortens the GEMM alone."""
    now, more = (
        c3sim.run("gemm-alone", set={"gpu.clock.power_limit": f"{limit} W"}).wall_s
        for limit in (750, 900)
    )
    return 100 * (1 - more / now)


def enough_engines() -> float:
    """The fewest engines with which the wall time is within 1 % of that with fourteen."""
    walls = {
        count: c3sim.run(PAIR, strategy="conccl", set={"gpu.dma_engines.count": count}).wall_s
        for count in range(1, 15)
    }
    return min(count for count, wall in walls.items() if wall <= 1.01 * walls[14])


@cache
def exposed_without_prefetch() -> float:
    """Per cent of a training step on eight MI300X that is exposed when nothing is prefetched."""
    step = c3sim.run(STEP, node="mi300x-8", set={"parallel.prefetch": 0})
    return 100 * step.overlap.exposed_s / step.wall_s


# The results of typical mistakes.


def waits_otherwise() -> tuple[float, float, float]:
    """Lesson 2, in ms: the wait with k = 8192, one round, and the whole GEMM."""
    before = c3sim.run(PAIR, set=WIDE).tasks["gather"].room_s
    gemm = c3sim.run(PAIR, set={**WIDE, "task.gemm.k": 4096}).tasks["gemm"].isolated_s
    return 1e3 * before, 1e3 * gemm / 4, 1e3 * gemm


def tiles_cut() -> tuple[float, float]:
    """Lesson 6: tiles of the last round, where a part of a tile counts as a part."""
    rows, columns = (int(side) for side in _tile().split("x"))
    tiles = 8192 * 8192 / (rows * columns) - 3 * 304
    return tiles, round(tiles)


def saved_share() -> tuple[float]:
    """Lesson 7: the other share."""
    return (100 - false_share(),)


def share_of_wall() -> tuple[float]:
    """Lesson 7: what is not saved, over the wall time."""
    result = c3sim.run(PAIR, strategy="sp", set={"task.gather.channels": 16})
    return (100 * (1 - (result.serial_s - result.wall_s) / result.wall_s),)


def quicker() -> tuple[float]:
    """Lesson 8: by how many per cent the GEMM is quicker, of which it takes so much less time."""
    return (100 / (1 - more_power() / 100) - 100,)


@cache
def shares_otherwise() -> tuple[float, float]:
    """Lesson 10, in per cent: exposed with prefetch; without it, over the computation alone."""
    step = c3sim.run(STEP, node="mi300x-8")
    none = c3sim.run(STEP, node="mi300x-8", set={"parallel.prefetch": 0})
    return 100 * step.overlap.exposed_s / step.wall_s, 100 * none.overlap.exposed_s / none.compute_s


def enough_cache() -> float:
    """Lesson 11, in KiB: lines of 32 workgroups between two loads, with stores."""
    return 32 * (distance(True) + 1) * LINE / 1024


def enough_cache_for_loads() -> tuple[float]:
    """The same without stores."""
    return (32 * (distance(False) + 1) * LINE / 1024,)


def enough_queues() -> float:
    """Lesson 12: the fewest queues with which the step in shards is within 1 % of eight."""
    return next(count for count in range(1, 9) if sharded(count) <= 1.01 * sharded(8))
