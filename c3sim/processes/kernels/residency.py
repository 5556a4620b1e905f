"""The workgroups on compute units, engine by engine, and the number of further ones that fit.

Units in the same state are counted, not listed. Where a die is one engine to the dispatch rule but
clusters must not straddle its real ones, units carry the *label* of theirs. Workgroups then go to
the engines with most room, and leave those with most of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count as naturals
from math import inf
from typing import NamedTuple

from c3sim.models.unit_port import NOBODY, Company
from c3sim.processes.kernels.dealing import EngineTurns, Kind, Mask, take_equally, take_from_fullest
from c3sim.spec.hardware import ComputeUnits

#: States that are remembered at most, a few kB each; then all are forgotten.
REMEMBERED = 5000


class GridShape(NamedTuple):
    """The spread of a grid. *cluster*: workgroups, a divisor of all, that start together."""

    workgroups: int
    mask: Mask
    cluster: int = 1


class Claim(NamedTuple):
    """Resources of a compute unit that one workgroup needs, and what it asks of the unit's port:
    bytes of *loads* under way, and bytes that it stores for each of them; one that loads nothing
    infinite, and *loads* are its stores.
    """

    lds: float
    registers: int
    waves: int
    loads: float = 0.0
    stored: float = 0.0
    set_aside: float = 0.0  # LDS of a unit that is, if that is more than its workgroups need

    def keeps(self, count: int) -> float:
        """LDS of a unit that *count* workgroups leave to nobody's lines."""
        return max(self.lds * count, self.set_aside)

    def fitting(self, unit: ComputeUnits) -> int:
        """Workgroups of this claim that an empty compute unit has room for."""
        return self.within(unit.lds, unit.registers, unit.waves)

    def within(self, lds: float, registers: int, waves: int) -> int:
        """Workgroups of this claim that fit so much of a unit; a claim without LDS needs none."""
        room, more = registers // self.registers, waves // self.waves
        if more < room:
            room = more
        if self.lds and lds // self.lds < room:
            room = int(lds // self.lds)
        return room if room > 0 else 0


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
    place: int = 0  # among the groups of its GPU
    # number of what its units hold, once that is known
    holds: int = -1

    def units_for(self, mask: Mask) -> int:
        return sum(count for ((masks, _), _), count in self.units.items() if mask in masks)


class Residency:
    """Occupies and vacates units.

    Grids are known by number: that of a claim and of how many grids with that claim are there
    already. So what the units hold comes back again and again, and each move from one such state to
    the next is worked out once.
    """

    def __init__(self, unit: Claim, in_turns: bool = False):
        """*unit*: the room of an empty one. *in_turns*: engines with a label get equal numbers, not
        those with most room more.
        """
        self.unit, self.share = unit, take_equally if in_turns else take_from_fullest
        self.claims: list[Claim] = []
        self.has_lds = False  # of any grid
        self._numbers: dict[tuple[Claim, int], int] = {}
        self._fits: dict[tuple[int, Residents], int] = {}
        self._states: dict[tuple[tuple[State, int], ...], int] = {}
        self._names = naturals()
        self._moves: dict[tuple[int, Hashable], tuple[dict[State, int], int, int]] = {}
        self._rooms: dict[tuple[int, Mask, int], dict[int, int]] = {}
        self._places: dict[tuple[int, GridShape, int], int] = {}
        self._with: dict[tuple[int, int], int] = {}
        self._lds: dict[tuple[int, int], float] = {}
        self._company: dict[tuple[int, int], Company] = {}

    def number(self, claim: Claim, copies: int) -> int:
        """The number of a grid with *claim* where there are *copies* with it already."""
        number = self._numbers.setdefault((claim, copies), len(self.claims))
        if number == len(self.claims):
            self.claims.append(claim)
            self.has_lds |= claim.lds > 0
        return number

    def _move(self, group: EngineGroup, how: Hashable, move: Callable[[], int]) -> int:
        """Bring *group* to the state that *move()* leads to *how*; returns what it returned."""
        key = (group.holds if group.holds >= 0 else self.state(group), how)
        known = self._moves.get(key)
        if known is None:
            group.units = dict(group.units)
            result = move()
            group.holds = -1
            known = self._moves[key] = (group.units, self.state(group), result)
        group.units, group.holds, result = known
        return result

    def state(self, group: EngineGroup) -> int:
        """The number of what *group* holds."""
        if group.holds < 0:
            held = tuple(group.units.items())
            if held not in self._states:
                if len(self._states) >= REMEMBERED:
                    self._forget()
                self._states[held] = next(self._names)
            group.holds = self._states[held]
        return group.holds

    def _forget(self) -> None:
        """Forget all states; groups that hold one go on under the name it had."""
        by_state = self._moves, self._rooms, self._places, self._with, self._lds, self._company
        for memory in (self._states, *by_state, self._fits):
            memory.clear()

    def rooms(self, group: EngineGroup, mask: Mask, number: int) -> dict[int, int]:
        """Engine label -> workgroups of grid *number* with that *mask* that it has room for now."""
        key = (group.holds if group.holds >= 0 else self.state(group), mask, number)
        if key not in self._rooms:
            self._rooms[key] = self._rooms_now(group, mask, number)
        return self._rooms[key]

    def places(self, group: EngineGroup, shape: GridShape, number: int) -> int:
        """Whole clusters of grid *number*, of that *shape*, that one engine has room for now."""
        key = (group.holds if group.holds >= 0 else self.state(group), shape, number)
        found = self._places.get(key)
        if found is None:
            rooms = self.rooms(group, shape.mask, number).values()
            found = self._places[key] = sum([room // shape.cluster for room in rooms])
        return found

    def units_with(self, group: EngineGroup, number: int) -> int:
        """Units of one engine of *group* that have workgroups of grid *number*."""
        key = (group.holds if group.holds >= 0 else self.state(group), number)
        found = self._with.get(key)
        if found is None:
            held = [n for (_, here), n in group.units.items() if _count(here, number)]
            found = self._with[key] = sum(held)
        return found

    def lds_beside(self, group: EngineGroup, number: int) -> float:
        """LDS that other grids set aside on one engine's units with workgroups of grid *number*."""
        key = (self.state(group), number)
        if key not in self._lds:
            claims, beside = self.claims, 0.0
            for (_, residents), count in group.units.items():
                if _count(residents, number):
                    lds = [claims[of].keeps(each) for of, each in residents if of != number]
                    beside += count * sum(lds)
            self._lds[key] = beside
        return self._lds[key]

    def company(self, group: EngineGroup, number: int) -> Company:
        """What other grids ask of the ports of one engine's units that have workgroups of grid
        *number*, all units together.
        """
        key = (self.state(group), number)
        if key not in self._company:
            found = NOBODY
            for (_, residents), count in group.units.items():
                if _count(residents, number):
                    for of, each in residents:
                        if of != number:
                            found = found.beside(self._asked(self.claims[of]), count * each)
            self._company[key] = found
        return self._company[key]

    @staticmethod
    def _asked(claim: Claim) -> Company:
        if claim.stored == inf:
            return Company(stored=claim.loads)
        waves = float(claim.waves) if claim.loads else 0.0
        return Company(claim.loads, claim.loads * claim.stored, waves)

    def _rooms_now(self, group: EngineGroup, mask: Mask, number: int) -> dict[int, int]:
        rooms = dict[int, int]()
        for ((masks, label), residents), count in group.units.items():
            if mask in masks:
                rooms[label] = rooms.get(label, 0) + count * self._fitting(residents, number)
        return rooms

    def _fitting(self, residents: Residents, number: int) -> int:
        """The number of further workgroups of grid *number* fit on a unit with *residents*."""
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

    def occupy(
        self,
        group: EngineGroup,
        number: int,
        shape: GridShape,
        workgroups: int,
        *,
        together: int = 1,
    ) -> int:
        """Put them on the engines with most room, there on the emptiest units, so many *together*
        as it fits. Returns on how many units the grid is new.
        """
        return self._move(
            group,
            (number, shape.mask, shape.cluster, workgroups, together),
            lambda: self._occupy(group, number, shape, workgroups, together),
        )

    def _occupy(
        self, group: EngineGroup, number: int, shape: GridShape, workgroups: int, together: int
    ) -> int:
        rooms, size = self.rooms(group, shape.mask, number), shape.cluster
        if workgroups == sum(rooms.values()):
            return self._fill(group, number, shape.mask)
        each = size * together
        turns = -(-workgroups // each)
        if turns > sum(room // each for room in rooms.values()):
            each, turns = size, workgroups // size
        taken = self.share({label: room // each for label, room in rooms.items()}, turns)
        fresh, left = 0, workgroups
        for label, count in taken.items():  # the last turn may be a smaller one
            places = min(left, count * each)
            fresh += self._place(group, number, shape.mask, label, places, together)
            left -= places
        return fresh

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
        self,
        group: EngineGroup,
        number: int,
        mask: Mask,
        label: int,
        workgroups: int,
        together: int,
    ) -> int:
        """Put them on the emptiest units of engine *label*, so many *together*; returns on how many
        it is new.
        """
        fresh = 0
        while workgroups > 0:
            open_states = [
                s
                for s in group.units
                if s[0][1] == label and mask in s[0][0] and self._fitting(s[1], number)
            ]
            state = min(open_states, key=_filled)
            fitting = self._fitting(state[1], number)
            each = min(together, fitting, workgroups)
            count, times = min(workgroups // each, group.units[state]), 1
            if len(open_states) == 1:  # units that are alike stay so: several turns at once
                times = max(1, min(fitting // each, workgroups // (count * each)))
            residents = dict(state[1])
            fresh += 0 if number in residents else count
            residents[number] = residents.get(number, 0) + times * each
            _shift(group, state, (state[0], _packed(residents)), count)
            workgroups -= times * each * count
        return fresh

    def vacate(self, group: EngineGroup, number: int, cluster: int, workgroups: int) -> None:
        """Take *workgroups* of grid *number* off the engines of *group* that have most of them."""
        self._move(
            group,
            (number, cluster, workgroups),
            lambda: self._vacate(group, number, cluster, workgroups),
        )

    def _vacate(self, group: EngineGroup, number: int, cluster: int, workgroups: int) -> int:
        kept, left, here = dict[State, int](), dict[State, int](), 0
        for state, units in group.units.items():
            count = _count(state[1], number)
            if not count:
                kept[state] = units
                continue
            here += count * units
            without = (state[0], tuple([each for each in state[1] if each[0] != number]))
            left[without] = left.get(without, 0) + units
        if workgroups == here:  # all of the grid
            group.units = _merged(kept, left)
            return 0
        labels = {label for (_, label), _ in group.units}
        if len(labels) == 1:
            self._take_off(group, number, labels.pop(), workgroups)
            return 0
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
        return 0

    def _take_off(self, group: EngineGroup, number: int, label: int, workgroups: int) -> None:
        """Take *workgroups* of grid *number* off the fullest units of engine *label*."""
        while workgroups > 0:
            held = [s for s in group.units if s[0][1] == label and _count(s[1], number)]
            state = max(held, key=_filled)
            residents = dict(state[1])
            count, times = min(workgroups, group.units[state]), 1
            if len(held) == 1:
                times = max(1, min(residents[number], workgroups // count))
            residents[number] -= times
            _shift(group, state, (state[0], _packed(residents)), count)
            workgroups -= times * count


def _count(residents: Residents, number: int) -> int:
    """Workgroups of grid *number* among *residents*."""
    place = bisect_left(residents, (number, 0))
    here = residents[place : place + 1]
    return here[0][1] if here and here[0][0] == number else 0


def _filled(state: State) -> int:
    """Workgroups on a unit in *state*."""
    return sum([count for _, count in state[1]])


def _shift(group: EngineGroup, source: State, target: State, count: int) -> None:
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
    return tuple(sorted([here for here in residents.items() if here[1]]))
