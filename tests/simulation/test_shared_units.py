"""Compute units that tasks share count once: no counter shows more than the GPU has."""

import pytest

import c3sim

STREAM = {"kind": "stream", "pattern": "copy", "bytes": "64 MiB"}  # a workgroup for each unit
PAIR = {
    "schema": 1,
    "name": "pair",
    "tasks": {name: {**STREAM, "stream": name} for name in ("one", "other")},
    "streams": {"one": {}, "other": {}},
}


def units_of(result):
    (counter,) = (c for c in result.trace.counters if c.name == "gpu0.compute_units")
    return counter


@pytest.mark.parametrize(("node", "most"), [("h200-8", 264), ("mi300x-8", 608)])
def test_shared_units_count_once_and_stand_with_both_tasks(node, most):
    """Each of two kernels puts one workgroup on each of 132 or 304 units."""
    counter = units_of(c3sim.run(PAIR, node=node, trace=True))
    assert max(counter.values) == most / 2 <= counter.maximum
    parts = list(zip(*counter.by_task.values(), strict=True))
    assert max(sum(part) for part in parts) == pytest.approx(most)
    for total, part in zip(counter.values, parts, strict=True):
        assert max(part) <= total <= sum(part)


def test_tasks_that_share_no_unit_add_up():
    """Twelve workgroups beside eight: each fills half of a unit's waves and finds an empty one."""
    tasks = {
        name: {"kind": "hold", "time": "10 us", "workgroups": count, "stream": name}
        for name, count in (("one", 12), ("other", 8))
    }
    counter = units_of(c3sim.run({"tasks": tasks}, node="h200-8", trace=True))
    assert max(counter.values) == 20
