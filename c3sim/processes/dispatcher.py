"""The workgroup dispatcher of one GPU: who gets a compute unit when one is free.

Shader engines in the same situation (same size, mask and turns of every grid) evolve alike, so one *group* stands for
all of them. A grid is dispatched along its rotation (models/dispatch.py) as far as its engines have room; with an
in-order rule the first engine without room stops it on every die. Grids are served by priority, then by launch;
nothing is pre-empted.

What is placed at one instant is one *batch*. When a grid has many equal rounds ahead and nobody else waits, a batch
takes several rounds along; a newcomer cuts it back to the round in progress.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from c3sim.models.dispatch import RULES
from c3sim.processes.engine_groups import Mask, Turn, engine_groups
from c3sim.specs.hardware import Gpu

__all__ = ["Batch", "Claim", "Dispatcher", "Grid", "GridShape", "Group"]

AHEAD = 4  # fewer equal rounds than this are not worth one segment


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


@dataclass(slots=True, eq=False)
class Group:
    """*multiplicity* engines that evolve alike; counts are per engine."""

    multiplicity: int
    units: dict[State, int]
    turns: dict[GridShape, Turn]
    assigned: dict[int, int] = field(default_factory=dict)  # grid number -> workgroups dispatched so far

    def units_for(self, mask: Mask) -> int:
        return sum(count for (masks, _), count in self.units.items() if mask in masks)


@dataclass(slots=True, eq=False)
class Batch:
    """Workgroups placed at one instant: (group, workgroups per engine); *rounds* tiles each, *places* of the order."""

    parts: list[tuple[Group, int]]
    rounds: int
    places: int

    @property
    def workgroups(self) -> int:
        return sum(group.multiplicity * count for group, count in self.parts)


@dataclass(slots=True, eq=False)
class Grid:
    """A launched kernel. *placed(batch)* is called for what gets room; *cut(grid)* asks to shorten long batches."""

    name: str
    shape: GridShape
    claim: Claim
    priority: int
    foldable: bool
    placed: Callable[[Batch], None]
    cut: Callable[[], None]
    number: int = -1
    pointer: int = 0  # places of each die's order dispatched
    last: int = 0  # places in all
    held_places: int = 0  # places of the order whose workgroups are resident


class Dispatcher:
    """Compute units of one GPU and the grids that want them."""

    def __init__(self, gpu: Gpu, shapes: Sequence[GridShape]):
        self.unit = gpu.compute_units
        self.in_order = RULES[gpu.dies.dispatch].in_order
        distinct = tuple(dict.fromkeys(shapes))
        groups = engine_groups(
            gpu.dies.count, tuple(gpu.dies.shader_engines), gpu.dies.dispatch,
            tuple((shape.workgroups, shape.mask) for shape in distinct),
        )  # fmt: skip
        self.groups = [
            Group(count, {(masks, ()): cus for masks, cus in units}, dict(zip(distinct, turns, strict=True)))
            for count, units, turns in groups
        ]
        self.grids: list[Grid] = []
        self._queue: list[Grid] = []  # by priority, then launch

    def launch(self, grid: Grid) -> None:
        """Queue *grid* and place what fits now."""
        grid.number = len(self.grids)
        grid.last = max(group.turns[grid.shape].total for group in self.groups)
        for group in self.groups:
            group.assigned[grid.number] = 0
        self.grids.append(grid)
        self._queue.append(grid)
        self._queue.sort(key=lambda g: (-g.priority, g.number))
        self._cut_others(grid)
        self.fill()

    def waits(self, grid: Grid) -> bool:
        """Whether *grid* has workgroups that got no room yet."""
        return grid.pointer < grid.last

    def give_back(self, grid: Grid, batch: Batch, rounds: int) -> None:
        """*rounds* that *batch* had taken ahead will be dispatched later instead."""
        grid.pointer -= rounds * batch.places
        for group, count in batch.parts:
            group.assigned[grid.number] -= rounds * count

    def release(self, grid: Grid, parts: Sequence[tuple[Group, int]], places: int) -> None:
        """Workgroups of *grid* have ended: (group, workgroups per engine)."""
        grid.held_places -= places
        for group, count in parts:
            self._vacate(group, grid.number, count)
        if any(other is not grid and self.waits(other) for other in self._queue):
            self._cut_others(None)
        self.fill()

    def retire(self, grid: Grid) -> None:
        """*grid* has ended."""
        self._queue.remove(grid)

    def fill(self) -> None:
        """Place what has room, grid by grid."""
        for grid in list(self._queue):
            if grid.pointer < grid.last:
                self._advance(grid)

    # -- private ------------------------------------------------------------------------------------------------

    def _cut_others(self, newcomer: Grid | None) -> None:
        for grid in self._queue:
            if grid is not newcomer:
                grid.cut()

    def _advance(self, grid: Grid) -> None:
        """Dispatch *grid* along its order as far as there is room."""
        rooms = [(group, group.turns[grid.shape], self._room(group, grid)) for group in self.groups]
        stop = grid.last
        if self.in_order:
            for group, turn, room in rooms:
                if turn.weight:
                    stop = min(stop, turn.place(group.assigned[grid.number] + room))
            stop = max(stop, grid.pointer)
        parts = []
        for group, turn, room in rooms:
            due = turn.count(min(stop, turn.total)) - group.assigned[grid.number]
            count = min(room, due)
            if count > 0:
                self._occupy(group, grid, count)
                group.assigned[grid.number] += count
                parts.append((group, count))
        if not self.in_order:  # the pointer follows the slowest engine, for bookkeeping only
            stop = grid.last if all(t.count(t.total) == g.assigned[grid.number] for g, t, _ in rooms) else grid.pointer
        if parts:
            places, grid.pointer = max(stop - grid.pointer, 0), max(stop, grid.pointer)
            grid.held_places += places
            grid.placed(self._with_rounds_ahead(grid, parts, places))

    def _with_rounds_ahead(self, grid: Grid, parts: list[tuple[Group, int]], places: int) -> Batch:
        batch = Batch(parts, 1, places)
        if not (grid.foldable and self.in_order and places):
            return batch
        if any(other is not grid and self.waits(other) for other in self._queue):
            return batch
        ahead = (grid.last - grid.pointer) // grid.held_places - 1
        if ahead >= AHEAD:
            batch.rounds += ahead
            self.give_back(grid, batch, -ahead)
        return batch

    def _room(self, group: Group, grid: Grid) -> int:
        """Workgroups of *grid* that one engine of *group* has room for now."""
        mask, room = grid.shape.mask, 0
        for (masks, residents), count in group.units.items():
            if mask in masks:
                room += count * self._fitting(residents, grid.claim)
        return room

    def _fitting(self, residents: Residents, claim: Claim) -> int:
        """How many more workgroups of *claim* fit on a unit with *residents*."""
        lds, registers, waves = self.unit.lds, self.unit.registers, self.unit.waves
        for number, count in residents:
            other = self.grids[number].claim
            lds -= other.lds * count
            registers -= other.registers * count
            waves -= other.waves * count
        return int(max(0, min(lds // claim.lds, registers // claim.registers, waves // claim.waves)))

    def _occupy(self, group: Group, grid: Grid, workgroups: int) -> None:
        """Put *workgroups* on the emptiest units of one engine that have room."""
        while workgroups > 0:
            state = min(
                (s for s in group.units if grid.shape.mask in s[0] and self._fitting(s[1], grid.claim)),
                key=lambda s: sum(count for _, count in s[1]),
            )
            count = min(workgroups, group.units[state])
            residents = dict(state[1])
            residents[grid.number] = residents.get(grid.number, 0) + 1
            _move(group, state, (state[0], _packed(residents)), count)
            workgroups -= count

    def _vacate(self, group: Group, number: int, workgroups: int) -> None:
        """Take *workgroups* of grid *number* off the fullest units of one engine."""
        while workgroups > 0:
            state = max(
                (s for s in group.units if any(n == number for n, _ in s[1])),
                key=lambda s: sum(count for _, count in s[1]),
            )
            count = min(workgroups, group.units[state])
            residents = dict(state[1])
            residents[number] -= 1
            _move(group, state, (state[0], _packed(residents)), count)
            workgroups -= count


def _move(group: Group, source: State, target: State, count: int) -> None:
    group.units[source] -= count
    if not group.units[source]:
        del group.units[source]
    group.units[target] = group.units.get(target, 0) + count


def _packed(residents: dict[int, int]) -> Residents:
    return tuple(sorted((number, count) for number, count in residents.items() if count))
