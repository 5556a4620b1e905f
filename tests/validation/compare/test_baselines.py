"""Three baselines, by hand."""

import pytest
from made_records import GATHER, GEMM, pair, record

from c3sim.validation.compare.baselines import Baselines, baselines_of


def test_max_says_that_nothing_interferes():
    (found,) = baselines_of([pair(100, 300, (150, 330))])
    assert found["wall", ""].max == 300
    assert found["gemm_time", "gemm"].max == 100
    assert found["gemm_slowdown", "gemm"].max == 1


def test_sum_says_that_tasks_wait_for_each_other_in_the_order_of_launch():
    first, last = baselines_of(
        [pair(100, 300, (150, 330)), pair(100, 300, (150, 330), order=("gather", "gemm"))]
    )
    assert (first["gemm_time", "gemm"].sum, first["collective_time", "gather"].sum) == (100, 400)
    assert (last["gemm_time", "gemm"].sum, last["collective_time", "gather"].sum) == (400, 300)
    assert last["gemm_slowdown", "gemm"].sum == 4
    assert first["wall", ""].sum == last["wall", ""].sum == 400


def test_the_constant_is_the_median_of_the_other_records_and_never_its_own():
    records = [pair(100, 300, (100 * s, 300), name=f"{s}") for s in (1.1, 1.2, 1.3, 5.0)]
    found = [each["gemm_slowdown", "gemm"].constant for each in baselines_of(records)]
    assert found == pytest.approx([1.3, 1.3, 1.2, 1.2])


def test_the_constant_makes_a_wall_time_of_its_slowest_task():
    records = [pair(100, 300, (200, 360), name="a"), pair(100, 300, (200, 360), name="b")]
    assert baselines_of(records)[0]["wall", ""].constant == pytest.approx(360)


def test_the_constant_is_of_one_suite_and_held_out_records_only():
    records = [pair(100, 300, (150, 330)), pair(100, 300, (150, 330), suite="other")]
    assert baselines_of(records)[0]["gemm_slowdown", "gemm"] == Baselines(1.0, 1.0, None)
    fitted = pair(100, 300, (150, 330), role="calibration", name="b")
    assert baselines_of([records[0], fitted])[0]["gemm_slowdown", "gemm"].constant is None


def test_without_a_measured_isolated_time_there_is_nothing_to_say():
    measured = {"isolated": {"gemm": 100}, "tasks": {"gemm": {"time_us": 120}}, "wall_us": 300}
    (found,) = baselines_of([record({"gather": GATHER, "gemm": GEMM}, measured)])
    assert found["wall", ""] == Baselines(None, None, None)
    assert found["gemm_slowdown", "gemm"] == Baselines(1.0, None, None)
