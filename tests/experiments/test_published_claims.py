"""The verdict on a published figure."""

from dataclasses import replace

import pytest

from c3sim.experiments.claims import Claim, claim, standing_of, verdicts
from c3sim.spec.published import PUBLISHED
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_study


@pytest.mark.parametrize(
    ("ours", "published", "band", "holds"),
    [
        (1.0, 1.09, None, True),  # within a tenth of what comes out
        (1.0, 1.11, None, False),
        (1.0, (1.05, 2.0), None, True),  # the range meets 0.9 to 1.1
        (1.0, 1.5, (0.9, 1.6), True),  # the band decides where there is one
        (1.0, 1.05, (0.99, 1.01), False),
        (1.48, 1.47, (1.474, 1.51), True),  # 1.47 may be 1.475
        (1.48, 1.47, (1.476, 1.51), False),
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


def test_a_row_says_how_the_figure_is_known_and_what_decides_it():
    """No standing where nothing is published; numbers have their unit."""
    known = {"first_hand": ["mean"]}
    one = claim("mean, t3", 0.3, 0.29, unit="%", decides="links", band=(0.2, 0.4))
    rest = [claim("max, t3", 1.5, 1.47), claim("mean, beyond", 1.2, None)]
    found = [replace(each, standing=standing_of(known, each.what)) for each in (one, *rest)]
    table = verdicts("mine", found)
    assert list(table.rows[0].values()) == [
        "mean, t3", "29.0 %", "30.0 %", "20.0 to 40.0 %", "yes", "first", "links"
    ]  # fmt: skip
    assert [row["standing"] for row in table.rows] == ["first", "second", ""]
    assert table.rows[1]["here"] == "1.50x"


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_packaged_studies_name_what_is_known_first_hand(name):
    """Of every kind with published figures at least one study says how each is known."""
    studies = [load_study(each) for each in names("study")]
    known = [each.published for each in studies if each.kind == name and each.published]
    flagged = ("first_hand", "flags")
    claims = [each.get("claims", ()) for each in known]
    own = [one for each in claims for one in each if isinstance(one, dict) and one.get("standing")]
    assert own or any(key in each for each in known for key in flagged)
