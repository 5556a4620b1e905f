"""The packaged study of cache policies: its shapes, its rows, its claims."""

import json

import pytest

from c3sim.experiments.study import Options, run_study
from c3sim.experiments.subjects.applications import (
    POLICIES,
    STATIC,
    Machines,
    class_of,
    guesses,
    launches_of,
)
from c3sim.spec.reading.loading import load_study

STUDY = load_study("cache-policies")


@pytest.fixture(scope="module")
def result():
    return run_study(STUDY, Options(draws=2))


def test_seventeen_applications_on_three_machines_under_seven_policies(result):
    data = json.loads(json.dumps(result.to_dict()))
    assert len(STUDY.applications) == 17
    assert len(data["rows"]) == 3 * 17
    for row in data["rows"]:
        assert set(row) == {"node", "application", "class", "times_s"}
        assert set(row["times_s"]) == set(POLICIES)
        assert row["class"] == class_of(row["times_s"])
    assert set(data["adaptive_worst_loss"]) == {"apu", "mi300x-8", "h200-8"}
    assert all(0.0 <= share <= 1.0 for share in data["claims"].values())


def test_an_optimisation_is_a_switch_of_the_same_machine(result):
    """On the published machine rinsing takes away what rows cost, so that stores are as quick as
    uncached ones; where memory's efficiencies were measured, rows cost nothing.
    """
    for row, why in zip(result.rows, result.mechanisms, strict=True):
        assert (row.node, row.application) == (why.node, why.application)
        assert row.times_s["rinsing"] <= row.times_s["cache_rw"]
        assert (why.row_hits < 0.9) == (row.node == "apu")
        assert why.rows == pytest.approx(0.0) or row.node == "apu"
    (forward,) = (
        row for row in result.rows if (row.node, row.application) == ("apu", "activation_forward")
    )
    assert forward["class"] == "throughput"
    assert forward.times_s["rinsing"] == pytest.approx(min(forward.times_s[p] for p in STATIC))


def test_the_published_machine_is_a_node_at_the_middle_of_the_guesses():
    middle, _ = guesses(STUDY.machines)
    node = Machines(STUDY.machines, STUDY.node).node("apu", middle)
    assert node.gpu.compute_unit_count == 64
    assert node.gpu.shared_cache == 4 * 2**20
    assert node.gpu.cache_policies.evicted_together == pytest.approx(8**0.5)


def test_accesses_follow_from_shapes():
    (forward,) = launches_of(STUDY.applications["activation_forward"])
    size = 128 * 96 * 55 * 55 * 4
    assert [access.bytes for access in forward.accesses] == [size, size]
    (gemm,) = launches_of(STUDY.applications["gemm_fp64"])
    assert gemm.accesses[0].bytes == 5124 * 2048 * 8
    assert gemm.flops == 2 * 5124 * 700 * 2048
    (lstm,) = launches_of(STUDY.applications["lstm_forward"])
    assert lstm.accesses[0].bytes == 2 * 4 * 512**2 * 4
    assert lstm.accesses[0].again == 24


@pytest.mark.parametrize(
    ("cache_r", "cache_rw", "expected"),
    [(0.9, 1.2, "reuse"), (1.0, 1.2, "throughput"), (0.98, 1.02, "insensitive")],
)
def test_classes(cache_r, cache_rw, expected):
    assert class_of({"uncached": 1.0, "cache_r": cache_r, "cache_rw": cache_rw}) == expected
