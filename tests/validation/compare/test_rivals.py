"""Where a plain predictor is better than the model."""

import pytest
from made_records import GEMM, record

from c3sim.validation.compare.baselines import Baselines
from c3sim.validation.compare.bounds import Beaten, Bound, Limit
from c3sim.validation.compare.figures import Figure
from c3sim.validation.compare.measurements import Measurement, Spread
from c3sim.validation.compare.rivals import rivals_of
from c3sim.validation.compare.scores import SuiteScore, score_suites

ONE = record({"gemm": GEMM}, {"isolated": {"gemm": 1.0}})
LOOSE = Limit(median=1.0, p90=1.0, reason="")


def figure(own: float, given: float | None, plain: float | None, metric: str = "wall") -> Figure:
    """Errors of the model, of the model with measured isolated times, and of ``sum``."""
    return Figure(
        measurement=Measurement(record=ONE, repeats=(ONE,)),
        metric=metric,
        task="",
        predicted=1 + own,
        measured=1.0,
        given=None if given is None else 1 + given,
        baselines=Baselines(sum=None if plain is None else 1 + plain),
    )


def test_the_model_is_given_measured_isolated_times_as_the_plain_predictor_is():
    (rival,) = rivals_of([figure(0.01, -0.2, 0.05)] * 10, None)
    assert (rival.predictor, rival.count) == ("sum", 10)
    assert (rival.model, rival.error) == (pytest.approx(0.2), pytest.approx(0.05))
    assert rival.wins


def test_a_task_alone_is_held_beside_what_the_model_says_itself():
    (rival,) = rivals_of([figure(0.2, None, 0.05, "isolated_gemm")] * 10, None)
    assert rival.model == pytest.approx(0.2)


@pytest.mark.parametrize(("spread", "wins"), [(0.14, True), (0.16, False)])
def test_better_means_by_more_than_the_repeat_spread(spread, wins):
    """0.2 - 0.05 = 0.15."""
    repeats = Spread(pairs=10, median=spread, p90=spread)
    (rival,) = rivals_of([figure(0.0, 0.2, 0.05)] * 10, repeats)
    assert rival.wins is wins


def test_fewer_than_ten_figures_are_no_evidence_and_those_without_a_value_do_not_count():
    figures = [figure(0.0, 0.2, 0.05)] * 9 + [figure(0.0, 0.9, None)] * 9
    (rival,) = rivals_of(figures, None)
    assert (rival.count, rival.model, rival.wins) == (9, pytest.approx(0.2), False)


def test_times_beside_others_say_the_same_as_slowdowns_and_count_once():
    assert rivals_of([figure(0.0, 0.2, 0.05, "gemm_time")] * 10, None) == ()


def score(beaten: dict[str, dict[str, Beaten]]) -> SuiteScore:
    (one,) = score_suites(
        [figure(0.0, 0.2, 0.05)] * 10, {"mine": {"wall": Bound(LOOSE, LOOSE)}}, {}, beaten
    )
    return one


def test_a_defect_that_is_not_listed_fails_although_the_bound_holds():
    assert score({}).passed is False
    listed = Beaten(by=("sum",), reason="known")
    assert score({"mine": {"wall": listed}}).passed is True
    other = Beaten(by=("max",), reason="known")
    assert score({"mine": {"wall": other}}).passed is False
