"""Explanations: the account adds up, and each cause shows where it acts alone."""

import json

import pytest
from made_workload import workload_of

import c3sim
from c3sim.evaluation.explanation import CAUSES
from c3sim.evaluation.shares import SEVERAL, parts_of, runs_of_kinds, shapley
from c3sim.models.capacity import SHARING
from c3sim.spec.reading.library import names
from c3sim.spec.reading.loading import load_node

NODE = load_node("mi300x-8")
GEMM = {"kind": "gemm", "stream": "compute", "m": 8192, "n": 8192, "k": 8192}
GATHER = {"kind": "collective", "stream": "communication", "op": "all_gather", "size": 256 * 2**20}


def workload(**tasks):
    return workload_of(tasks)


PAIR = workload(gemm=GEMM, gather=GATHER)


@pytest.mark.parametrize("strategy", ["base", "sp", "rp:32", "conccl"])
def test_causes_and_left_over_are_the_slowdown(strategy):
    explained = c3sim.explain(PAIR, node=NODE, strategy=strategy)
    result = c3sim.run(PAIR, node=NODE, strategy=strategy)
    assert explained.wall_s == result.wall_s
    for name, task in explained.tasks.items():
        assert set(task.causes_s) == set(CAUSES)
        assert (task.isolated_s, task.time_s) == (
            result.tasks[name].isolated_s,
            result.tasks[name].time_s,
        )
        seconds = task.isolated_s + sum(task.causes_s.values()) + task.left_over_s
        assert seconds == pytest.approx(task.time_s, rel=1e-14)
        assert 1 + sum(task.causes.values()) + task.left_over == pytest.approx(
            task.slowdown, rel=1e-13
        )


def test_every_kind_of_sharing_is_a_cause():
    assert set(SHARING) | {"order", "dependencies"} == set(CAUSES)


def test_a_task_alone_has_nothing_to_explain():
    (task,) = c3sim.explain(workload(gemm=GEMM), node=NODE).tasks.values()
    assert task.slowdown == 1.0
    assert all(
        abs(seconds) <= 1e-12 * task.time_s
        for seconds in (*task.causes_s.values(), task.left_over_s)
    )


def test_a_collective_behind_a_gemm_waited_for_order():
    """Launched second, its channels get no room while the GEMM's workgroups queue: most of what it
    lost is order.
    """
    task = c3sim.explain(PAIR, node=NODE, strategy="base").tasks["gather"]
    assert task.causes_s["order"] > 0.5 * (task.time_s - task.isolated_s)
    first = c3sim.explain(PAIR, node=NODE, strategy="sp").tasks["gather"]
    assert first.causes_s["order"] <= 1e-9


def test_dma_copies_take_no_compute_units():
    tasks = c3sim.explain(PAIR, node=NODE, strategy="conccl").tasks
    for task in tasks.values():
        for cause in ("compute_units", "order"):
            assert abs(task.causes_s[cause]) <= 1e-9 * task.time_s


def test_two_collectives_share_links():
    """Two all-gathers of different streams: each gets half of every link while both run."""
    other = {**GATHER, "stream": "other"}
    tasks = c3sim.explain(workload(one=GATHER, two=other), node=NODE).tasks
    for task in tasks.values():
        assert task.causes_s["links"] > 0.2 * task.isolated_s


def test_kinds_that_act_only_together_share_the_effect():
    """An all-gather on 32 channels beside a GEMM: memory and clock interact. Removal alone does not
    add up to the slowdown; the shares do.
    """
    task = c3sim.explain(PAIR, node=NODE, strategy="rp:32").tasks["gather"]
    lost = task.time_s - task.isolated_s
    assert sum(task.removal_s.values()) > 1.05 * lost
    assert sum(task.causes_s.values()) == pytest.approx(lost, rel=1e-6)


def test_a_share_is_the_mean_over_all_orders():
    """Two kinds a, b with T() = 10, T(a) = 12, T(b) = 11, T(ab) = 17. Share of a: the mean of
    12 - 10 and 17 - 11, 4; of b: of 11 - 10 and 17 - 12, 3.
    """
    ends = {"": 10.0, "a": 12.0, "b": 11.0, "ab": 17.0}
    found = shapley(("a", "b"), lambda kinds: ends["".join(sorted(kinds))])
    assert found == {"a": pytest.approx(4.0), "b": pytest.approx(3.0)}


@pytest.mark.parametrize(("orders", "runs"), [(True, 16), (False, 10)])
def test_a_bounded_set_of_runs_gives_what_kinds_add_first_and_last(orders, runs):
    """Four kinds that add 1 s each, a and b together 2 s more, a, b and c 6 s more. First and last,
    a adds 1 and 1 + 2 + 6: 5; b too; c 1 and 1 + 6: 4; d 1. They are 15 of 12 s, and 3 s less is of
    three. Over all orders those 6 s are 2 s each: 1 + 1 + 2 of a and b, 1 + 2 of c.
    """

    def time(kinds):
        return {"wall": 10.0 + len(kinds) + 2 * ({*"ab"} <= kinds) + 6 * ({*"abc"} <= kinds)}

    found, matter = runs_of_kinds(time, dict, "abcd", orders=orders)
    assert len(found) == runs
    part = parts_of(found, "abcd", matter)["wall"]
    every, ends = dict(a=4, b=4, c=3, d=1), {"a": 5, "b": 5, "c": 4, "d": 1, SEVERAL: -3}
    assert part.causes_s == pytest.approx(every if orders else ends)
    assert part.unshared_s == pytest.approx(10.0)


@pytest.mark.slow
@pytest.mark.turns(5)
@pytest.mark.parametrize(
    "name", sorted({*names("workload")} - {"gemm-behind-all-gather-by-pytorch"})
)
def test_a_large_cause_or_remainder_says_why(name):
    """No cause is longer than the task alone, and no more than 5 % is left over, without a
    reason.
    """
    for task in c3sim.explain(name).tasks.values():
        for cause, share in task.causes.items():
            said = any(text.startswith(cause.replace("_", " ")) for text in task.reasons)
            assert abs(share) <= 1 or said, (cause, share)
        said = any(text.startswith("left over") for text in task.reasons)
        assert abs(task.left_over) <= 0.05 or said, task.left_over


def test_a_wait_longer_than_the_task_names_what_it_waits_for():
    small = {**GATHER, "size": 16 * 2**20}
    task = c3sim.explain(workload(gemm=GEMM, gather=small), node=NODE).tasks["gather"]
    assert task.causes["order"] > 1
    (reason,) = task.reasons
    assert reason.startswith("order") and "gemm" in reason


def test_waiting_for_another_task_is_a_dependency():
    """The second GEMM waits for the first and meets nobody: its time is the first one's and its
    own.
    """
    tasks = c3sim.explain(
        workload(a=GEMM, b={**GEMM, "stream": "other", "after": ["a"]}), node=NODE
    ).tasks
    assert tasks["b"].causes_s["dependencies"] == pytest.approx(tasks["a"].time_s, rel=1e-9)
    assert abs(tasks["b"].left_over) < 1e-6


def test_the_plain_data_are_what_tables_read():
    data = json.loads(json.dumps(c3sim.explain(PAIR, node=NODE, strategy="sp").to_dict()))
    assert (data["workload"], data["node"], data["strategy"]) == ("w", "mi300x-8", "sp")
    for task in data["tasks"].values():
        assert {"isolated_s", "time_s", "slowdown", "causes", "left_over"} <= set(task)


def test_a_workload_of_operators_is_told_by_class() -> None:
    """Beside an all-gather two operators of 100 us run one after the other; what they share adds up
    to what they take together.
    """
    tasks = {
        "norm": {"kind": "kernel", "operator": "normalisation", "time": "100 us", "stream": "s"},
        "attention": {"kind": "kernel", "operator": "attention", "time": "100 us", "stream": "s"},
        "gather": {"kind": "collective", "op": "all_gather", "size": "64 MiB"},
    }
    workload = workload_of(tasks)
    classes = c3sim.run(workload, node="h200-4").overlap.classes
    assert classes["attention"].busy_s >= 100e-6 <= classes["normalisation"].busy_s
    assert classes["communication"].exposed_s >= 0 == classes["gemm"].busy_s
    parts = c3sim.explain(workload, node="h200-4").parts
    assert set(parts) == {"wall", "exposed", "normalisation", "attention", "communication"}
    for part in parts.values():
        assert part.unshared_s + sum(part.causes_s.values()) == pytest.approx(part.time_s)


def test_a_kernel_that_waits_inside_says_so_and_for_whom():
    """The second product ends at least its last tiles behind the first one; alone it takes a
    quarter as long. Nothing is left over.
    """
    product = {"kind": "gemm", "m": 8192, "n": 4096}
    first = {**product, "k": 8192, "stream": "one"}
    second = {**product, "k": 2048, "stream": "two", "awaits": ["first"]}
    tasks = c3sim.explain(workload_of({"first": first, "second": second}), node="h200-1").tasks
    found, leading = tasks["second"], tasks["first"].isolated_s
    assert leading - found.isolated_s < found.causes_s["awaited_tiles"] < leading
    assert abs(found.left_over) < 0.001
    assert any("until tiles of first end" in text for text in found.reasons)
    assert tasks["first"].causes_s["awaited_tiles"] == pytest.approx(0.0, abs=1e-9)


def test_what_stands_behind_a_waiting_kernel_of_another_stream_waits_in_its_queue():
    """In one queue the third waits for the second, which waits for the first; of the second that is
    a dependency.
    """
    kernel = {"kind": "kernel", "time": "20 us", "read": "1 MiB", "flops": 0}
    tasks = {
        "first": {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "stream": "a"},
        "second": {**kernel, "stream": "b", "after": ["first"]},
        "third": {**kernel, "stream": "c", "workgroups": 8},
    }
    found = c3sim.explain({"tasks": tasks, "host": {"queues": 1}}, node="h200-1").tasks
    first = found["first"].time_s
    assert found["third"].causes_s["queue"] == pytest.approx(first, rel=0.05)
    assert found["third"].causes_s["dependencies"] == pytest.approx(0.0, abs=1e-6)
    assert found["second"].causes_s["queue"] == pytest.approx(0.0, abs=1e-6)
    assert found["second"].causes_s["dependencies"] == pytest.approx(first, rel=0.05)
    assert any("hardware queue" in text for text in found["third"].reasons)
    without = c3sim.explain({"tasks": tasks}, node="h200-1").tasks
    assert "queue" not in without["third"].causes_s
