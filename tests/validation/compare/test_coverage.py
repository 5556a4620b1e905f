"""What measurements see of a number."""

import json

import pytest
from made_records import GEMM, line, write

from c3sim.errors import InputError
from c3sim.input.loading import load_hardware
from c3sim.validation.compare.coverage import (
    MOST,
    POINT,
    Number,
    concerns,
    coverage,
    numbers_of,
    sight,
    thinned,
    with_value,
)
from c3sim.validation.compare.figures import compare_record
from c3sim.validation.compare.nodes import nodes_for
from c3sim.validation.compare.record_files import load

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


def test_a_number_concerns_the_runs_that_use_its_owner():
    records = {record.suite: record for record in load() if record.node == "mi300x-8"}
    engine = number("gpu.dma_engines.latency")
    assert concerns(engine, records["sdma_collective_large"])
    assert not concerns(engine, records["gemm_cu_sweep"])
    assert concerns(number("gpu.hbm.latency"), records["gemm_cu_sweep"])
    assert not concerns(number("gpu.operators.contiguous"), records["gemm_cu_sweep"])
    assert not concerns(number("host_profiles.framework.launch_time"), records["gemm_cu_sweep"])


def test_large_suites_are_thinned_evenly():
    assert list(thinned(range(10))) == list(range(10))
    assert list(thinned(range(10 * MOST))) == list(range(0, 10 * MOST, 10))


def gemm_file(tmp_path, name: str = "mine"):
    """A record that the model predicts exactly."""
    exact = line({"gemm": GEMM}, {"isolated": {"gemm": 1.0}}, suite=name)
    file = write(tmp_path / f"{name}.jsonl", exact)
    (record,) = load([file])
    (figure,) = compare_record(nodes_for([record])["mi300x-8"].node, record)
    exact["measured"]["isolated"]["gemm"] = figure.predicted
    return str(write(file, exact))


def test_a_suite_notices_what_moves_its_median(tmp_path):
    """The time of a compute-bound GEMM follows the rate of its compute units; it uses no link."""
    file = gemm_file(tmp_path)
    rate = sight((file,), number("gpu.compute_units.flops_per_cycle.bf16"))
    assert (rate.state, rate.bound, rate.moves) == ("moves", (), ("mine",))
    link = sight((file,), number("links.bandwidth"))
    assert (link.state, link.seen) == ("nothing", False)
    assert sight((file,), number("gpu.clock.power_window")).state == "not tried"


def test_a_bound_that_is_missed_counts_more_than_a_median_that_moves(tmp_path):
    """A suite with a packaged name is held to its bounds, 6 % here."""
    file = gemm_file(tmp_path, "gemm_channels_alone")
    rate = sight((file,), number("gpu.compute_units.flops_per_cycle.bf16"))
    assert (rate.state, rate.bound, rate.moves) == ("bound", ("gemm_channels_alone",), ())


def test_half_a_point_is_the_least_that_counts():
    assert POINT == 0.005


@pytest.mark.slow
def test_all_numbers_below_a_path_over_processes(tmp_path):
    done = []
    file = gemm_file(tmp_path)
    found = list(coverage([file], "gpu.hbm", 2, lambda count, total: done.append((count, total))))
    assert {each.number.path for each in found} == {
        path for path in NUMBERS if path.startswith("gpu.hbm.")
    }
    assert done[-1] == (len(found), len(found))
    assert json.loads(json.dumps([each.to_dict() for each in found]))
