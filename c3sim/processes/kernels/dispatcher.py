"""The workgroup dispatcher of one GPU: which grid gets a compute unit when one is free.

Shader engines in the same situation (same size, mask and turns of every grid) evolve alike, so one
:class:`EngineGroup` stands for all of them. A grid is dispatched along its rotation
(models/dispatch.py) as far as its engines have room; with an in-order rule the first engine without
room stops it on every die. Grids are served by priority, then by launch; nothing is pre-empted.

A grid may come in *clusters*: workgroups that start together in one engine. A place of the order
then takes a whole cluster, and an engine has room for whole clusters only.

Workgroups end one by one: what one leaves free is filled with those that wait before the next one
ends. So few workgroups that waited for larger ones stay on few units, where a launch on free units
spreads them.

What is placed at one instant is one *batch*. A grid with many rounds ahead takes several of them in
one batch while nobody waits that is served before it; one that is, or room that comes free, cuts it
back to the round in progress. So a kernel of many short workgroups gives its places back as they
end: to one of higher priority at the next round, to one behind it after the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from heapq import heappop, heappush
from typing import Any

from c3sim.models.dispatch import RULES
from c3sim.models.unit_port import NOBODY, Company
from c3sim.processes.kernels.dealing import EngineTurns, engine_groups
from c3sim.processes.kernels.floor import Floor
from c3sim.processes.kernels.residency import Claim, EngineGroup, GridShape, Residency
from c3sim.processes.kernels.waiting import Waiting
from c3sim.spec.hardware import Gpu

#: Fewer rounds than these are not worth one segment (a cut costs more than the events it saves).
FOLDED_ROUNDS = 6
#: Relative: rounds are as large as another one where turns of engines differ by no more.
ALIKE = 0.02


@cache
def residency_of(unit: Claim, in_turns: bool) -> Residency:
    """One for all GPUs and runs with such units: it remembers moves, the groups have the state."""
    return Residency(unit, in_turns)


def engines_of(gpu: Gpu, shapes: Sequence[GridShape]) -> tuple[Any, ...]:
    """What decides which engines of *gpu* are alike to grids of these *shapes*."""
    grids = [(shape.workgroups // shape.cluster, shape.mask, shape.cluster) for shape in shapes]
    dies = gpu.dies
    return dies.count, tuple(dies.shader_engines), dies.first_engine, dies.dispatch, tuple(grids)


@dataclass(slots=True, eq=False)
class Batch:
    """Workgroups placed at one instant, for *rounds* rounds one after the other."""

    parts: list[tuple[EngineGroup, int]]  # workgroups on each engine of a group
    ends: list[int]  # places of each die's order: where the first round starts, where each stops
    sizes: list[int]  # workgroups of each round, over all engines
    units: int
    kept: float = 0.0  # LDS of a unit that others have, or had until its workgroups got room

    @property
    def rounds(self) -> int:
        return len(self.ends) - 1

    @property
    def workgroups(self) -> int:
        """Workgroups at a time, in the mean."""
        return round(sum(self.sizes) / len(self.sizes))

    def tiles(self, rounds: int) -> int:
        """Workgroups of the first *rounds* rounds."""
        return sum(self.sizes[:rounds])


@dataclass(slots=True, eq=False)
class Grid:
    """A launched kernel. *placed(batch)*: it has room; *cut()*: shorten long batches, None where it
    never has any. *foldable*: it has them of the dispatcher alone. *joined()*: others have
    come to its units, or left them; None where that is nothing to it. *short*: many of its
    workgroups end while one is launched, so what waited for them spreads.
    """

    name: str
    shape: GridShape
    claim: Claim
    priority: int
    foldable: bool
    placed: Callable[[Batch], None]
    cut: Callable[[], None] | None
    joined: Callable[[], None] | None = None
    short: bool = False
    turns: list[EngineTurns] = field(default_factory=list)  # of each group of engines
    number: int = -1  # for the residency, once it has room
    given: list[int] = field(default_factory=list)  # places dispatched, by group of engines
    pointer: int = 0  # places of each die's order dispatched
    last: int = 0  # places in all
    resident: int = 0  # workgroups that have room now
    batches: int = 0  # instants at which workgroups got room
    order: tuple[int, int] = (0, -1)  # less for grids that are served before


@dataclass(slots=True, eq=False)
class Taken:
    """Room that a grid takes at one instant, *rooms* before that: by group of engines the places
    that each of them has room for.
    """

    rooms: list[int]
    stop: int  # place of each die's order
    given: list[int]  # places dispatched since the grid came, by group
    parts: list[tuple[int, int]]  # (group, workgroups on each engine)
    workgroups: int
    units: int
    # further rounds along the order, once asked for: places where each stops, workgroups of each
    along: tuple[list[int], list[int]] | None = None


class Dispatcher:
    """Compute units of one GPU and the grids that want them."""

    def __init__(
        self, gpu: Gpu, shapes: Sequence[GridShape], at_once: Callable[[Callable[[], None]], None]
    ):
        """*at_once(call)* calls after all else at this instant: ties go by priority."""
        equal = RULES[gpu.dies.dispatch].equal_turns
        unit = gpu.compute_units
        room = Claim(unit.lds, unit.registers, unit.waves)
        self.residency = residency_of(room, equal)
        self.at_once = at_once
        self.in_order = RULES[gpu.dies.dispatch].in_order
        distinct = tuple(dict.fromkeys(shapes))
        engines = engines_of(gpu, distinct)
        groups = engine_groups(*engines)
        self.groups = [
            EngineGroup(
                count,
                {(kind, ()): cus for kind, cus in units},
                dict(zip(distinct, turns, strict=True)),
                place,
            )
            for place, (count, units, turns) in enumerate(groups)
        ]
        self.turns = {shape: [group.turns[shape] for group in self.groups] for shape in distinct}
        self.unit_count = sum(g.multiplicity * sum(g.units.values()) for g in self.groups)
        self._places: dict[tuple[GridShape, int], int] = {}
        self.floor = Floor(self.residency, self.groups, *engines)
        self.launched = 0
        self._waiting = Waiting[Grid]()
        self._long: dict[Grid, None] = {}  # resident ones that may have several rounds ahead
        self._copies: Counter[Claim] = Counter()  # most grids at once with this claim
        self._free: dict[Claim, list[int]] = {}  # numbers of those that have ended
        self._fills = 0
        self._sharing: dict[Grid, None] = {}  # resident ones whose rate is that beside others
        self._told = True  # of all that have come and gone
        self._resident: dict[Grid, None] = {}

    def places(self, shape: GridShape, residents: int) -> int:
        """Workgroups of a grid of *shape* that run at once with the units of its mask to itself,
        *residents* of them on each.
        """
        found = self._places.get((shape, residents))
        if found is None:
            found = 0
            for group, turn in zip(self.groups, self.turns[shape], strict=True):
                here = group.units_for(shape.mask) if turn.weight else 0
                clusters = min(turn.all, here * residents // shape.cluster)
                found += group.multiplicity * clusters * shape.cluster
            self._places[shape, residents] = found
        return found

    def launch(self, grid: Grid) -> None:
        """Queue *grid*; it is placed once all that arrives at this instant is queued."""
        grid.order = (-grid.priority, self.launched)
        self.launched += 1
        grid.turns = self.turns[grid.shape]
        grid.last = max(turn.total for turn in grid.turns)
        self._sort_in(grid)
        self._cut_others(grid, arrives=True)
        self.at_once(self.fill)

    def _take_number(self, grid: Grid) -> None:
        """Give *grid* the least number of its claim that no other has."""
        free = self._free.setdefault(grid.claim, [])
        if not free:
            free.append(self.residency.number(grid.claim, self._copies[grid.claim]))
            self._copies[grid.claim] += 1
        grid.number, grid.given = heappop(free), [0] * len(self.groups)

    def _give_back_number(self, grid: Grid) -> None:
        heappush(self._free[grid.claim], grid.number)
        grid.number = -1

    def waits(self, grid: Grid) -> bool:
        """True if *grid* has workgroups that got no room yet."""
        return grid.pointer < grid.last

    def units(self, grid: Grid) -> int:
        """Compute units that have workgroups of *grid* now."""
        with_it, number = self.residency.units_with, grid.number
        return self.floor.ask(
            ("units", number),
            lambda groups: sum([g.multiplicity * with_it(g, number) for g in groups]),
        )

    def company(self, grid: Grid) -> Company:
        """What others ask of the port of a unit with *grid*, in the mean."""
        units, number = self.units(grid), grid.number

        def of_all(groups: Sequence[EngineGroup]) -> Company:
            found = NOBODY
            for group in groups:
                here = self.residency.company(group, number)
                found = found.beside(here, group.multiplicity / units)
            return found

        return self.floor.ask(("company", number), of_all)

    def _tell(self) -> None:
        """Tell those that share units, once all that comes and goes at this instant has."""
        if not (self._sharing and self._told):
            return
        self._told = False

        def tell() -> None:
            self._told = True
            for grid in list(self._sharing):
                if grid.joined is not None and grid.resident:
                    grid.joined()

        self.at_once(tell)

    def cut_back(self, grid: Grid, batch: Batch, rounds: int) -> None:
        """*batch* keeps its first *rounds* rounds; the others will be dispatched again, later."""
        dropped = batch.rounds - rounds
        del batch.ends[rounds + 1 :], batch.sizes[rounds:]
        grid.pointer = batch.ends[-1]
        if self.in_order:
            self._assign(grid)
        else:
            for group, count in batch.parts:
                grid.given[group.place] -= dropped * count // grid.shape.cluster
        self._sort_in(grid)

    def _sort_in(self, grid: Grid) -> None:
        """Let *grid* wait among those that would take room at the same places, or wait no more."""
        if self.waits(grid):
            given = tuple(grid.given if grid.number >= 0 else [0] * len(self.groups))
            self._waiting.add(grid, (grid.claim, grid.shape, grid.pointer, given))
        else:
            self._waiting.remove(grid)

    def release(self, grid: Grid, parts: Sequence[tuple[EngineGroup, int]]) -> None:
        """Workgroups of *grid* have ended: (group, workgroups per engine)."""
        number, size = grid.number, grid.shape.cluster
        leaving = tuple([(group.place, count) for group, count in parts])

        def leave(groups: Sequence[EngineGroup]) -> int:
            for place, count in leaving:
                self.residency.vacate(groups[place], number, size, count)
            return sum([groups[place].multiplicity * count for place, count in leaving])

        grid.resident -= self.floor.move(("leave", number, size, leaving), leave)
        if not grid.resident:
            self._long.pop(grid, None)
            self._sharing.pop(grid, None)
            self._resident.pop(grid, None)
        self._tell()
        self._cut_others(grid)  # they may use the room now
        self.fill(behind=grid)

    def retire(self, grid: Grid) -> None:
        """*grid* has ended."""
        self._give_back_number(grid)
        # calls of its kernel: no circle is left for the garbage collector
        del grid.placed, grid.cut, grid.joined

    def fill(self, behind: Grid | None = None) -> None:
        """Place what has room, grid by grid; *behind*: whose workgroups have ended."""
        self._fills += 1
        this, launched = self._fills, self.launched
        for grid in self._waiting.served():
            if grid.order[1] < launched:
                self._advance(grid, behind)
            if self._fills > this:  # some ended at once, and what they left is filled
                return

    def _together(self, grid: Grid, behind: Grid | None) -> int:
        """Workgroups of *grid* that have room on a unit where all but one of those of another grid,
        *behind* which they waited, still are.
        """
        if behind is None or grid is behind or (behind.short and not self.waits(behind)):
            return 1
        unit, claim = self.residency.unit, behind.claim
        others = max(0, claim.within(unit.lds, unit.registers, unit.waves) - 1)
        if behind.batches == 1 and not self.waits(behind):
            others = 0  # those of a unit began together, and share it until they end together
        return max(
            1,
            grid.claim.within(
                unit.lds - others * claim.lds,
                unit.registers - others * claim.registers,
                unit.waves - others * claim.waves,
            ),
        )

    def _cut_others(self, but: Grid, *, arrives: bool = False) -> None:
        """Cut back all but one; where that *arrives*, those that it takes room from: in order, of
        all; else of those that are served behind it.
        """
        for grid in list(self._long):
            behind = self.in_order or but.order < grid.order
            if grid is not but and grid.cut and (behind or not arrives):
                grid.cut()

    def _kept(self, grid: Grid, behind: Grid | None) -> float:
        """LDS of a unit with *grid* that others have, in the mean, or had until workgroups *behind*
        which it waited ended: a unit divides its memory anew when it is empty.
        """
        if not self.residency.has_lds:
            return 0.0
        beside, number = self.residency.lds_beside, grid.number
        lds = self.floor.ask(
            ("lds", number),
            lambda groups: sum([g.multiplicity * beside(g, number) for g in groups]),
        )
        kept = lds / max(1, self.units(grid))
        if behind is None or behind is grid:
            return kept
        unit, claim = self.residency.unit, behind.claim
        return max(kept, claim.keeps(claim.within(unit.lds, unit.registers, unit.waves)))

    def _advance(self, grid: Grid, behind: Grid | None) -> None:
        """Dispatch *grid* along its order as far as there is room, *behind* workgroups that ended,
        if any.
        """
        newcomer = grid.number < 0
        if newcomer:
            self._take_number(grid)
        together, start = self._together(grid, behind), grid.pointer
        taken = self.floor.move(
            ("take", grid.shape, grid.number, together, start, *grid.given),
            partial(self._take, grid, together),
        )
        grid.pointer, grid.given = taken.stop, [*taken.given]
        if not taken.parts:
            if newcomer:
                self._give_back_number(grid)
            return
        grid.resident += taken.workgroups
        parts = [(self.groups[place], count) for place, count in taken.parts]
        batch = Batch(parts, [start, taken.stop], [taken.workgroups], taken.units)
        batch.kept = self._kept(grid, behind)
        if grid.foldable:
            self._take_ahead(grid, batch, taken)
        grid.batches += batch.rounds
        if grid.cut and (batch.rounds > 1 or not grid.foldable):
            self._long[grid] = None
        self._enter(grid)
        grid.placed(batch)

    def _take(self, grid: Grid, together: int, groups: Sequence[EngineGroup]) -> Taken:
        """Give *grid* the room that *groups* have now, so many workgroups *together*."""
        size, number, shape = grid.shape.cluster, grid.number, grid.shape
        rooms = [self.residency.places(group, shape, number) for group in groups]
        taken = Taken(rooms, self._stop(grid, rooms, grid.given), [*grid.given], [], 0, 0)
        for place, (group, turn, room) in enumerate(zip(groups, grid.turns, rooms, strict=True)):
            count = room and min(room, turn.count(taken.stop) - grid.given[place])
            if count > 0:
                fresh = self.residency.occupy(group, number, shape, count * size, together=together)
                taken.units += group.multiplicity * fresh
                taken.workgroups += group.multiplicity * count * size
                taken.given[place] += count
                taken.parts.append((place, count * size))
        pairs = zip(grid.turns, taken.given, strict=True)
        if not self.in_order and any(turn.all > given for turn, given in pairs):
            taken.stop = grid.pointer  # some workgroups still wait
        return taken

    def _enter(self, grid: Grid) -> None:
        """Count *grid* among those that have places."""
        self._sort_in(grid)
        if grid.joined:
            self._sharing[grid] = None
        self._resident[grid] = None
        if len(self._resident) > 1:
            self._tell()

    def _stop(self, grid: Grid, rooms: list[int], given: list[int]) -> int:
        """The place in each die's order at which *grid* stops: the first one of its places whose
        engine has no room, or the end. *given*: places each engine of the groups has been given.
        """
        if not self.in_order:
            return grid.last
        places = [
            turn.place(before + room)
            for turn, room, before in zip(grid.turns, rooms, given, strict=True)
            if before + room < turn.all
        ]
        return max(grid.pointer, min([grid.last, *places]))

    def _take_ahead(self, grid: Grid, batch: Batch, taken: Taken) -> None:
        """Join further rounds to *batch*, unless somebody waits who would get room between them."""
        if not self.in_order:
            if self._waiting.first() is grid:
                self._repeat_round(grid, batch)
        elif len(self._waiting) == 1 and grid.resident == batch.workgroups:
            self._take_rounds_along(grid, batch, taken)

    def _take_rounds_along(self, grid: Grid, batch: Batch, taken: Taken) -> None:
        """Join rounds about as large as the first, on as many units, to one segment; each has every
        unit free.
        """
        if grid.shape.workgroups < FOLDED_ROUNDS * taken.workgroups:
            return
        if taken.along is None:
            taken.along = self._rounds_along(grid, batch.ends[0], taken)
        ends, sizes = taken.along
        batch.ends += ends
        batch.sizes += sizes
        grid.pointer = batch.ends[-1]
        if batch.rounds >= FOLDED_ROUNDS:
            self._assign(grid)
        elif batch.rounds > 1:
            self.cut_back(grid, batch, 1)

    def _rounds_along(self, grid: Grid, begin: int, taken: Taken) -> tuple[list[int], list[int]]:
        """Rounds as *taken*, which began at a place, behind it."""
        rooms, given, first, pointer = taken.rooms, taken.given, taken.workgroups, grid.pointer
        units = self._units_of(grid, rooms, [turn.count(begin) for turn in grid.turns], given)
        ends, sizes = list[int](), list[int]()
        while self.waits(grid):
            stop = self._stop(grid, rooms, given)
            reached = [turn.count(stop) for turn in grid.turns]
            size = self._workgroups(grid, given, reached)
            here = self._units_of(grid, rooms, given, reached)
            if abs(size - first) > ALIKE * first or abs(here - units) > ALIKE * units:
                break
            ends.append(stop)
            sizes.append(size)
            grid.pointer, given = stop, reached
        grid.pointer = pointer
        return ends, sizes

    def _repeat_round(self, grid: Grid, batch: Batch) -> None:
        """Join as many rounds to the first as every engine has left of its size: without an order
        between engines, each of them goes on by itself.
        """
        size = grid.shape.cluster
        left = [turn.all - given for turn, given in zip(grid.turns, grid.given, strict=True)]
        more = min(left[group.place] // (count // size) for group, count in batch.parts)
        more = more * batch.sizes[0] // grid.resident
        if not more:
            return
        for group, count in batch.parts:
            grid.given[group.place] += more * count // size
            left[group.place] -= more * count // size
        batch.sizes *= 1 + more
        batch.ends += [batch.ends[0]] * more  # it waits as long as any engine has some left
        grid.pointer = batch.ends[-1] = batch.ends[0] if any(left) else grid.last

    def _assign(self, grid: Grid) -> None:
        """Set what each engine was given to what the order says up to the pointer."""
        grid.given = [turn.count(grid.pointer) for turn in grid.turns]

    def _workgroups(self, grid: Grid, given: list[int], reached: list[int]) -> int:
        """Workgroups of *grid* between two places of every die's order; by group of engines, the
        places that each engine was given up to them.
        """
        places = sum(
            group.multiplicity * (last - first)
            for group, first, last in zip(self.groups, given, reached, strict=True)
        )
        return places * grid.shape.cluster

    def _units_of(self, grid: Grid, rooms: list[int], given: list[int], reached: list[int]) -> int:
        """Units that these workgroups take: one for each while an engine has units with room."""
        unit, size = self.residency.unit, grid.shape.cluster
        fitting = max(1, grid.claim.within(unit.lds, unit.registers, unit.waves))
        return sum(
            group.multiplicity * min((last - first) * size, -(-room * size // fitting))
            for group, room, first, last in zip(self.groups, rooms, given, reached, strict=True)
        )
