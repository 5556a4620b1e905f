"""What changed from one run to another: parts add up."""

import pytest

import c3sim
from c3sim.evaluation.differences import by_number, of_explanations, of_runs

PAIR = "gemm-beside-all-gather"
FASTER = {"links.bandwidth": "60 GB/s"}


@pytest.fixture(scope="module")
def runs():
    return [c3sim.run(PAIR, set=each).to_dict() for each in ({}, FASTER)]


def test_the_parts_of_every_change_add_up_to_it(runs):
    found = of_runs(*runs)
    assert found.keys() == {"wall", "gemm", "gather"}
    for each in found.values():
        assert sum(each.parts.values()) == pytest.approx(each.change, abs=1e-12)
    assert found["wall"].change == runs[1]["wall_s"] - runs[0]["wall_s"] < 0


def test_so_do_those_of_explanations():
    before, after = (c3sim.explain(PAIR, set=each).to_dict() for each in ({}, FASTER))
    for each in of_explanations(before, after).values():
        assert sum(each.parts.values()) == pytest.approx(each.change, abs=1e-12)


def test_a_task_that_only_one_run_has_is_shown_without_a_change(runs):
    found = of_runs({**runs[0], "tasks": {}}, runs[1])
    assert found["gather"].before is None and found["gather"].change is None


def test_numbers_share_what_they_do_together():
    """a alone takes 1 s off 10, b alone 2, both 5: the 2 that they do together are halved."""
    walls = {"": 10.0, "a": 9.0, "b": 8.0, "ab": 5.0}
    found = by_number(lambda some: walls["".join(sorted(some))], ["a", "b"])
    assert found == pytest.approx({"a": -2.0, "b": -3.0})
    assert by_number(lambda _: 1.0, ["a"]) == {}
