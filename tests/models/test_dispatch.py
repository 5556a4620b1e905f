"""Rotations, shares and masks, counted by hand."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3sim.models.dispatch import RULES, die_shares, mask_by_engine, rotation, turn_weights
from c3sim.spec.hardware import Dies


def _order(weights: tuple[int, ...]) -> list[int]:
    turns = rotation(weights).turns
    places = {place: engine for engine, mine in enumerate(turns) for place in mine}
    return [places[place] for place in sorted(places)]


def test_equal_engines_take_turns() -> None:
    assert _order((1, 1, 1, 1)) == [0, 1, 2, 3]
    assert _order((9, 9)) == [0, 1] * 9


def test_an_engine_that_had_its_turns_is_skipped() -> None:
    assert _order((4, 3)) == [0, 1, 0, 1, 0, 1, 0]
    assert _order((10, 10, 9, 9)) == [0, 1, 2, 3] * 9 + [0, 1]


def test_the_first_engine_begins_each_round() -> None:
    """148 places on a die of 9, 10, 10, 9 from engine 3 on: three periods of 38, then eight rounds
    of 3 0 1 2, then 3 and 0. So the engines 3 and 0, of nine units, have 36, one more than the
    35.05 that are their share.
    """
    order = rotation((9, 10, 10, 9), 3)
    assert [order.place(engine, 0) for engine in (3, 0, 1, 2)] == [0, 1, 2, 3]
    assert [order.count(engine, 148) for engine in range(4)] == [36, 38, 38, 36]
    assert [order.place(engine, 9) for engine in (1, 2)] == [36, 37]


def test_places_of_a_grid_over_several_periods() -> None:
    """148 places on a die of 10, 10, 9, 9: three periods of 38, and 34 places, eight rounds and 0
    1.
    """
    order = rotation((10, 10, 9, 9))
    assert [order.count(engine, 148) for engine in range(4)] == [39, 39, 35, 35]
    assert order.place(0, 10) == 38  # the eleventh workgroup of engine 0 opens the second period
    assert order.place(1, 9) == 37
    assert order.place(2, 8) == 34


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5).filter(any), st.integers(0, 300))
def test_every_place_belongs_to_one_engine_and_turns_are_in_proportion(
    weights: list[int], places: int
) -> None:
    order = rotation(tuple(weights))
    assert sum(order.count(engine, places) for engine in range(len(weights))) == places
    assert [order.count(engine, order.period) for engine in range(len(weights))] == weights
    for engine, weight in enumerate(weights):
        for index in range(2 * weight):  # place() and count() are inverse
            place = order.place(engine, index)
            assert (order.count(engine, place), order.count(engine, place + 1)) == (
                index,
                index + 1,
            )


def test_a_rotation_of_nobody() -> None:
    with pytest.raises(ValueError, match="no engine"):
        rotation((0, 0))


@pytest.mark.parametrize(
    ("workgroups", "dies", "shares"),
    [(1184, 8, [148] * 8), (10, 4, [3, 3, 2, 2]), (3, 8, [1, 1, 1, 0, 0, 0, 0, 0]), (0, 2, [0, 0])],
)
def test_strict_round_robin_over_dies(workgroups: int, dies: int, shares: list[int]) -> None:
    assert die_shares(workgroups, dies) == shares


@pytest.mark.parametrize(
    ("rule", "weights"),
    [
        ("weighted_rotation", (10, 10, 0, 9)),
        ("strict_rotation", (1, 1, 0, 1)),
        ("engine_queues", (10, 10, 0, 9)),
    ],
)
def test_turns_go_by_physical_size_and_skip_engines_without_a_unit(
    rule: str, weights: tuple[int, ...]
) -> None:
    """Under a mask with 5, 1, 0 and 9 units: turns are those of the whole engines, but none for the
    empty one.
    """
    assert turn_weights(RULES[rule], (10, 10, 9, 9), (5, 1, 0, 9)) == weights


def test_mask_bits_go_over_dies_then_engines() -> None:
    """2 dies of engines 4 and 3. Bits 0 2 4 6 are on die 0, its first four units, of engines 0 1 0
    1; bits 1 3 5 on die 1, engines 0 1 0.
    """
    assert mask_by_engine(tuple(range(7)), 2, (4, 3)) == ((2, 2), (2, 1))


@pytest.mark.parametrize(
    ("bits", "per_die"),
    [
        (304, (10, 10, 9, 9)),
        (288, (9, 9, 9, 9)),  # 36 per die: nine rows of four
        (272, (9, 9, 8, 8)),  # 34: eight rows, and two more
        (32, (1, 1, 1, 1)),
        (8, (1, 0, 0, 0)),
    ],
)
def test_first_bits_of_eight_dies(bits: int, per_die: tuple[int, ...]) -> None:
    assert mask_by_engine(tuple(range(bits)), 8, (10, 10, 9, 9)) == (per_die,) * 8


def test_last_row_skips_engines_whose_units_are_used_up() -> None:
    """Rows of 4 up to the ninth; the tenth has engines 0 and 1 only: bits 36 and 37 of a die."""
    assert mask_by_engine((36 * 8, 37 * 8), 8, (10, 10, 9, 9))[0] == (1, 1, 0, 0)


def test_a_file_may_name_every_rule() -> None:
    assert set(RULES) == set(get_args(Dies.model_fields["dispatch"].annotation))
