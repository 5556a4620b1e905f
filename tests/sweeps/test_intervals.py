"""What a node is known within, and how it is sampled."""

import numpy as np
import pytest

from c3sim.input.conform import Leaf
from c3sim.input.library import names
from c3sim.input.loading import LoadedNode, load_hardware
from c3sim.sweeps.intervals import Parameter, latin_hypercube, parameters_of, settings_of, spread

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


def of(source, interval=(1.0, 9.0), value=4.0, unit=""):
    leaf = Leaf(text=str(value), value=value, unit=unit, source=source, interval=interval)
    return parameters_of(
        LoadedNode(node=NODE.node, provenance={"gpu.hbm.saturation_exponent": leaf})
    )


@pytest.mark.parametrize(
    ("source", "low", "high", "fitted"),
    [
        ("a data sheet", 1.0, 9.0, False),
        ("calibrated 2026-11-21 on 3 records, 95 % interval [3, 5]; start: x", 3.0, 5.0, True),
        ("calibrated, 95 % interval [3, 50]", 3.0, 9.0, True),  # no further than the fit may look
        ("calibrated, 95 % interval [5, 6]", 1.0, 9.0, False),  # the value was moved since
        ("copies keep 95 % of their rate", 1.0, 9.0, False),
    ],
)
def test_of_a_fitted_number_what_the_fit_left_open(source, low, high, fitted):
    (found,) = of(source)
    assert (found.low, found.high, found.fitted) == (low, high, fitted)


def test_units_of_a_fit():
    (found,) = of("95 % interval [1 us, 3 us]", interval=(0.0, 9e-6), value=2e-6, unit="s")
    assert (found.low, found.high) == (1e-6, pytest.approx(3e-6))


def test_a_number_without_width_is_none():
    assert of("x", interval=(4.0, 4.0)) == ()


@pytest.mark.parametrize("name", names("node"))
def test_what_calibration_writes_is_understood(name):
    """Every fitted number of the packaged nodes has the interval of its fit, unless that excludes
    the value in the file.
    """
    loaded = load_hardware(name)
    found = {each.path: each for each in parameters_of(loaded)}
    for path, leaf in loaded.provenance.items():
        if "95 % interval" in leaf.source and path in found and not found[path].fitted:
            assert (
                path == "gpu.gemm_libraries.ck_blockscale.operand_feed"
            )  # 24.5 GB/s, beside a fit of 20.1 to 21.1


def test_what_is_set_by_hand_is_not_drawn():
    paths = {each.path for each in parameters_of(NODE, {"links.latency"})}
    assert "links.latency" not in paths and "links.bandwidth" in paths


def test_a_latin_hypercube_uses_every_part_of_every_interval_once():
    places = latin_hypercube([parameter(0.0, 1.0)] * 3, 10, seed=4)
    for column in places.T:
        assert sorted(np.floor(10 * column)) == list(range(10))
    assert np.array_equal(places, latin_hypercube([parameter(0.0, 1.0)] * 3, 10, seed=4))
    assert not np.array_equal(places, latin_hypercube([parameter(0.0, 1.0)] * 3, 10, seed=5))


def test_settings_and_percentiles():
    assert settings_of([parameter(0.0, 2.0), parameter(0.0, 4.0)], (0.5, 0.25)) == (
        ("p", 1.0),
        ("p", 1.0),
    )
    assert spread(range(101)) == {"p5": 5.0, "median": 50.0, "p95": 95.0}
