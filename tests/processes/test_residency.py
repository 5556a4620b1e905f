"""Where workgroups go when several engines of a die have room."""

from __future__ import annotations

import pytest

from c3sim.processes.residency import level_down


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
def test_those_with_most_give_first(have: dict[int, int], wanted: int, taken: dict[int, int]) -> None:
    assert level_down(have, wanted) == taken


def test_more_than_there_is_is_refused() -> None:
    with pytest.raises(ValueError, match="5 wanted of 4"):
        level_down({0: 2, 1: 2}, 5)
