"""Engines of a GPU together: what is remembered of one GPU is no state of another. By hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from c3sim.processes.kernels import floor as floor_module
from c3sim.processes.kernels.floor import Floor
from c3sim.processes.kernels.residency import Claim, EngineGroup, GridShape, Residency

UNIT = Claim(lds=64.0, registers=64, waves=8)
SMALL = Claim(lds=8.0, registers=8, waves=1)


def groups() -> list[EngineGroup]:
    """Two engines of 4 empty units, and one of 2."""
    empty = (frozenset([None]), 0), ()
    return [EngineGroup(2, {empty: 4}, {}), EngineGroup(1, {empty: 2}, {}, 1)]


def occupied(floor: Floor, residency: Residency, place: int, workgroups: int) -> int:
    """Put so many on the engines of a group; on how many units of each that was new."""
    number, shape = residency.number(SMALL, 0), GridShape(workgroups, None)

    def move(all_groups: Sequence[EngineGroup]) -> int:
        return residency.occupy(all_groups[place], number, shape, workgroups)

    return floor.move(("occupy", place, workgroups), move)


@pytest.mark.parametrize("remembered", [1, 1000])
def test_floors_share_what_is_known_and_not_what_they_hold(
    remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 workgroups on each of two engines hold 6 units, 2 on the third hold 2 more. A second GPU
    that goes the same way, with all that is known of it or nothing, holds as many each time.
    """
    monkeypatch.setattr(floor_module, "REMEMBERED", remembered)
    residency = Residency(UNIT)
    one, other = (Floor(residency, groups(), "alike") for _ in range(2))
    assert (one.units, other.units) == (0, 0)
    assert occupied(one, residency, 0, 3) == 3
    assert (one.units, other.units) == (6, 0)
    assert occupied(one, residency, 1, 2) == 2
    assert occupied(other, residency, 0, 3) == 3
    assert (one.units, other.units) == (8, 6)
    held = [group.units for group in one.groups]
    assert occupied(other, residency, 1, 2) == 2
    assert [group.units for group in other.groups] == held
    assert one.units == other.units == 8
