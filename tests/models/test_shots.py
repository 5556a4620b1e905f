"""All-reduce by stores, in one shot and in two."""

from __future__ import annotations

import pytest
from made_workload import run_of

from c3sim.models.collective_counts import COUNTS, shot_primitives
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node

H200 = load_node("h200-2")


def wall(size: str, algorithm: str, node=H200, backend: str = "probe") -> float:
    task = {"kind": "collective", "op": "all_reduce", "size": size, "backend": backend}
    tasks = {"reduce": {**task, "algorithm": algorithm, "channels": 64}}
    return run_of(tasks, node).end


def test_counts_by_hand():
    """Four ranks, in quarters of the message: one shot sends 4 to each of 3 peers; two shots send 3
    shards, then 3 sums.
    """
    assert COUNTS["all_reduce", "one_shot"](4).sent == 12
    assert COUNTS["all_reduce", "two_shot"](4).sent == 6
    assert [COUNTS["all_reduce", name](4).steps for name in ("one_shot", "two_shot")] == [1, 2]


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("algorithm", ["one_shot", "two_shot"])
def test_primitives_send_all_that_is_sent(algorithm, ranks):
    assert sum(sent for _, sent in shot_primitives(H200.gpu, algorithm, ranks)) == 1.0


def test_one_shot_wins_small_and_two_shots_win_large():
    assert wall("8 KiB", "one_shot") < wall("8 KiB", "two_shot")
    eight = load_node("mi300x-8")
    assert wall("64 KiB", "one_shot", eight, "rccl") < wall("64 KiB", "two_shot", eight, "rccl")
    assert wall("4 MiB", "two_shot", eight, "rccl") < wall("4 MiB", "one_shot", eight, "rccl")


def test_a_flag_costs_each_step_once():
    stores = H200.gpu.remote_stores
    slow = stores.changed(flag_time=stores.flag_time + 1e-6)
    node = H200.changed(gpu__remote_stores=slow)
    for algorithm, steps in (("one_shot", 1), ("two_shot", 2)):
        more = wall("8 KiB", algorithm, node) - wall("8 KiB", algorithm)
        assert more == pytest.approx(steps * 1e-6, rel=0.02)


def test_a_shot_has_the_hosts_launch_and_not_the_librarys_call():
    """The calls of a loop bind it: 50 us each, whichever of the two is long."""
    node = load_node("mi355x-8")
    called = node.changed(collective_libraries__rccl__enqueue_time=50e-6)
    launched = node.changed(host__launch_time=50e-6)
    shot, ring = {"algorithm": "one_shot"}, {"algorithm": "ring"}
    assert looped(launched, shot) == pytest.approx(50e-6) == looped(called, ring)
    assert looped(called, shot) == looped(node, shot) < 10e-6


def looped(node: Node, how: dict[str, str]) -> float:
    """Seconds of an all-reduce of 8 KiB in a loop of the host."""
    reduce = {"kind": "collective", "op": "all_reduce", "size": "8 KiB", **how}
    return run_of({"reduce": reduce}, node, host={"launch": "looped"}).end
