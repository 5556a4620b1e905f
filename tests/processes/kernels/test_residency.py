"""Places of workgroups when several engines of a die have room."""

from __future__ import annotations

import pytest

from c3sim.processes.kernels.dealing import take_equally, take_from_fullest


@pytest.mark.parametrize(
    ("have", "wanted", "taken"),
    [
        ({0: 4}, 3, {0: 3}),
        ({0: 4, 1: 3}, 3, {0: 2, 1: 1}),  # 2 and 2 are left
        (
            {0: 4, 1: 3},
            2,
            {0: 2},
        ),  # from the first, which has most; then both have 3, and the first gives again
        ({0: 8, 1: 8, 2: 9, 3: 9}, 34, {0: 8, 1: 8, 2: 9, 3: 9}),
        ({0: 8, 1: 8, 2: 9}, 4, {0: 1, 1: 1, 2: 2}),
        ({0: 2, 1: 2}, 0, {}),
    ],
)
def test_those_with_most_give_first(
    have: dict[int, int], wanted: int, taken: dict[int, int]
) -> None:
    assert take_from_fullest(have, wanted) == taken


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(ValueError, match="5 wanted of 4"):
        take_from_fullest({0: 2, 1: 2}, 5)


@pytest.mark.parametrize(
    ("have", "wanted", "taken"),
    [
        ({0: 4}, 3, {0: 3}),
        ({0: 2, 1: 8}, 4, {0: 2, 1: 2}),  # equal turns, whatever the sizes
        ({0: 2, 1: 8, 2: 8}, 5, {0: 2, 1: 2, 2: 1}),  # the odd turns go to the first ones
        ({0: 2, 1: 8}, 7, {0: 2, 1: 5}),  # the full one is skipped
        ({0: 0, 1: 8}, 1, {1: 1}),
        ({0: 2, 1: 2}, 4, {0: 2, 1: 2}),
        ({0: 2, 1: 2}, 0, {}),
    ],
)
def test_turns_go_round_those_that_have_room(
    have: dict[int, int], wanted: int, taken: dict[int, int]
) -> None:
    assert take_equally(have, wanted) == taken


def test_more_turns_than_there_is_room_are_refused() -> None:
    with pytest.raises(ValueError, match="5 wanted of 4"):
        take_equally({0: 2, 1: 2}, 5)
