"""The sight of measurements of a number."""

import pytest
from made_records import GEMM, line, write

from c3sim.errors import InputError
from c3sim.spec.reading.loading import load_hardware
from c3sim.validation.compare import coverage_suite
from c3sim.validation.compare.coverage import Number, Sight, numbers_of, with_value
from c3sim.validation.compare.coverage_suite import (
    FIRST,
    ROWS,
    coverage,
    errors_of,
    key_of,
    parts_of,
    thinned,
)
from c3sim.validation.compare.figures import compare_record
from c3sim.validation.compare.record_files import load, nodes_for
from c3sim.validation.compare.verdict import validate

LOADED = load_hardware("mi300x-8")
NUMBERS = {number.path: number for number in numbers_of({"mi300x-8": LOADED})}


def number(path: str) -> Number:
    return NUMBERS[path]


def test_numbers_are_those_of_the_files_but_for_the_conditions_of_records():
    assert "gpu.hbm.bandwidth" in NUMBERS and "gpu.dma_engines.count" in NUMBERS
    assert "gpus" not in NUMBERS and "links.topology" not in NUMBERS


def test_nodes_that_share_a_file_share_its_numbers():
    both = {name: load_hardware(name) for name in ("h200-2", "h200-4")}
    assert {each.nodes for each in numbers_of(both, "gpu.hbm")} == {("h200-2", "h200-4")}


def test_only_takes_a_number_or_what_lies_below():
    nodes = {"mi300x-8": LOADED}
    assert [each.path for each in numbers_of(nodes, "gpu.hbm.latency")] == ["gpu.hbm.latency"]
    assert all(each.path.startswith("links.") for each in numbers_of(nodes, "links"))
    with pytest.raises(InputError, match=r"'gpu\.hb'"):
        numbers_of(nodes, "gpu.hb")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        # 350 ns
        ("gpu.hbm.latency", (245e-9, 490e-9)),
        # 14 engines
        ("gpu.dma_engines.count", (10, 20)),
        # an integer moves by one at least, and stays above 0
        ("links.per_peer", (2,)),
        # 0 s: the far end of [0 s, 8 us]
        ("collective_libraries.rccl.launch_latency", (8e-6,)),
        # 0 without an interval
        ("gpu.clock.power_window", ()),
    ],
)
def test_what_takes_the_place_of_a_number(path, values):
    assert number(path).values == pytest.approx(values)


def test_a_value_is_set_in_its_unit():
    assert with_value(LOADED.node, number("gpu.hbm.latency"), 1e-7).gpu.hbm.latency == 1e-7
    with pytest.raises(InputError):
        with_value(LOADED.node, number("gpu.hbm.read_efficiency"), 1.3)


def test_large_suites_are_thinned_evenly():
    assert list(thinned(range(10), ROWS)) == list(range(10))
    assert list(thinned(range(10 * ROWS), ROWS)) == list(range(0, 10 * ROWS, 10))


def gemm_file(tmp_path, name: str = "mine"):
    """A record that the model predicts exactly."""
    exact = line({"gemm": GEMM}, {"isolated": {"gemm": 1.0}}, suite=name)
    file = write(tmp_path / f"{name}.jsonl", exact)
    (record,) = load([file])
    (figure,) = compare_record(nodes_for([record])["mi300x-8"].node, record)
    exact["measured"]["isolated"]["gemm"] = figure.predicted
    return str(write(file, exact))


def sight(file: str, path: str) -> Sight:
    """The sight that the suites of *file* have of the number at *path*."""
    (found,) = coverage([file], path, 1)
    return found


def test_a_suite_notices_what_moves_its_median(tmp_path):
    """The time of a compute-bound GEMM follows the rate of its compute units; it uses no link, and
    the room on a compute unit is read, but it has enough.
    """
    file = gemm_file(tmp_path)
    rate = sight(file, "gpu.compute_units.flops_per_cycle.bf16")
    assert (rate.state, rate.bound, rate.moves) == ("moves", (), ("mine",))
    assert sight(file, "links.bandwidth").state == "unread"
    assert sight(file, "gpu.compute_units.wave_registers").state == "nothing"
    assert sight(file, "gpu.clock.power_window").state == "not tried"


def test_a_bound_that_is_missed_counts_more_than_a_median_that_moves(tmp_path):
    """A suite with a packaged name is held to its bounds, 6 % here."""
    rate = sight(
        gemm_file(tmp_path, "gemm_channels_alone"), "gpu.compute_units.flops_per_cycle.bf16"
    )
    assert (rate.state, rate.bound, rate.moves) == ("bound", ("gemm_channels_alone",), ())


def test_a_single_figure_that_moves_counts_less_than_a_median(tmp_path):
    """Two GEMMs of bf16 and one of fp8: the rate of fp8 moves one of three figures, no median."""
    tasks = [GEMM, {**GEMM, "m": 2048}, {**GEMM, "dtype": "fp8"}]
    lines = [line({"gemm": task}, {"isolated": {"gemm": 1.0}}, suite="mine") for task in tasks]
    records = load([write(tmp_path / "mine.jsonl", *lines)])
    node = nodes_for(records)["mi300x-8"].node
    for one, record in zip(lines, records, strict=True):
        one["measured"]["isolated"]["gemm"] = compare_record(node, record)[0].predicted
    rate = sight(
        str(write(tmp_path / "mine.jsonl", *lines)), "gpu.compute_units.flops_per_cycle.fp8"
    )
    assert (rate.state, rate.rows) == ("rows", ("mine",))


def test_what_a_suite_rests_on_follows_its_figures_and_its_predictions(tmp_path):
    file = gemm_file(tmp_path)
    key = key_of((file,), "mine")
    assert key["errors"] == {"isolated_gemm": [0.0, 0.0]}
    slower = line({"gemm": GEMM}, {"isolated": {"gemm": 1e6}}, suite="mine")
    other = key_of((str(write(tmp_path / "other.jsonl", slower)),), "mine")
    assert other["data"] != key["data"] and other["errors"] != key["errors"]


def test_a_verdict_on_the_same_rows_tells_their_errors_without_a_run(tmp_path, monkeypatch):
    slower = line({"gemm": GEMM}, {"isolated": {"gemm": 1e6}}, suite="mine")
    fitted = line({"gemm": {**GEMM, "m": 2048}}, {"isolated": {"gemm": 90.0}}, suite="mine")
    fitted["role"] = "calibration"
    file = str(write(tmp_path / "mine.jsonl", slower, slower, fitted))
    key, records = key_of((file,), "mine"), load([file])
    verdict = validate(records, nodes_for(records), jobs=1).to_dict()
    monkeypatch.setattr(coverage_suite, "predict_record", None)
    assert key_of((file,), "mine", errors_of(verdict)) == key


def test_bounds_are_read_once_however_many_numbers_are_tried(tmp_path, monkeypatch):
    """They take a tenth of a second, and a run scores thousands of metrics."""
    read, real = [], coverage_suite.load_bounds
    monkeypatch.setattr(coverage_suite, "load_bounds", lambda: read.append(1) or real())
    coverage([gemm_file(tmp_path)], "gpu.hbm", jobs=1)
    assert len(read) <= 1


def test_suites_can_be_run_alone(tmp_path):
    files = (gemm_file(tmp_path), gemm_file(tmp_path, "yours"))
    assert {suite for suite, _ in parts_of(files)} == {"mine", "yours"}
    assert {suite for suite, _ in parts_of(files, {"yours"})} == {"yours"}
    assert FIRST < ROWS
