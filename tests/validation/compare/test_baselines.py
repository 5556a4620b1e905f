"""Plain predictors, by hand: three of concurrent runs, and times alone from data sheets."""

import pytest
from made_records import GATHER, GEMM, pair, record
from made_workload import workload_of

from c3sim.spec.reading.loading import load_node
from c3sim.validation.compare.baselines import Baselines, baselines_of, roofline

NODE = load_node("mi300x-8")


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


def test_a_sleep_that_nobody_measured_alone_is_left_out():
    sleep = {"kind": "hold", "workgroups": 1, "time": 50e-6, "stream": "s"}
    tasks = {"gather": GATHER, "sleep": sleep, "gemm": {**GEMM, "stream": "s"}}
    measured = {"isolated": {"gemm": 100, "gather": 300}, "tasks": {}, "wall_us": 330}
    (found,) = baselines_of([record(tasks, measured)])
    assert (found["wall", ""].max, found["wall", ""].sum) == (300, 400)
    tasks["sleep"]["stream"] = "own"
    assert baselines_of([record(tasks, measured)])[0]["wall", ""].sum is None


def time(task: dict[str, object], **more: object) -> float | None:
    return roofline(NODE, workload_of({"a": task}, **more), "a")


def test_a_large_gemm_takes_its_flop_at_the_peak_rate():
    """304 CUs x 2048 FLOP per cycle at 2.1 GHz: 1307.4 TFLOP/s, as in the data sheet.
    2 x 8192^3 / 1307.4e12 = 841 us; half of the compute units take twice as long.
    """
    gemm = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "stream": "s"}
    whole = time(gemm)
    assert whole == pytest.approx(841e-6, rel=1e-3)
    assert time(gemm, streams={"s": {"compute_units": 152}}) == pytest.approx(2 * whole)


def test_a_gemm_of_one_row_takes_its_operands_at_the_peak_of_the_memory():
    """1 x 8192 and 8192 x 8192 elements of 2 B in, 1 x 8192 out, at 5.3 TB/s."""
    moved = 2 * (8192 + 8192 * 8192 + 8192)
    assert time({"kind": "gemm", "m": 1, "n": 8192, "k": 8192}) == pytest.approx(moved / 5.3e12)


def test_a_triad_reads_two_arrays_and_writes_one():
    triad = {"kind": "stream", "pattern": "triad", "bytes": 2**30, "passes": 2}
    assert time(triad) == pytest.approx(6 * 2**30 / 5.3e12)
    assert time({**triad, "flops_per_byte": 8.0}) is None


def test_a_collective_fills_all_links_of_a_gpu():
    """All-gather of 8 parts over 7 links of 64 GB/s: one part over each. All-reduce: twice."""
    gather = {"kind": "collective", "op": "all_gather", "size": 2**30}
    assert time(gather) == pytest.approx(2**27 / 64e9)
    assert time({**gather, "op": "all_reduce"}) == pytest.approx(2 * 2**27 / 64e9)


def test_copies_take_the_link_and_within_a_gpu_the_memory_twice():
    copy = {"kind": "copy", "bytes": 2**30}
    assert time(copy) == pytest.approx(2**30 / 64e9)
    assert time({**copy, "destination": "gpu", "repeat": 3}) == pytest.approx(6 * 2**30 / 5.3e12)


def test_what_data_sheets_do_not_tell_has_no_roofline():
    assert time({"kind": "hold", "workgroups": 8, "time": 1e-3}) is None
