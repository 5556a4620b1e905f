"""What unfinished stores to peers do to the other kernels of a GPU (models/stores.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from c3sim.machine.traffic import Traffic
from c3sim.models.stores import kept_share
from c3sim.specs.hardware import Gpu

if TYPE_CHECKING:
    from c3sim.machine.state import GpuState


class StoreLoad(NamedTuple):
    """What a flow of stores asks of links and dies, per unit of its progress."""

    port_time: float  # s of the fullest link
    release_time: float  # s in which a die makes releases
    release_hold: float  # share of the die's other traffic that stands still in them


def store_load(port_time: float, traffic: Traffic) -> StoreLoad:
    """Of a flow with that *traffic*."""
    return StoreLoad(port_time, traffic.releasing, traffic.release_hold)


def kept(gpu: Gpu, storing: Iterable[tuple[StoreLoad, float, float]]) -> float:
    """Share of its rate that a kernel keeps beside *storing* flows: (load, units/s that it offers,
    compute units). Dies without a storing workgroup go on as they were.
    """
    stores = gpu.remote_stores
    overload, held, units = 0.0, 0.0, 0.0
    for load, offered, compute_units in storing:
        asked = offered * load.port_time
        overload += asked
        units += compute_units
        held += offered / max(1.0, asked) * load.release_time * load.release_hold
    touched = min(1.0, units / gpu.dies.count)
    share = kept_share(stores.local_share if stores else None, overload)
    share *= 1.0 - min(1.0, held / (touched * gpu.dies.count)) if touched else 1.0
    return 1.0 - touched * (1.0 - share)


def held_by_stores(cap: Callable[[GpuState], float]) -> Callable[[GpuState], float]:
    """*cap*, of a kernel whose requests wait behind stores."""
    return lambda state: cap(state) * state.kept
