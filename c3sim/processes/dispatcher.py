"""The workgroup dispatcher of one GPU: who gets a compute unit when one is free.

Shader engines in the same situation (same size, mask and shares of every grid) evolve alike, so one *group* stands
for all of them. A grid's workgroups wait in the queue of the engine that the rotation gave them; a free compute unit
goes to the waiting grid with the highest priority, then the earliest launch. Nothing is pre-empted.

When one grid has many rounds ahead in a group and nobody else waits there, it takes several rounds as one segment;
any change in the group cuts the segment back to the round in progress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from c3sim.models.dispatch import die_shares, engine_shares, mask_by_engine
from c3sim.specs.hardware import Gpu

__all__ = ["Claim", "Dispatcher", "Grid", "Group", "GridShape"]

Mask = tuple[int, ...] | None  # enabled CU bits; None = all


@dataclass(frozen=True, slots=True)
class GridShape:
    """What decides how a grid spreads."""

    workgroups: int
    mask: Mask


@dataclass(frozen=True, slots=True)
class Claim:
    """What one workgroup needs of a compute unit."""

    lds: float
    registers: int
    waves: int


Residents = tuple[tuple[int, int], ...]  # ((grid number, workgroups), ...) on one compute unit, sorted
State = tuple[frozenset[Mask], Residents]  # masks that include the unit, who is on it


@dataclass(slots=True)
class Group:
    """*multiplicity* engines that evolve alike; counts are per engine."""

    multiplicity: int
    units: dict[State, int]
    shares: dict[GridShape, int]
    waiting: dict[int, int] = field(default_factory=dict)  # grid number -> workgroups


@dataclass(slots=True, eq=False)
class Grid:
    """A launched kernel. *placed(group, workgroups, residents)* is called for every batch that gets room."""

    name: str
    shape: GridShape
    claim: Claim
    priority: int
    placed: Callable[[Group, int], None]
    disturbed: Callable[[Group], None]
    number: int = -1


@lru_cache(maxsize=512)
def _engine_groups(
    dies: int, sizes: tuple[int, ...], rule: str, shapes: tuple[GridShape, ...]
) -> tuple[tuple[int, tuple[tuple[frozenset[Mask], int], ...], tuple[int, ...]], ...]:
    """(multiplicity, ((masks, CUs), ...), share of each shape) of engines that are alike, in order of appearance."""
    if rule == "work_conserving":
        sizes, rule = (sum(sizes),), "strict_rotation"
    total = dies * sum(sizes)
    masks = tuple(dict.fromkeys(shape.mask for shape in shapes))
    shares: list[list[tuple[int, ...]]] = []
    for shape in shapes:
        enabled = mask_by_engine(shape.mask or tuple(range(total)), dies, sizes)
        usable = [die for die in range(dies) if any(enabled[die])]
        counts = dict(zip(usable, die_shares(shape.workgroups, len(usable)), strict=True))
        shares.append(
            [
                engine_shares(rule, counts[die], sizes, enabled[die]) if die in counts else (0,) * len(sizes)
                for die in range(dies)
            ]
        )
    inside = {mask: set(mask) for mask in masks if mask is not None}
    order = [engine for row in range(max(sizes)) for engine, size in enumerate(sizes) if row < size]
    units: dict[tuple[int, int], Counter[frozenset[Mask]]] = {}
    for bit in range(total):
        where = (bit % dies, order[bit // dies])
        signature = frozenset(mask for mask in masks if mask is None or bit in inside[mask])
        units.setdefault(where, Counter())[signature] += 1
    alike: Counter[tuple[tuple[tuple[frozenset[Mask], int], ...], tuple[int, ...]]] = Counter()
    for die in range(dies):
        for engine in range(len(sizes)):
            signature_counts = tuple(sorted(units[die, engine].items(), key=lambda item: sorted(map(str, item[0]))))
            alike[signature_counts, tuple(share[die][engine] for share in shares)] += 1
    return tuple((count, cus, share) for (cus, share), count in alike.items())


class Dispatcher:
    """Compute units of one GPU and the grids that want them."""

    def __init__(self, gpu: Gpu, shapes: Sequence[GridShape]):
        self.unit = gpu.compute_units
        distinct = tuple(dict.fromkeys(shapes))
        self.groups = [
            Group(count, {(masks, ()): cus for masks, cus in units}, dict(zip(distinct, share, strict=True)))
            for count, units, share in _engine_groups(
                gpu.dies.count, tuple(gpu.dies.shader_engines), gpu.dies.dispatch, distinct
            )
        ]
        self.grids: list[Grid] = []
        self._queue: list[Grid] = []  # by priority, then launch

    def launch(self, grid: Grid) -> None:
        """Put *grid* into the queues of its engines and place what fits now."""
        grid.number = len(self.grids)
        self.grids.append(grid)
        self._queue.append(grid)
        self._queue.sort(key=lambda g: (-g.priority, g.number))
        touched = [group for group in self.groups if group.shares[grid.shape] > 0]
        for group in touched:
            self.disturb(group, grid)
            group.waiting[grid.number] = group.shares[grid.shape]
        for group in touched:
            self._fill(group)

    def disturb(self, group: Group, by: Grid) -> None:
        """Cut multi-round segments of everyone else in *group* back to the round in progress."""
        for other in self._queue:
            if other is not by:
                other.disturbed(group)

    def release(self, grid: Grid, group: Group, workgroups: int, *, refill: bool = True) -> None:
        """*workgroups* of *grid* per engine of *group* have ended."""
        left = workgroups
        for state in list(group.units):
            masks, residents = state
            here = dict(residents)
            while left > 0 and here.get(grid.number, 0) > 0 and group.units.get(state, 0) > 0:
                count = min(left, group.units[state])
                fewer = dict(here)
                fewer[grid.number] -= 1
                self._move(group, state, (masks, _packed(fewer)), count)
                left -= count
        if any(count and number != grid.number for number, count in group.waiting.items()):
            self.disturb(group, grid)
        if refill:
            self._fill(group)

    def retire(self, grid: Grid) -> None:
        """*grid* has ended; it waits for nothing any more."""
        self._queue.remove(grid)

    def alone_in(self, group: Group, grid: Grid) -> bool:
        """Whether nobody but *grid* waits in *group*."""
        return all(count == 0 or number == grid.number for number, count in group.waiting.items())

    # -- private ------------------------------------------------------------------------------------------------

    def _fill(self, group: Group) -> None:
        for grid in list(self._queue):
            waiting = group.waiting.get(grid.number, 0)
            if waiting:
                placed = self._place(group, grid, waiting)
                if placed:
                    group.waiting[grid.number] = waiting - placed
                    grid.placed(group, placed)

    def _place(self, group: Group, grid: Grid, wanted: int) -> int:
        """Put up to *wanted* workgroups on the emptiest units that have room; returns how many."""
        placed = 0
        while placed < wanted:
            rooms = [state for state in group.units if grid.shape.mask in state[0] and self._fits(state[1], grid)]
            if not rooms:
                break
            state = min(rooms, key=lambda s: sum(count for _, count in s[1]))
            count = min(wanted - placed, group.units[state])
            residents = dict(state[1])
            residents[grid.number] = residents.get(grid.number, 0) + 1
            self._move(group, state, (state[0], _packed(residents)), count)
            placed += count
        return placed

    def _fits(self, residents: Residents, grid: Grid) -> bool:
        lds, registers, waves = grid.claim.lds, grid.claim.registers, grid.claim.waves
        for number, count in residents:
            claim = self.grids[number].claim
            lds += claim.lds * count
            registers += claim.registers * count
            waves += claim.waves * count
        return lds <= self.unit.lds and registers <= self.unit.registers and waves <= self.unit.waves

    @staticmethod
    def _move(group: Group, source: State, target: State, count: int) -> None:
        group.units[source] -= count
        if not group.units[source]:
            del group.units[source]
        group.units[target] = group.units.get(target, 0) + count


def _packed(residents: dict[int, int]) -> Residents:
    return tuple(sorted((number, count) for number, count in residents.items() if count))
