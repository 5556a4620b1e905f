"""Calibration: known parameters are found again, held-out records never get in, what the data leave
open stays.
"""

from __future__ import annotations

import pytest
from made_records import as_measured, pair, record
from made_workload import workload_of

from c3sim.errors import InputError
from c3sim.experiments.kept import Interrupted, resuming
from c3sim.spec.reading.loading import load_hardware, load_node
from c3sim.validation.compare.figures import compare_record
from c3sim.validation.compare.record_files import data_hash, load
from c3sim.validation.fit.calibrate import calibrate, groups, shares
from c3sim.validation.fit.fit import Parameter, Problem, fit, set_values, usable

pytestmark = pytest.mark.turns(5)

NODE = load_node("mi300x-8")
READ, LINK, ENQUEUE = (
    "gpu.hbm.read_efficiency",
    "links.bandwidth",
    "collective_libraries.rccl.enqueue_time",
)


def stream(size: int) -> dict:
    return {"kind": "stream", "pattern": "read", "bytes": size}


@pytest.fixture(scope="module")
def synthetic():
    """Isolated streams and collectives, as the simulator itself measures them on the known node."""
    tasks = [stream(2**30 * i) for i in (1, 2, 4)]
    tasks += [
        {"kind": "collective", "op": "all_gather", "size": 2**i, "dtype": "bf16"}
        for i in (12, 14, 26, 28, 30)
    ]
    made = [
        record({"a": task}, {"isolated": {"a": 1.0}}, role="calibration", name=str(i))
        for i, task in enumerate(tasks)
    ]
    looped = [each.changed(workload__host__launch="looped") for each in made]
    return as_measured(NODE, looped)


def test_three_wrong_parameters_are_found_again(synthetic):
    known = {
        READ: NODE.gpu.hbm.read_efficiency,
        LINK: NODE.links.bandwidth,
        ENQUEUE: NODE.collective_libraries["rccl"].enqueue_time,
    }
    wrong = {READ: known[READ] * 0.75, LINK: known[LINK] * 0.8, ENQUEUE: known[ENQUEUE] * 1.3}
    parameters = [
        Parameter(path=READ, interval=(0.5, 1.0), start=wrong[READ]),
        Parameter(path=LINK, interval=(30e9, 60e9), start=wrong[LINK]),
        Parameter(path=ENQUEUE, interval=(8e-6, 20e-6), start=wrong[ENQUEUE]),
    ]
    found = fit(set_values(NODE, wrong), synthetic, parameters)
    for each in found.parameters:
        assert each.identified, each
        assert each.value == pytest.approx(known[each.path], rel=0.02), each
    assert max(map(abs, found.residuals)) < 0.02


def test_an_interrupted_fit_goes_on_to_the_same_values(synthetic, tmp_path, monkeypatch):
    """Ctrl-C at the tenth time that all eight records are predicted: nine are not predicted again,
    but for the first one, whose figures are counted.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parameters = [Parameter(path=READ, interval=(0.5, 1.0), start=0.7)]
    whole, predicted = Problem.cases, []

    def cases(problem, values):
        predicted.append(values)
        if len(predicted) == stop:
            raise KeyboardInterrupt
        return whole(problem, values)

    monkeypatch.setattr(Problem, "cases", cases)
    stop = 10
    with pytest.raises(Interrupted, match="8 pieces of work are kept"), resuming():
        fit(NODE, synthetic, parameters)
    stop = 0
    predicted.clear()
    with resuming():
        found = fit(NODE, synthetic, parameters)
    rest = len(predicted)
    predicted.clear()
    assert fit(NODE, synthetic, parameters).parameters == found.parameters
    assert rest == len(predicted) - 8


def test_what_the_data_leave_open_keeps_its_value_and_the_result_says_so(synthetic):
    unseen = Parameter(
        path="gpu.gemm_libraries.triton.enqueue_time", interval=(0.0, 60e-6), start=33e-6
    )
    seen = Parameter(path=READ, interval=(0.5, 1.0), start=0.7)
    found = fit(NODE, synthetic, [unseen, seen])
    assert not found.parameters[0].identified
    assert (found.parameters[0].value, found.parameters[0].low, found.parameters[0].high) == (
        33e-6,
        0.0,
        60e-6,
    )
    assert found.parameters[1].identified
    assert found.parameters[1].value == pytest.approx(NODE.gpu.hbm.read_efficiency, rel=0.02)


def test_two_parameters_that_only_their_product_shows_are_not_both_believed(synthetic):
    """Memory bandwidth and its efficiency: a read sees one number."""
    streams = [each for each in synthetic if each.workload.tasks["a"].kind == "stream"]
    parameters = [
        Parameter(path=READ, interval=(0.5, 1.0), start=0.9),
        Parameter(path="gpu.hbm.bandwidth", interval=(3e12, 8e12), start=5.3e12),
    ]
    found = fit(NODE, streams, parameters)
    assert sum(each.identified for each in found.parameters) < 2
    product = found.node.gpu.hbm.bandwidth * found.node.gpu.hbm.read_efficiency
    assert product == pytest.approx(NODE.gpu.hbm.bandwidth * NODE.gpu.hbm.read_efficiency, rel=0.02)


def test_a_validation_record_never_reaches_a_fit(synthetic):
    held = [each.changed(role="validation") for each in synthetic[:1]]
    parameter = Parameter(path=READ, interval=(0.5, 1.0), start=0.9)
    with pytest.raises(InputError, match="only calibration records may be fitted to"):
        fit(NODE, [*synthetic, *held], [parameter])
    with pytest.raises(InputError, match="no calibration record of mi300x-8"):
        calibrate("mi300x-8", [each.changed(suite="gemm_fp8") for each in held])


def test_a_gemm_beside_a_collective_never_reaches_a_fit():
    with pytest.raises(InputError, match="runs collective and gemm together"):
        usable([pair(250, 800, (400, 900), role="calibration")])


@pytest.mark.parametrize(
    ("kinds", "allowed"),
    [
        (("gemm", "hold"), True),
        (("gemm", "stream"), True),
        (("gemm", "copy", "hold"), True),
        (("collective", "stream"), True),
        (("collective", "hold"), True),
        (("stream", "copy"), True),
        (("collective", "copy"), False),
        (("gemm", "gemm"), False),
        (("gemm", "commands"), False),
        (("gemm", "hold", "collective"), False),
    ],
)
def test_stress_pairs_may_be_fitted_to(kinds, allowed):
    tasks = {
        "gemm": {"kind": "gemm", "m": 256, "n": 256, "k": 256},
        "hold": {"kind": "hold", "workgroups": 4, "time": "1 ms"},
        "stream": {"kind": "stream", "bytes": "1 MiB"},
        "copy": {"kind": "copy", "bytes": "1 MiB"},
        "collective": {"kind": "collective", "op": "all_gather", "size": "1 MiB"},
        "commands": {"kind": "commands", "program": [{"op": "copy", "bytes": "1 MiB", "peer": 1}]},
    }
    named = {f"t{i}": tasks[kind] for i, kind in enumerate(kinds)}
    workload = workload_of(named)
    record = pair(250, 800, (400, 900), role="calibration").changed(workload=workload)
    if allowed:
        assert usable([record]) == [record]
    else:
        with pytest.raises(InputError, match="never a GEMM together with a collective"):
            usable([record])


@pytest.mark.slow
def test_held_out_records_do_not_change_a_fit():
    ours = [each for each in load() if each.suite == "gemm_fp8"]
    held = [each for each in ours if each.role == "validation"]
    free = [each for each in ours if each.role == "calibration"][::20]
    wrong = [each.changed(measured__isolated={"gemm": 1e6}) for each in held]
    one = calibrate("mi300x-8", free, "gemm_fp8")
    other = calibrate("mi300x-8", [*wrong, *free], "gemm_fp8")
    assert one.groups[0].fit == other.groups[0].fit
    assert (one.held_out, other.held_out) == (0, len(held))
    assert one.groups[0].hash == other.groups[0].hash == data_hash(free)


@pytest.mark.slow
def test_groups_are_what_is_fitted_to_the_same_suites_memory_first():
    found = groups(load_hardware("mi300x-8"))
    suites = {each.suite for each in load() if each.role == "calibration"}
    assert all(set(group.suites) <= suites for group in found)
    firsts = [next(iter(group.leaves)).split(".")[0:2] for group in found]
    assert firsts[0][0] == "gpu" and firsts[-1][0] == "host_profiles"
    with pytest.raises(InputError, match="did you mean 'gemm_fp8'"):
        groups(load_hardware("mi300x-8"), "gemm_fp")


def test_libraries_are_fitted_to_every_number_of_ranks_and_the_rest_to_the_nodes_own_records():
    """h200-4 has the library from the file of h200-2, its own number of GPUs, and the same GPU."""
    two, four = load_hardware("h200-2"), load_hardware("h200-4")
    shared = {group.suites: group for group in groups(two) if shares(group, four)}
    assert ("h200_collective", "h200_nccl_loop") in shared
    paths = [path for group in shared.values() for path in group.leaves]
    assert all(path.startswith("collective_libraries.") for path in paths)
    assert not any(shares(group, load_hardware("mi300x-8")) for group in groups(two))


@pytest.mark.slow
def test_records_are_predicted_on_the_node_they_ran_on():
    found = {each.node: each for each in load() if each.suite == "h200_collective"}
    nodes = {name: load_node(name) for name in ("h200-2", "h200-4")}
    path = "collective_libraries.nccl.launch_latency"
    problem = Problem(nodes["h200-2"], list(found.values()), [], {"h200-4": nodes["h200-4"]})
    later = {case.record.node: case.predicted for case in problem.cases({path: 1e-3})}
    for name, one in found.items():
        (own,) = compare_record(set_values(nodes[name], {path: 1e-3}), one)
        assert later[name] == own.predicted > 1000
