"""Figures per suite and metric."""

import pytest
from made_records import GATHER, GEMM, pair, record

from c3sim.spec.reading.loading import load_node
from c3sim.validation.compare.baselines import Baselines
from c3sim.validation.compare.bounds import Bound, Limit
from c3sim.validation.compare.figures import Figure, compare_record
from c3sim.validation.compare.measurements import Measurement
from c3sim.validation.compare.predict import predict
from c3sim.validation.compare.scores import BoundsBySuite, SuiteScore, score_suites

BASELINES = Baselines(1.0, 2.0, None)


def figure(
    error: float,
    role: str = "validation",
    metric: str = "gemm_slowdown",
    baselines: Baselines = BASELINES,
) -> Figure:
    one = record({"gemm": GEMM}, {"isolated": {"gemm": 1.0}}, role=role)
    return Figure(
        measurement=Measurement(record=one, repeats=(one,)),
        metric=metric,
        task="gemm",
        predicted=1 + error,
        measured=1.0,
        baselines=baselines,
    )


def scores(figures: list[Figure], bounds: BoundsBySuite | None = None) -> list[SuiteScore]:
    return score_suites(figures, bounds or {}, {})


def test_errors_are_medians_and_tails_of_absolute_values_and_the_bias_is_signed():
    (score,) = scores([figure(error) for error in (-0.1, -0.2, -0.3, 0.1, -0.4)])
    assert (score.errors.median, score.errors.bias) == (pytest.approx(0.2), pytest.approx(-0.2))
    assert score.errors.p90 == pytest.approx(0.36)
    assert [round(each.error, 1) for each in score.worst[:2]] == [-0.4, -0.3]


def test_a_baseline_counts_only_where_it_has_a_value_for_every_figure():
    (score,) = scores([figure(0.1), figure(0.1, baselines=Baselines(1.0, None, 1.1))])
    known = {name: error for name, error in score.errors.baselines.items() if error is not None}
    assert known == {"max": pytest.approx(0.0)}


def test_rows_open_to_fits_are_never_mixed_with_others():
    figures = [figure(0.1, metric="isolated_gemm"), figure(0.3, "calibration", "isolated_gemm")]
    assert [(score.metric, score.standing) for score in scores(figures)] == [
        ("isolated_gemm", "not_stated"),
        ("isolated_gemm_calibration", "open_to_fits"),
    ]


@pytest.mark.parametrize(
    ("median", "p90", "passed"), [(0.2, 0.2, True), (0.05, 0.2, False), (0.2, 0.05, False)]
)
def test_a_score_passes_when_median_and_p90_are_within_the_bound(median, p90, passed):
    bound = Bound(
        Limit(median=median, p90=p90, reason="a test"),
        target=Limit(median=0.05, p90=0.05, reason="a test"),
    )
    (score,) = scores([figure(0.1)], {"mine": {"gemm_slowdown": bound}})
    assert score.passed is passed
    assert score.on_target is False


def test_a_suite_without_bounds_is_not_judged_and_has_no_target():
    (score,) = scores([figure(3.0)])
    assert (score.passed, score.on_target) == (None, None)


def test_a_wall_time_is_also_predicted_from_measured_isolated_times():
    """Predicted slowdown times measured isolated time, of the task that ends last. Twice the
    isolated times give twice the wall; the prediction with the model's own stays as it is.
    """
    node = load_node("mi300x-8")
    once, twice = (
        {each.metric: each for each in compare_record(node, pair(250 * f, 800 * f, (400, 900)))}
        for f in (1, 2)
    )
    ends = [
        once[f"{kind}_slowdown"].predicted * alone
        for kind, alone in (("gemm", 250), ("collective", 800))
    ]
    assert once["wall"].given == pytest.approx(max(ends))
    assert once["gemm_time"].given == pytest.approx(ends[0])
    assert twice["wall"].given == pytest.approx(2 * max(ends))
    assert twice["wall"].predicted == once["wall"].predicted
    assert once["isolated_gemm"].given is None


def test_a_strategy_of_a_record_is_what_is_run():
    node = load_node("mi300x-8")
    plain = compare_record(node, pair(250, 800, (400, 900)))
    moved = compare_record(node, pair(250, 800, (400, 900), strategy="conccl"))
    assert moved[1].predicted != plain[1].predicted


def test_more_processes_give_the_same(monkeypatch):
    records = [
        record({"gather": {**GATHER, "size": 2**20 * i}}, {"isolated": {"gather": 100}})
        for i in range(1, 61)
    ]
    nodes = {"mi300x-8": load_node("mi300x-8")}
    one = predict(nodes, records, jobs=1)
    monkeypatch.setattr("c3sim.validation.compare.predict.WORTH_PROCESSES", 0.0)
    assert predict(nodes, records, jobs=2) == one
