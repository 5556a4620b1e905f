"""The points that are run again."""

from itertools import pairwise

import pytest

from c3sim.output.page.data import picked
from c3sim.output.results.table import make_table


def many(count=400, **about):
    """Two strategies in turn; wall times fall, energies rise; every hundredth failed."""
    return make_table(
        {
            "point": list(range(count)),
            "strategy": [("base", "sp")[row % 2] for row in range(count)],
            "wall_s": [(count - row) * 1e-6 for row in range(count)],
            "energy_j": [float(row) for row in range(count)],
            "error": ["no" if row % 100 == 50 else None for row in range(count)],
        },
        about,
    )


def test_all_of_a_small_sweep_that_ran():
    assert picked(many(200), 300) == [row for row in range(200) if row % 100 != 50]


def test_of_a_large_one_the_ends_come_first():
    """Best of base and its worst, then those of sp: rows count from slow to fast."""
    assert picked(many(), 100)[:4] == [398, 0, 399, 1]


@pytest.mark.parametrize("most", [1, 10, 100])
def test_never_more_than_asked_for_and_none_twice(most):
    found = picked(many(), most)
    assert len(found) == len(set(found)) == most
    assert not any(row % 100 == 50 for row in found)


def test_the_rest_is_spread_evenly():
    """Fronts of all points would be everything here: without energies there is none."""
    found = sorted(picked(make_table(many().frame.drop(columns="energy_j"), {}), 100))
    assert max(b - a for a, b in pairwise(found)) <= 8
