"""The packaged study of cache policies: its shapes, its rows, its claims."""

import json

import pytest

from c3sim.experiments.study import Options, run_study
from c3sim.experiments.subjects.applications import POLICIES, STATIC, Machines, class_of, guesses
from c3sim.experiments.subjects.served import key_of, packaged
from c3sim.spec.reading.loading import load_study

pytestmark = pytest.mark.turns(5)

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


def test_caching_stores_costs_rows_where_they_are_evicted(result):
    """On the published machine a stream that caches its stores misses rows that it hits uncached;
    with rinsing it does not.
    """
    why = {(each.node, each.application): each for each in result.mechanisms}
    rows = {(each.node, each.application): each.times_s for each in result.rows}
    forward = ("apu", "activation_forward")
    assert why[forward].row_misses > 0.02
    assert rows[forward]["rinsing"] < rows[forward]["cache_rw"]
    assert rows[forward]["rinsing"] <= 1.02 * min(rows[forward][name] for name in STATIC)


def test_the_published_machine_is_a_node_at_the_middle_of_the_guesses():
    middle, _ = guesses(STUDY.machines)
    node = Machines(STUDY.machines, STUDY.node).node("apu", middle)
    assert node.gpu.compute_unit_count == 64
    assert node.gpu.shared_cache == 4 * 2**20
    assert node.gpu.cache_policies.scattered_writes == pytest.approx(0.05**0.5)  # 0.1 to 0.5


def test_every_result_of_the_laboratory_is_packaged():
    """Where shapes, lines or policies change: python -P tools/cache_policies.py."""
    middle, _ = guesses(STUDY.machines)
    names = {"NVIDIA H200": {}, "AMD Instinct MI300X": {}, "apu": middle}
    wanted = {
        key_of(application, name, structure, policy, 1.0)
        for name, structure in names.items()
        for application in STUDY.applications.values()
        for policy in POLICIES
    }
    assert wanted <= set(packaged())
    for found in packaged().values():
        assert found.served.source.startswith("cache laboratory, ")
        assert found.served.held > 0.0


@pytest.mark.parametrize(
    ("cache_r", "cache_rw", "expected"),
    [(0.9, 1.2, "reuse"), (1.0, 1.2, "throughput"), (0.98, 1.02, "insensitive")],
)
def test_classes(cache_r, cache_rw, expected):
    assert class_of({"uncached": 1.0, "cache_r": cache_r, "cache_rw": cache_rw}) == expected
