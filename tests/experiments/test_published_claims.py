"""The verdict on a published figure."""

import pytest

from c3sim.experiments.claims import Claim, claim, verdicts


@pytest.mark.parametrize(
    ("ours", "published", "band", "holds"),
    [
        (1.0, 1.09, None, True),  # within a tenth of what comes out
        (1.0, 1.11, None, False),
        (1.0, (1.05, 2.0), None, True),  # the range meets 0.9 to 1.1
        (1.0, 1.5, (0.9, 1.6), True),  # the band decides where there is one
        (1.0, 1.05, (0.99, 1.01), False),
        (-0.2, -0.21, None, True),
        (1.0, None, None, None),  # nothing is published
        (None, 1.0, None, None),
    ],
)
def test_a_figure_holds_within_its_band_or_a_tenth(ours, published, band, holds):
    assert claim("a", ours, published, band=band).holds is holds


@pytest.mark.parametrize(("ours", "holds"), [(0.01, True), (-0.01, False)])
def test_a_bound_has_nothing_around_it(ours, holds):
    assert Claim(what="grows", ours=ours, low=0.0).holds is holds


def test_the_list_counts_what_holds():
    found = [claim("a", 1.0, 1.0), claim("b", 1.0, 2.0), claim("c", 0.5, None)]
    table = verdicts("mine", found)
    assert [row["holds"] for row in table.rows] == ["yes", "no", "-"]
    assert table.note.startswith("1 of 2 hold")
