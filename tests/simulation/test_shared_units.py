"""Compute units that tasks share count once: no counter shows more than the GPU has."""

import pytest

import c3sim

PAIR = "gemm-behind-all-gather-by-pytorch"  # its last GEMM still runs beside a kernel of all units


def units_of(result):
    (counter,) = (c for c in result.trace.counters if c.name == "gpu0.compute_units")
    return counter


@pytest.mark.parametrize(
    ("node", "most"), [("h200-8", 240), ("mi300x-8", None)], ids=["h200-8", "mi300x-8"]
)
def test_shared_units_count_once_and_stand_with_both_tasks(node, most):
    """On H200 a GEMM has 108 of the 132 units, then a kernel puts one workgroup on each of them."""
    counter = units_of(c3sim.run(PAIR, node=node, trace=True))
    assert max(counter.values) <= counter.maximum
    parts = list(zip(*counter.by_task.values(), strict=True))
    if most is not None:
        assert max(sum(part) for part in parts) == pytest.approx(most)
    for total, part in zip(counter.values, parts, strict=True):
        assert max(part) <= total <= sum(part)


def test_tasks_that_share_no_unit_add_up():
    """Twelve workgroups beside eight: each fills half of a unit's waves and finds an empty one."""
    tasks = {
        name: {"kind": "hold", "time": "10 us", "workgroups": count, "stream": name}
        for name, count in (("one", 12), ("other", 8))
    }
    workload = {"schema": 1, "name": "apart", "tasks": tasks}
    counter = units_of(c3sim.run(workload, node="h200-8", trace=True))
    assert max(counter.values) == 20
