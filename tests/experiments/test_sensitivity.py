"""The parameter that moves a result, against functions of known indices, and on a real run."""

import pytest
from made_sampler import sampler_of

from c3sim.errors import InputError
from c3sim.experiments import sensitivity as module
from c3sim.experiments.bands import Parameter, band_of, uncertainty
from c3sim.experiments.sensitivity import sensitivity
from c3sim.spec.reading.loading import load_hardware, load_workload

NODE = load_hardware("mi300x-8")
PAIR = load_workload("gemm-beside-all-gather")
A, B, C = (
    Parameter(path=name, value=0.5, low=0.0, high=1.0, unit="", whole=False, fitted=False)
    for name in "abc"
)


@pytest.fixture
def sampler(monkeypatch):
    """Runs nothing: the output y is a function of the settings."""

    def make(function):
        def row(self, scenario, strategy, settings):
            values = {"a": 0.5, "b": 0.5, "c": 0.5, **dict(settings)}
            try:
                return {"y": function(**values), "error": None}
            except ZeroDivisionError as error:
                return {"y": None, "error": str(error)}

        return sampler_of(monkeypatch, row)

    return make


def test_indices_of_a_sum(sampler):
    """y = 3 a + b: variances 9/12 and 1/12, so shares 0.9 and 0.1; c moves nothing."""
    found = sensitivity(sampler(lambda a, b, c: 3 * a + b), (A, B, C), "y", samples=512)
    assert [(effect.parameter.path, effect.swing("y")) for effect in found.effects] == [
        ("a", 3.0),
        ("b", 1.0),
    ]
    assert found.idle == 1 and found.base["y"] == 2.0
    for effect, share in zip(found.effects, (0.9, 0.1), strict=True):
        assert effect.index.first == pytest.approx(share, abs=0.03)
        assert effect.index.total == pytest.approx(share, abs=0.03)


def test_an_interaction_is_in_the_total_only(sampler):
    """y = (a - 1/2)(b - 1/2) + (c - 1/2): neither a nor b alone explains anything, together 1/144
    of 1/144 + 1/12.
    """
    product = sampler(
        lambda a, b, c: (a - 0.5) * (b - 0.5) + c - 0.5 + 1e-6 * (a + b)
    )  # the rest: to be ranked
    found = sensitivity(product, (A, B, C), "y", samples=2048)
    index = {effect.parameter.path: effect.index for effect in found.effects}
    share = (1 / 144) / (1 / 144 + 1 / 12)
    assert index["c"].first == pytest.approx(1 - share, abs=0.04)
    for name in "ab":
        assert index[name].first == pytest.approx(0, abs=0.02)
        assert index[name].total == pytest.approx(share, abs=0.02)


def test_only_the_first_get_indices(sampler):
    found = sensitivity(
        sampler(lambda a, b, c: 3 * a + 2 * b + c), (A, B, C), "y", samples=8, top=1
    )
    assert [effect.index is not None for effect in found.effects] == [True, False, False]


def test_samples_that_cannot_be_run_are_dropped_and_counted(sampler):
    found = sensitivity(sampler(lambda a, b, c: a + b / (a > 0.1)), (A, B, C), "y", samples=64)
    assert 0 < found.dropped < 64 and 0 < found.band.failed < found.band.samples
    assert all(effect.index is not None for effect in found.effects)


def test_the_band_of_a_uniform_value(sampler):
    """y = 10 a: 0.5 and 9.5 are its 5th and 95th percentile; a Latin hypercube of 200 is exact to
    half a part.
    """
    band = band_of(sampler(lambda a, b, c: 10 * a), (A,), 200, seed=3)
    assert band.outputs["y"] == {
        "p5": pytest.approx(0.5, abs=0.05),
        "median": pytest.approx(5, abs=0.05),
        "p95": pytest.approx(9.5, abs=0.05),
    }


def test_salib_missing_is_one_line(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"SALib is not installed; run: pip install 'c3sim\[explore\]'"
    ):
        module.check_salib()


# A real run ---------------------------------------------------------------------------------------
# -------------


def test_a_band_is_reproducible_and_set_values_stay():
    first, again = (uncertainty(PAIR, NODE, "conccl", samples=3, seed=2) for _ in range(2))
    assert first.to_dict() == again.to_dict()
    assert first.to_dict() != uncertainty(PAIR, NODE, "conccl", samples=3, seed=3).to_dict()
    held = uncertainty(PAIR, NODE, "conccl", samples=3, seed=2, but={"links.latency"})
    assert len(held.parameters) == len(first.parameters) - 1
    found = first.to_dict()
    assert found["wall_s"]["p5"] <= found["wall_s"]["median"] <= found["wall_s"]["p95"]
    assert set(found["tasks"]) == {"gemm", "gather"} and set(found["tasks"]["gemm"]) == {"slowdown"}
