"""The intervals of a node, and samples of them."""

from zlib import crc32

import numpy as np
import pytest

from c3sim.experiments.bands import Parameter, latin_hypercube, parameters_of, settings_at, spread
from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.sourced import Calibrated, Leaf

NODE = load_hardware("mi300x-8")


def parameter(low, high, *, unit="", whole=False):
    return Parameter(path="p", value=low, low=low, high=high, unit=unit, whole=whole, fitted=False)


def test_within_a_decade_it_is_uniform_beyond_log_uniform():
    assert [parameter(2.0, 20.0).at(place) for place in (0.0, 0.5, 1.0)] == [2.0, 11.0, 20.0]
    wide = parameter(1.0, 100.0)
    assert wide.log and [wide.at(place) for place in (0.0, 0.5, 1.0)] == [1.0, 10.0, 100.0]
    assert not parameter(0.0, 100.0).log  # from zero no decade counts


def test_whole_numbers_have_equal_shares():
    """1 to 4: a quarter of the places each."""
    dice = parameter(1, 4, whole=True)
    assert [dice.at(place) for place in (0.0, 0.24, 0.26, 0.74, 0.76, 1.0)] == [1, 1, 2, 3, 4, 4]
    assert parameter(10.0, 20.0, unit="B").at(0.123) == 11.0  # bytes are whole


def of(fit=None, interval=(1.0, 9.0), value=4.0):
    """The parameters of a node with one number, whose fit left *fit* open."""
    about = {"suite": "s", "date": "2026-11-21", "records": 3, "data": "0a", "residual": 0.01}
    calibrated = Calibrated(interval=fit, **about) if fit else None
    leaf = Leaf(
        text=str(value),
        value=value,
        unit="",
        source="a data sheet",
        interval=interval,
        calibrated=calibrated,
    )
    return parameters_of(
        LoadedNode(node=NODE.node, provenance={"gpu.hbm.saturation_exponent": leaf})
    )


@pytest.mark.parametrize(
    ("fit", "low", "high"),
    [
        (None, 1.0, 9.0),
        ((3.0, 5.0), 3.0, 5.0),
        # no further than the fit may look
        ((3.0, 50.0), 3.0, 9.0),
    ],
)
def test_of_a_fitted_number_what_the_fit_left_open(fit, low, high):
    (found,) = of(fit)
    assert (found.low, found.high, found.fitted) == (low, high, fit is not None)


def test_a_number_without_width_is_none():
    assert of(interval=(4.0, 4.0)) == ()


def test_what_is_set_by_hand_is_not_drawn():
    paths = {each.path for each in parameters_of(NODE, {"links.latency"})}
    assert "links.latency" not in paths and "links.bandwidth" in paths


def test_a_latin_hypercube_uses_every_part_of_every_interval_once():
    from scipy.stats.qmc import LatinHypercube  # 1.5 s, which no worker but one has to wait for

    places = latin_hypercube("abc", 10, seed=4)
    for column in places.T:
        assert sorted(np.floor(10 * column)) == list(range(10))
    assert np.array_equal(places, latin_hypercube("abc", 10, seed=4))
    assert not np.array_equal(places, latin_hypercube("abc", 10, seed=5))
    random = np.random.default_rng((4, crc32(b"a")))
    assert np.array_equal(places[:, :1], LatinHypercube(1, seed=random).random(10))


def test_one_more_thing_to_draw_changes_no_other_draw():
    few, more = (latin_hypercube(names, 10, seed=4) for names in ("ac", "abc"))
    assert np.array_equal(few, more[:, [0, 2]])
    assert not np.array_equal(more[:, 0], more[:, 1])


def test_settings_and_percentiles():
    assert settings_at([parameter(0.0, 2.0), parameter(0.0, 4.0)], (0.5, 0.25)) == (
        ("p", 1.0),
        ("p", 1.0),
    )
    assert spread(range(101)) == {"p5": 5.0, "median": 50.0, "p95": 95.0}
