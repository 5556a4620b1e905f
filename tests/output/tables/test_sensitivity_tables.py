"""A prediction outside the band of its samples is said to be there."""

import pytest

from c3sim.experiments.bands import Band
from c3sim.output.tables.sensitivity import outside_band

BAND = Band(
    outputs={"wall_s": {"p5": 2e-3, "median": 3e-3, "p95": 4e-3}},
    parameters=(),
    settings=(),
    rows=[{}] * 20,
    seed=1,
)


@pytest.mark.parametrize(
    ("value", "lines"), [(1.9e-3, 1), (2e-3, 0), (3e-3, 0), (4.1e-3, 1), (None, 0)]
)
def test_a_predictionoutside_band_its_band(value, lines):
    found = outside_band("wall_s", value, BAND)
    assert len(found) == lines and all(
        "lies outside 5 % to 95 %" in line and "20 samples" in line for line in found
    )
