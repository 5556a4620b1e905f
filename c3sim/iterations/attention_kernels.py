"""Kernels of attention: the part of the matrix peak that one reaches, and its workgroups' room."""

from __future__ import annotations

from typing import Any, NamedTuple

from c3sim.iterations.query_tiles import evenness
from c3sim.spec.hardware import Gpu
from c3sim.spec.parts import Operators
from c3sim.spec.task import Dtype

#: Numbers of a head that count as narrow at most, and as wide beyond.
NARROW, WIDE = 64, 128


class Kernels(NamedTuple):
    """Which of attention's kernels run."""

    backward: bool = False
    flash_2: bool = False


#: The GPU's own, forward.
OWN = Kernels()


def of_tiles(
    gpu: Gpu,
    parts: Operators,
    dtype: Dtype,
    width: int,
    keys: tuple[int, ...],
    copies: int,
    per_key: float,
    which: Kernels,
) -> dict[str, Any]:
    """Fields of a kernel over tiles of *copies* heads: arguments as of :func:`part_of_peak`."""
    part = part_of_peak(gpu, parts, dtype, width, keys, copies, per_key, which)
    return {"efficiency": part, **room_of_tiles(gpu, parts, len(keys) * copies, which)}


def part_of_peak(
    gpu: Gpu,
    parts: Operators,
    dtype: Dtype,
    width: int,
    keys: tuple[int, ...],
    copies: int,
    per_key: float,
    which: Kernels = OWN,
) -> float:
    """Part of the matrix peak in the mean of all units, until the last has ended: of *copies*
    heads whose tiles have so many *keys* of *per_key* FLOP.

    A workgroup reaches one part in its loop over keys, and waits for its first and last bytes.
    """
    if which.flash_2:
        part, loads, each = _of_flash_2(parts, width, backward=which.backward)
    else:
        part, loads, each = *_own(parts, width, backward=which.backward), 1
    peak = gpu.compute_units.flops_per_cycle[dtype] * gpu.clock.maximum / each
    start = loads * gpu.hbm.latency * part * peak / per_key
    return part * evenness(keys, copies, gpu.compute_unit_count * each, start)


def _own(parts: Operators, width: int, *, backward: bool) -> tuple[float, int]:
    """Part of the peak in the loop over keys, and loads around it, of the GPU's own kernels."""
    way, loads = "_attention_forward", parts.attention_loads
    if backward:
        way, loads = "_attention_backward", parts.attention_gradient_loads
    own = "narrow" if width <= NARROW else "wide" if width > WIDE else ""
    part: float | None = getattr(parts, own + way) if own else None
    if part is None:
        part = parts.attention_backward if backward else parts.attention_forward
    elif own == "narrow":  # read off whole kernels
        loads = 0
    return part, loads


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
