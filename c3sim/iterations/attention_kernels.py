"""Kernels of attention: the part of the matrix peak that one reaches, and its workgroups' room."""

from __future__ import annotations

from typing import Any, NamedTuple

from c3sim.iterations.query_tiles import evenness
from c3sim.spec.hardware import Gpu
from c3sim.spec.operators import Operators
from c3sim.spec.task import Dtype

#: Numbers of a head that count as narrow at most, and as wide beyond.
NARROW, WIDE = 64, 128
#: Kernels are made for heads of so many numbers and of multiples; others are filled up with zeros.
MADE_FOR = 64


class Kernels(NamedTuple):
    """Which of attention's kernels run; *dropped*: they drop scores at random."""

    backward: bool = False
    flash_2: bool = False
    dropped: bool = False


class Tiles(NamedTuple):
    """Tiles of *copies* heads *width* wide: so many *keys* each, *rows* queries of *per_key* FLOP
    in all for a key.
    """

    width: int
    keys: tuple[int, ...]
    copies: int
    rows: int
    per_key: float


#: The GPU's own, forward.
OWN = Kernels()


def of_tiles(
    gpu: Gpu, parts: Operators, dtype: Dtype, tiles: Tiles, which: Kernels
) -> dict[str, Any]:
    """Fields of a kernel over *tiles*."""
    part = part_of_peak(gpu, parts, dtype, tiles, which)
    return {"efficiency": part, **room_of_tiles(gpu, parts, len(tiles.keys) * tiles.copies, which)}


def part_of_peak(
    gpu: Gpu, parts: Operators, dtype: Dtype, tiles: Tiles, which: Kernels = OWN
) -> float:
    """Part of the matrix peak in the mean of all units, until the last has ended.

    A workgroup reaches one part in its loop over keys, of FLOP of heads that are filled up; draws
    a random number for each score, if some are dropped; and waits for its first and last bytes.
    """
    if which.flash_2:
        part, loads, each = _of_flash_2(parts, tiles.width, backward=which.backward)
    else:
        part, loads, each = *_own(parts, tiles.width, backward=which.backward), 1
        part *= tiles.width / (-(-tiles.width // MADE_FOR) * MADE_FOR)
    units = gpu.compute_units
    peak = units.flops_per_cycle[dtype] / each
    if which.dropped:
        drawn = parts.dropped_gradient_flops if which.backward else parts.dropped_score_flops
        beside = drawn * tiles.rows / units.flops_per_cycle["fp32"] * peak / tiles.per_key
        part = 1.0 / (1.0 / part + beside)
    start = loads * gpu.hbm.latency * part * peak * gpu.clock.maximum / tiles.per_key
    return part * evenness(tiles.keys, tiles.copies, gpu.compute_unit_count * each, start)


def _own(parts: Operators, width: int, *, backward: bool) -> tuple[float, int]:
    """Part of the peak in the loop over keys, and loads around it, of the GPU's own kernels."""
    way = "gradient_loads" if backward else "loads"
    reach = "attention_backward" if backward else "attention_forward"
    loads: int = getattr(parts, f"attention_{way}")
    part: float = getattr(parts, reach)
    kind = "narrow" if width <= NARROW else "wide" if width > WIDE else None
    special = getattr(parts, f"{kind}_{reach}") if kind else None
    if special is not None and kind == "narrow":
        loads = getattr(parts, f"narrow_attention_{way}")
    return part if special is None else special, loads


def _of_flash_2(parts: Operators, width: int, *, backward: bool) -> tuple[float, int, int]:
    """The same of FlashAttention-2's, and workgroups on a unit."""
    kernels = parts.flash_2
    assert kernels is not None  # checked where operators are made
    narrow, loads = width <= NARROW, kernels.loads
    if backward:
        return kernels.narrow_backward if narrow else kernels.backward, loads, 1
    return kernels.narrow_forward if narrow else kernels.forward, loads, kernels.per_unit


def room_of_tiles(gpu: Gpu, parts: Operators, tiles: int, which: Kernels = OWN) -> dict[str, Any]:
    """Fields of a kernel over so many *tiles*: its workgroups, and the room of one."""
    if which.flash_2 and parts.flash_2 is not None:
        return {"workgroups": tiles, "per_unit": 1 if which.backward else parts.flash_2.per_unit}
    room, units = parts.attention_room, gpu.compute_unit_count
    if room is None or tiles <= units:
        return {"workgroups": tiles, "per_unit": 1}
    registers = min(room.registers, _registers_at_most(gpu, room.threads))
    claim = {"threads": room.threads, "registers": registers, "lds": room.lds}
    return {"workgroups": units, "tiles": tiles, **claim}


def _registers_at_most(gpu: Gpu, threads: int) -> int:
    """Registers of a thread where so many *threads* have a unit's all, allocated by eights."""
    units = gpu.compute_units
    waves = -(-threads // units.wave_lanes)
    return units.registers // waves // 8 * 8


def room_of_one(gpu: Gpu, parts: Operators, key: float) -> dict[str, Any]:
    """Fields of a kernel for one new token, of keys of *key* bytes with their values: the room of a
    workgroup, and what it has under way. It sets aside all shared memory of a unit, which leaves
    29 KiB of lines, not 60: read from pairs of it and a stream, and found again in blind ones
    (docs/decisions, 132).
    """
    one = parts.attention_of_one
    if one is None:
        return {}
    return {
        **{"threads": one.threads, "registers": one.registers, "lds": one.lds},
        **{"set_aside": gpu.compute_units.lds, "loads": one.key_block * key},
        "memory_efficiency": one.memory_efficiency,
    }
