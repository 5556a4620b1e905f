"""Suites of which a plain predictor is better than the model."""

from dataclasses import replace

import pytest
from made_records import GEMM, record

from c3sim.validation.compare.baselines import Baselines
from c3sim.validation.compare.bounds import Beaten, Bound, Limit, Target
from c3sim.validation.compare.figures import Figure
from c3sim.validation.compare.measurements import Measurement, Spread
from c3sim.validation.compare.scores import SuiteScore, rivals_of, score_nodes, score_suites
from c3sim.validation.compare.standings import Standing
from c3sim.validation.pages.words import verdict_text

ONE = record({"gemm": GEMM}, {"isolated": {"gemm": 1.0}})
LOOPED = record({"gemm": GEMM}, {"isolated": {"gemm": 1.0}}, suite="looped")
LOOSE = Limit(median=1.0, p90=1.0, reason="a test")


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
    assert rival.better


def test_a_task_alone_is_held_beside_what_the_model_says_itself():
    (rival,) = rivals_of([figure(0.2, None, 0.05, "isolated_gemm")] * 10, None)
    assert rival.model == pytest.approx(0.2)


@pytest.mark.parametrize(("spread", "better"), [(0.14, True), (0.16, False)])
def test_better_means_by_more_than_the_repeat_spread(spread, better):
    """0.2 - 0.05 = 0.15."""
    repeats = Spread(pairs=10, median=spread, p90=spread)
    (rival,) = rivals_of([figure(0.0, 0.2, 0.05)] * 10, repeats)
    assert rival.better is better


def test_figures_without_a_value_do_not_count_and_few_are_said_as_well():
    figures = [figure(0.0, 0.2, 0.05)] * 2 + [figure(0.0, 0.9, None)] * 9
    (rival,) = rivals_of(figures, None)
    assert (rival.count, rival.model, rival.better) == (2, pytest.approx(0.2), True)


def test_times_beside_others_say_the_same_as_slowdowns_and_count_once():
    assert rivals_of([figure(0.0, 0.2, 0.05, "gemm_time")] * 10, None) == ()


def score(beaten: dict[str, dict[str, Beaten]], count: int = 10) -> SuiteScore:
    (one,) = score_suites(
        [figure(0.0, 0.2, 0.05)] * count, {"mine": {"wall": Bound(LOOSE, LOOSE)}}, {}, beaten
    )
    return one


def test_a_defect_that_is_not_listed_fails_although_the_bound_holds():
    assert score({}).passed is False
    listed = Beaten(by=("sum",), reason="known")
    assert score({"mine": {"wall": listed}}).passed is True
    other = Beaten(by=("max",), reason="known")
    assert score({"mine": {"wall": other}}).passed is False


def test_on_fewer_than_ten_figures_it_is_named_and_fails_nothing():
    few = score({}, count=9)
    assert [rival.predictor for rival in few.defects] == ["sum"] and few.passed is True
    assert verdict_text(few) == "held; sum better"


def test_a_node_names_it_too_and_pools_no_runs_of_the_harness_with_loops():
    standings = {
        name: Standing(standing="inspected", runs=runs, reason="a test")
        for name, runs in (("mine", "harness"), ("looped", "loops"))
    }
    looped = Measurement(record=LOOPED, repeats=(LOOPED,))
    figures = [figure(0.0, 0.2, 0.05), replace(figure(0.0, 0.3, 0.4), measurement=looped)]
    figures = [replace(each, baselines=each.baselines._replace(max=1.0)) for each in figures]
    targets = {"wall": Target(median=1, p90=1, reason="a test", metrics=("wall",))}
    harness, loops = score_nodes(figures, targets, standings)
    assert [(each.runs, each.count) for each in (harness, loops)] == [("harness", 1), ("loops", 1)]
    assert [rival.predictor for rival in harness.better] == ["max", "sum"]
    assert [rival.predictor for rival in loops.better] == ["max"]
