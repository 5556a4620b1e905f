"""Moves between states of the units are worked out once, whatever grids come after one another."""

from __future__ import annotations

import pytest

from c3sim.processes.kernels import residency as residency_module
from c3sim.processes.kernels.residency import Claim, EngineGroup, GridShape, Residency

UNIT = Claim(lds=64.0, registers=64, waves=8)
SMALL, LARGE = Claim(lds=8.0, registers=8, waves=1), Claim(lds=64.0, registers=64, waves=8)


def group() -> EngineGroup:
    """An engine of 4 empty units."""
    return EngineGroup(1, {((frozenset([None]), 0), ()): 4}, {})  # type: ignore[dict-item]


def test_numbers_come_back_when_a_grid_has_ended() -> None:
    """The same claim beside nothing is the same number; beside itself it is another."""
    residency = Residency(UNIT)
    first = residency.number(SMALL, 0)
    assert residency.number(SMALL, 0) == first
    second = residency.number(SMALL, 1)
    other = residency.number(LARGE, 0)
    assert len({first, second, other}) == 3
    assert [residency.claims[number] for number in (first, second, other)] == [SMALL, SMALL, LARGE]


def test_a_remembered_move_leads_where_the_first_one_led() -> None:
    residency, shape = Residency(UNIT), GridShape(6, None)
    number = residency.number(SMALL, 0)
    ends = []
    for _ in range(3):
        one = group()
        fresh = residency.occupy(one, number, shape, 6)
        held = dict(one.units)
        residency.vacate(one, number, 1, 6)
        ends.append((fresh, held, one.units))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][0] == 4  # of 6 workgroups on 4 units, 4 come to an empty one
    assert sum(count for state, count in ends[0][2].items() if not state[1]) == 4


def test_states_of_several_groups_do_not_mix() -> None:
    residency, shape = Residency(UNIT), GridShape(4, None)
    number, beside = residency.number(LARGE, 0), residency.number(SMALL, 0)
    one, other = group(), group()
    residency.occupy(one, number, shape, 4)
    assert residency.rooms(one, None, beside) == {0: 0}
    assert residency.rooms(other, None, beside) == {0: 32}


def test_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for two states, a group that is half full goes on as it was."""
    monkeypatch.setattr(residency_module, "REMEMBERED", 2)
    residency = Residency(UNIT)
    number = residency.number(SMALL, 0)
    one, other = group(), group()
    residency.occupy(one, number, GridShape(6, None), 6)
    for workgroups in (1, 2, 3, 5):
        residency.occupy(other, number, GridShape(workgroups, None), workgroups)
    residency.vacate(one, number, 1, 6)
    assert residency.rooms(one, None, number) == {0: 4 * 8}
    assert residency.rooms(other, None, number) == {0: 4 * 8 - 11}
