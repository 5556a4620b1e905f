"""Colours can be told apart with any colour blindness, on paper and in grey; markers differ
besides.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest
from colour import BLINDNESS, contrast, lab

from c3sim.output.page.palette import DARK, LIGHT, RAMP, SERIES_DARK, SERIES_LIGHT

THEMES = {"light": (LIGHT, SERIES_LIGHT), "dark": (DARK, SERIES_DARK)}


def test_known_values():
    """Black on white is 21; mid grey has lightness 53.6; a deuteranope takes this red and this
    green for much the same.
    """
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert lab("#808080")[0] == pytest.approx(53.6, abs=0.1)
    red, green = (lab(colour, "deuteranopia") for colour in ("#b05a50", "#7c7848"))
    assert np.linalg.norm(red - green) < 10 < np.linalg.norm(lab("#b05a50") - lab("#7c7848"))


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read(theme):
    named, _ = THEMES[theme]
    for ink in ("ink", "soft", "accent", "bad"):
        for ground in ("paper", "raised", "faint"):
            assert contrast(named[ink], named[ground]) >= 4.5, (ink, ground)


@pytest.mark.parametrize("theme", THEMES)
def test_series_stand_out_from_the_page(theme):
    named, series = THEMES[theme]
    assert [colour for colour in series if contrast(colour, named["paper"]) < 3] == []


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("theme", THEMES)
def test_series_are_told_apart(theme, blindness):
    """A distance of 2.3 is just noticed side by side (Mahy 1994); small marks apart from each other
    need far more.
    """
    seen = [lab(colour, blindness) for colour in THEMES[theme][1]]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) >= 20


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_values_are_ordered_by_lightness(blindness):
    """So the order survives colour blindness and a grey print."""
    lightness = [lab(colour, blindness)[0] for colour in RAMP]
    assert all(high - low > 3 for low, high in pairwise(lightness))
    assert lightness[-1] - lightness[0] > 60
