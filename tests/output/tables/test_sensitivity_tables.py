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


def of_samples(low, high, own, count=64):
    """A band of 10 + 4 a + b, a from *low* to *high* with *own* in the file, b from 0 to 1."""
    from c3sim.experiments.bands import Parameter, settings_drawn, spread

    kept = {"unit": "", "whole": False, "fitted": False}
    parameters = (
        Parameter(path="a", value=own, low=low, high=high, **kept),
        Parameter(path="b", value=0.5, low=0.0, high=1.0, **kept),
    )
    settings = settings_drawn(parameters, count, seed=1)
    rows = [{"wall_s": 10 + 4 * a + b, "error": None} for (_, a), (_, b) in settings]
    outputs = {"wall_s": spread([row["wall_s"] for row in rows])}
    return Band(outputs=outputs, parameters=parameters, settings=settings, rows=rows, seed=1)


def test_what_sets_a_prediction_outside_its_band_is_named():
    """With a at the lower end of its interval the run takes 10.5; a tenth of the samples take less
    than 10.9, none of them for b.
    """
    (line,) = outside_band("wall_s", 10.5, of_samples(0.0, 1.0, 0.0))
    assert line.endswith("of the samples: mostly for a, 0 here, drawn from 0 to 1")


def test_no_parameter_is_named_for_a_value_that_none_explains():
    """20 lies beyond all samples, whatever a is."""
    (line,) = outside_band("wall_s", 20.0, of_samples(0.0, 1.0, 0.5))
    assert "64 samples are few" in line
