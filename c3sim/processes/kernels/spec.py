"""What a kernel is to dispatcher and clock: tiles, their costs, where the next one comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.processes.kernels.residency import Claim


@dataclass(frozen=True, slots=True)
class TileCost:
    """What one tile costs a workgroup."""

    rate: Callable[[GpuState], float]  # tiles/s
    traffic: Traffic


#: Cost of a tile with so many workgroups of the kernel on its compute unit, and on the GPU.
CostOfTile = Callable[[int, int], TileCost]
#: The same of tiles whose results go elsewhere than others'; third, of how many that now run.
CostOfPart = Callable[[int, int, int], TileCost]
#: Calls back once this share of the tiles that a kernel waits for has finished.
Awaited = Callable[[float, Callable[[], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSpec:
    """A kernel as the dispatcher sees it."""

    tiles: int
    schedule: str
    claim: Claim
    residents: int  # workgroups that share a compute unit
    cost: CostOfTile
    setup: float = 0.0  # s before the grid is launched
    fault: float = 0.0  # s from the first workgroup's start until their parameters are there
    own_tiles: int = 1  # of each workgroup of a dynamic persistent grid
    # in their order, tiles that cost something else: (tiles up to the last of them, cost)
    parts: tuple[tuple[int, CostOfPart], ...] = ()
    # several rounds may be one segment (not when a task waits for tiles)
    fold_rounds: bool = True
    # the same where engines are not filled in one order, each by itself
    fold_any_order: bool = False
    # parts of a tile, each with the cost at its own begin (where rounds are not folded)
    pieces: int = 1
