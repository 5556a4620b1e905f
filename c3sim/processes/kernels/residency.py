"""Which compute units hold which workgroups, engine by engine, and how many more of them fit.

Units in the same state are counted, not listed. Where a die is one engine to the dispatch rule but
clusters must not straddle its real ones, units carry the *label* of theirs. Workgroups then go to
the engines with most room, and leave those with most of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from c3sim.models.dispatch import mask_by_engine
from c3sim.processes.kernels.shader_engine_groups import EngineTurns, Kind, Mask
from c3sim.specs.hardware import ComputeUnits, Gpu


@dataclass(frozen=True, slots=True)
class GridShape:
    """How a grid spreads. *cluster*: workgroups, a divisor of all, that start together."""

    workgroups: int
    mask: Mask
    cluster: int = 1


@dataclass(frozen=True, slots=True)
class Claim:
    """What one workgroup needs of a compute unit."""

    lds: float
    registers: int
    waves: int

    def fitting(self, unit: ComputeUnits) -> int:
        """Such workgroups that an empty compute unit has room for."""
        return self.within(unit.lds, unit.registers, unit.waves)

    def within(self, lds: float, registers: int, waves: int) -> int:
        """Such workgroups that so much of a unit has room for; what needs no LDS fits without."""
        room = min(registers // self.registers, waves // self.waves)
        return int(max(0, min(room, lds // self.lds) if self.lds else room))


#: ((grid number, workgroups), ...) on one compute unit, sorted
Residents = tuple[tuple[int, int], ...]
#: masks that include the unit and its engine, and what is on it
State = tuple[Kind, Residents]


@dataclass(slots=True, eq=False)
class EngineGroup:
    """*multiplicity* shader engines that evolve alike; counts are per engine."""

    multiplicity: int
    units: dict[State, int]
    turns: dict[GridShape, EngineTurns]
    # grid number -> places of its order dispatched so far
    assigned: dict[int, int] = field(default_factory=dict)

    def units_for(self, mask: Mask) -> int:
        return sum(count for ((masks, _), _), count in self.units.items() if mask in masks)


class Residency:
    """Occupies and vacates units; grids are known by number, in the order of *claims*."""

    def __init__(self, unit: ComputeUnits, in_turns: bool = False):
        """*in_turns*: engines with a label get equal numbers, not those with most room more."""
        self.unit, self.share = unit, take_equally if in_turns else take_from_fullest
        self.claims: list[Claim] = []
        self._fits: dict[tuple[int, Residents], int] = {}

    def rooms(self, group: EngineGroup, mask: Mask, number: int) -> dict[int, int]:
        """Engine label -> workgroups of grid *number* with that *mask* that it has room for now."""
        rooms = dict[int, int]()
        for ((masks, label), residents), count in group.units.items():
            if mask in masks:
                rooms[label] = rooms.get(label, 0) + count * self._fitting(residents, number)
        return rooms

    def _fitting(self, residents: Residents, number: int) -> int:
        """How many more workgroups of grid *number* fit on a unit with *residents*."""
        fitting = self._fits.get((number, residents))
        if fitting is None:
            fitting = self._fits[number, residents] = self._beside(residents, self.claims[number])
        return fitting

    def _beside(self, residents: Residents, claim: Claim) -> int:
        """Workgroups with that *claim* that fit beside *residents*."""
        lds, registers, waves = self.unit.lds, self.unit.registers, self.unit.waves
        for number, count in residents:
            other = self.claims[number]
            lds -= other.lds * count
            registers -= other.registers * count
            waves -= other.waves * count
        return claim.within(lds, registers, waves)

    def occupy(self, group: EngineGroup, number: int, shape: GridShape, workgroups: int) -> int:
        """Put them on the engines with most room; returns on how many units the grid is new."""
        rooms, size = self.rooms(group, shape.mask, number), shape.cluster
        if workgroups == sum(rooms.values()):
            return self._fill(group, number, shape.mask)
        taken = self.share(
            {label: room // size for label, room in rooms.items()}, workgroups // size
        )
        return sum(
            self._place(group, number, shape.mask, label, places * size)
            for label, places in taken.items()
        )

    def _fill(self, group: EngineGroup, number: int, mask: Mask) -> int:
        """Put as many on every unit as it has room for; returns on how many units it is new."""
        fresh, kept, filled = 0, dict[State, int](), dict[State, int]()
        for state, count in group.units.items():
            kind, residents = state
            fitting = self._fitting(residents, number) if mask in kind[0] else 0
            if not fitting:
                kept[state] = count
                continue
            if not residents or residents[-1][0] < number:
                fresh += count
                state = (kind, (*residents, (number, fitting)))
            else:
                here = dict(residents)
                fresh += 0 if number in here else count
                state = (kind, _packed({**here, number: here.get(number, 0) + fitting}))
            filled[state] = filled.get(state, 0) + count
        group.units = _merged(kept, filled)
        return fresh

    def _place(
        self, group: EngineGroup, number: int, mask: Mask, label: int, workgroups: int
    ) -> int:
        """Put them on the emptiest units of engine *label*; returns on how many it is new."""
        fresh = 0
        while workgroups > 0:
            open_states = [
                s
                for s in group.units
                if s[0][1] == label and mask in s[0][0] and self._fitting(s[1], number)
            ]
            state = min(open_states, key=_filled)
            count, times = min(workgroups, group.units[state]), 1
            if len(open_states) == 1:  # units that are alike stay so: several turns at once
                times = max(1, min(self._fitting(state[1], number), workgroups // count))
            residents = dict(state[1])
            fresh += 0 if number in residents else count
            residents[number] = residents.get(number, 0) + times
            _move(group, state, (state[0], _packed(residents)), count)
            workgroups -= times * count
        return fresh

    def vacate(self, group: EngineGroup, number: int, cluster: int, workgroups: int) -> None:
        """Take *workgroups* of grid *number* off the engines of *group* that have most of them."""
        kept, left, here = dict[State, int](), dict[State, int](), 0
        for state, units in group.units.items():
            count = next((count for n, count in state[1] if n == number), 0)
            if not count:
                kept[state] = units
                continue
            here += count * units
            without = (state[0], tuple(each for each in state[1] if each[0] != number))
            left[without] = left.get(without, 0) + units
        if workgroups == here:  # all of the grid
            group.units = _merged(kept, left)
            return
        labels = {label for (_, label), _ in group.units}
        if len(labels) == 1:
            self._take_off(group, number, labels.pop(), workgroups)
            return
        held = dict[int, int]()
        for ((_, label), residents), count in group.units.items():
            held[label] = held.get(label, 0) + count * dict(residents).get(number, 0)
        clusters = {label: count // cluster for label, count in held.items()}
        leaving = take_from_fullest(clusters, min(workgroups // cluster, sum(clusters.values())))
        taken = {label: places * cluster for label, places in leaving.items()}
        rest = {label: count - taken.get(label, 0) for label, count in held.items()}
        for label, count in take_from_fullest(rest, workgroups - sum(taken.values())).items():
            taken[label] = taken.get(label, 0) + count  # a cluster need not end together
        for label, count in taken.items():
            self._take_off(group, number, label, count)

    def _take_off(self, group: EngineGroup, number: int, label: int, workgroups: int) -> None:
        """Take *workgroups* of grid *number* off the fullest units of engine *label*."""
        while workgroups > 0:
            held = [
                s for s in group.units if s[0][1] == label and any(n == number for n, _ in s[1])
            ]
            state = max(held, key=_filled)
            residents = dict(state[1])
            count, times = min(workgroups, group.units[state]), 1
            if len(held) == 1:
                times = max(1, min(residents[number], workgroups // count))
            residents[number] -= times
            _move(group, state, (state[0], _packed(residents)), count)
            workgroups -= times * count


def usable_cluster(gpu: Gpu, mask: Mask, workgroups: int, size: int) -> int:
    """*size*, or 1 where clusters of it cannot be launched: they do not divide the grid, or the
    engines that *mask* leaves.

    (Libraries ask how many clusters fit before they launch, and launch without where it is none.)
    """
    if size == 1 or workgroups % size:
        return 1
    if mask is None:
        return size
    enabled = mask_by_engine(mask, gpu.dies.count, tuple(gpu.dies.shader_engines))
    return 1 if any(units % size for die in enabled for units in die) else size


def take_from_fullest(have: dict[int, int], wanted: int) -> dict[int, int]:
    """Take *wanted* in all from those that *have* most, so that they end level; ties to the first.
    Zeros are left out. Raises ValueError when there are not so many.
    """
    if len(have) == 1 and wanted <= sum(have.values()):
        return {label: wanted for label in have if wanted}
    if wanted > sum(have.values()):
        raise ValueError(f"{wanted} wanted of {sum(have.values())}")
    most = max(have.values(), default=0)
    level = most - bisect_left(
        range(most), wanted, key=lambda down: sum(max(0, c - most + down) for c in have.values())
    )
    taken = {label: max(0, count - level) for label, count in have.items()}
    over = sum(taken.values()) - wanted
    for label in reversed(have):  # the last ones of those at the level keep one more
        if over and taken[label]:
            taken[label] -= 1
            over -= 1
    return {label: count for label, count in taken.items() if count}


def take_equally(have: dict[int, int], wanted: int) -> dict[int, int]:
    """Take *wanted* in all in equal turns, as far as each has any; the first ones get the odd turn.
    Zeros are left out. Raises ValueError when there are not so many.
    """
    if wanted > sum(have.values()):
        raise ValueError(f"{wanted} wanted of {sum(have.values())}")
    most = max(have.values(), default=0)
    turns = bisect_right(
        range(1, most + 1), wanted, key=lambda turn: sum(min(c, turn) for c in have.values())
    )
    taken = {label: min(count, turns) for label, count in have.items()}
    over = wanted - sum(taken.values())
    for label, count in have.items():
        if over and count > turns:
            taken[label] += 1
            over -= 1
    return {label: count for label, count in taken.items() if count}


def _filled(state: State) -> int:
    """Workgroups on a unit in *state*."""
    return sum(count for _, count in state[1])


def _move(group: EngineGroup, source: State, target: State, count: int) -> None:
    group.units[source] -= count
    if not group.units[source]:
        del group.units[source]
    group.units[target] = group.units.get(target, 0) + count


def _merged(kept: dict[State, int], changed: dict[State, int]) -> dict[State, int]:
    """Units by state: those that *changed* behind the others."""
    for state, count in changed.items():
        kept[state] = kept.get(state, 0) + count
    return kept


def _packed(residents: dict[int, int]) -> Residents:
    return tuple(sorted((number, count) for number, count in residents.items() if count))
