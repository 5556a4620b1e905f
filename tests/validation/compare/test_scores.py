"""Figures per suite and metric."""

import pytest
from made_records import GATHER, GEMM, pair, record

from c3sim.input.loading import load_hardware
from c3sim.validation.compare.baselines import Plain
from c3sim.validation.compare.bounds import Bound
from c3sim.validation.compare.figures import Case, compare_one
from c3sim.validation.compare.nodes import nodes_for
from c3sim.validation.compare.scores import rows
from c3sim.validation.compare.verdict import validate


def case(
    error: float,
    role: str = "validation",
    metric: str = "gemm_slowdown",
    plain: Plain | None = None,
) -> Case:
    return Case(
        "0", "mine", role, metric, "gemm", "w", 1 + error, 1.0, 1.0, plain or Plain(1.0, 2.0, None)
    )


def test_errors_are_medians_and_tails_of_absolute_values_and_the_bias_is_signed():
    (row,) = rows([case(error) for error in (-0.1, -0.2, -0.3, 0.1, -0.4)], {})
    assert (row.median_error, row.bias) == (pytest.approx(0.2), pytest.approx(-0.2))
    assert row.p90_error == pytest.approx(0.36)
    assert [round(each.error, 1) for each in row.worst[:2]] == [-0.4, -0.3]


def test_plain_predictors_count_only_where_they_know_every_case():
    (row,) = rows([case(0.1), case(0.1, plain=Plain(1.0, None, 1.1))], {})
    assert row.baselines == {"max": pytest.approx(0.0), "sum": None, "constant": None}


def test_what_was_open_to_fits_is_never_mixed_with_what_was_held_out():
    found = rows([case(0.1, metric="isolated_gemm"), case(0.3, "calibration", "isolated_gemm")], {})
    assert [(row.metric, row.role) for row in found] == [
        ("isolated_gemm", "validation"),
        ("isolated_gemm_calibration", "calibration"),
    ]


@pytest.mark.parametrize(
    ("median", "p90", "passed"), [(0.2, 0.2, True), (0.05, 0.2, False), (0.2, 0.05, False)]
)
def test_a_row_passes_when_both_bounds_hold(median, p90, passed):
    bound = Bound(median=median, p90=p90, reason="", target_median=0.05, target_p90=0.05)
    (row,) = rows([case(0.1)], {"mine": {"gemm_slowdown": bound}})
    assert row.passed is passed
    assert row.on_target is False


def test_a_suite_without_bounds_passes_and_has_no_target():
    (row,) = rows([case(3.0)], {})
    assert (row.passed, row.on_target) == (True, None)


def test_a_concurrent_record_gives_isolated_times_task_times_slowdowns_and_the_wall():
    node = load_hardware("mi300x-8").node
    found = {c.metric: c for c in compare_one(node, pair(250, 800, (400, 900)))}
    assert set(found) == {
        "isolated_gemm",
        "isolated_collective",
        "gemm_time",
        "collective_time",
        "gemm_slowdown",
        "collective_slowdown",
        "wall",
    }
    slow = found["gemm_slowdown"]
    assert slow.measured == pytest.approx(1.6)
    assert slow.predicted == pytest.approx(
        found["gemm_time"].predicted / found["isolated_gemm"].predicted
    )
    assert slow.unit_us == 250


def test_a_strategy_of_a_record_is_what_is_run():
    node = load_hardware("mi300x-8").node
    plain = compare_one(node, pair(250, 800, (400, 900)))
    moved = compare_one(node, pair(250, 800, (400, 900), strategy="conccl"))
    assert moved[1].predicted != plain[1].predicted


def test_the_verdict_as_data():
    records = [
        pair(250, 800, (400, 900)),
        record({"gemm": GEMM}, {"isolated": {"gemm": 250}}, role="calibration"),
    ]
    data = validate(records, nodes_for(records), jobs=1).to_dict()
    keys = {
        "name",
        "metric",
        "cases",
        "median_error",
        "p90_error",
        "bias",
        "bound_median",
        "bound_p90",
        "pass",
        "baselines",
    }
    assert all(
        keys <= set(row) and set(row["baselines"]) == {"max", "sum", "constant"}
        for row in data["suites"]
    )
    assert all(
        {"id", "metric", "predicted_us", "measured_us", "error"} <= set(each)
        for each in data["cases"]
    )
    slow = next(each for each in data["cases"] if each["metric"] == "gemm_slowdown")
    assert slow["measured_us"] == pytest.approx(400)
    assert slow["predicted_us"] / slow["measured_us"] - 1 == pytest.approx(slow["error"])
    assert len({(row["name"], row["metric"]) for row in data["suites"]}) == len(data["suites"])
    assert data["pass"] is True


@pytest.mark.slow
def test_more_processes_give_the_same():
    from c3sim.validation.compare import predict

    records = [
        record({"gather": {**GATHER, "size": 2**20 * i}}, {"isolated": {"gather": 100}})
        for i in range(1, 61)
    ]
    nodes = {"mi300x-8": load_hardware("mi300x-8").node}
    parts = [records[:30], records[30:]]
    alone = [cases for part in parts for cases in predict._batch(nodes, part)]
    assert [cases for batch in predict._elsewhere(nodes, parts, 2) for cases in batch] == alone
