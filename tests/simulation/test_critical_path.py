"""The least time of a workload: chains, resources, shares of a predecessor; times by hand."""

from __future__ import annotations

import pytest
from made_workload import workload_of
from steps import steps

from c3sim.simulation.critical_path import begins, least_time, precedence, tails
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import plan as resolve

NODE = load_node("mi300x-8")  # 304 compute units
GEMM = {"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "schedule": "persistent"}  # fills them
GATHER = {"kind": "collective", "op": "all_gather", "size": 2**20}


def workload(**tasks: object) -> Workload:
    return workload_of(tasks)


def least(given: Workload, ready: dict[str, float] | None = None, **lengths: float) -> float:
    plan = precedence(resolve(given, NODE))
    return least_time(plan, dict.fromkeys(given.tasks, 0.0) | (ready or {}), lengths)


def test_of_a_pair_it_is_the_longer_task():
    pair = workload(gemm=GEMM, gather=GATHER)
    assert least(pair, gemm=3.0, gather=2.0) == 3.0
    assert least(pair, gemm=3.0, gather=5.0) == 5.0


def test_tasks_of_one_stream_follow_each_other():
    assert least(workload(a={**GEMM, "stream": "s"}, b={**GEMM, "stream": "s"}), a=2.0, b=3.0) == 5


def test_two_layers_of_fsdp():
    """The first gather, then all GEMMs: 1 + 4 x 3 = 13 of 18 s; the second one can hide."""
    layers = workload(
        gather_0={**GATHER, "stream": "comm"},
        gather_1={**GATHER, "stream": "comm"},
        up_0={**GEMM, "stream": "compute", "after": ["gather_0"]},
        down_0={**GEMM, "stream": "compute"},
        up_1={**GEMM, "stream": "compute", "after": ["gather_1"]},
        down_1={**GEMM, "stream": "compute"},
    )
    gemms = dict.fromkeys(("up_0", "down_0", "up_1", "down_1"), 3.0)
    assert least(layers, gather_0=1.0, gather_1=1.0, **gemms) == 13.0
    # a gather of 8 s is not hidden behind the 6 s of the first layer: 1 + 8 + 6
    assert least(layers, gather_0=1.0, gather_1=8.0, **gemms) == 15.0
    plan = precedence(resolve(layers, NODE))
    assert tails(plan, {"gather_0": 1.0, "gather_1": 1.0, **gemms})["gather_1"] == 6.0


def test_what_uses_one_resource_does_not_overlap():
    """Two GEMMs of two streams that fill all compute units; two all-gathers on the same links."""
    assert least(workload(a=GEMM, b=GEMM), a=2.0, b=3.0) == pytest.approx(5.0)
    assert least(workload(a=GATHER, b=GATHER), a=2.0, b=3.0) == 5.0


def test_grids_that_leave_units_free_do_overlap():
    """38 of 304 workgroups are an eighth: 2/8 + 3/8 s of work, less than the longer one takes."""
    small = {"kind": "hold", "workgroups": 38, "time": 1.0}
    assert least(workload(a=small, b=small), a=2.0, b=3.0) == 3.0
    # nine of them: 9 x 8 / 8 s
    nine = workload(**{f"t{i}": small for i in range(9)})
    assert least(nine, **dict.fromkeys(nine.tasks, 8.0)) == pytest.approx(9.0)


def test_copies_share_a_path_and_not_the_others():
    copy = {"kind": "copy", "bytes": 1e6}
    assert least(workload(a=copy, b=copy), a=2.0, b=3.0) == 5.0
    assert least(workload(a=copy, b={**copy, "peer": 2}), a=2.0, b=3.0) == 3.0


def test_a_share_of_tiles_or_chunks_lets_the_next_begin():
    """After a quarter of 4 s of tiles: 1 + 3.5. After the second of four chunks of 8 s: 4 + 5."""
    copy = {"kind": "copy", "bytes": 1e6, "gpus": "all"}
    tiles = workload(gemm=GEMM, copy={**copy, "after": ["gemm.tiles[25%]"]})
    assert least(tiles, gemm=4.0, copy=3.5) == 4.5
    chunks = workload(gather={**GATHER, "chunks": 4}, gemm={**GEMM, "after": ["gather.chunk[1]"]})
    assert least(chunks, gather=8.0, gemm=5.0) == 9.0
    plan = precedence(resolve(chunks, NODE))
    # behind the end of the gather: 5 s less the 4 s that overlap with it
    assert tails(plan, {"gather": 8.0, "gemm": 5.0})["gather"] == 1.0


def test_launches_of_the_host_overlap_with_what_runs_before():
    """Each is ready 10 s after its call alone; in one stream the second is launched meanwhile."""
    two = workload(a={**GEMM, "stream": "s"}, b={**GEMM, "stream": "s"})
    assert least(two, {"a": 10.0, "b": 10.0}, a=2.0, b=3.0) == 15.0


def test_every_pass_is_linear():
    """Twice the tasks take twice the steps."""

    def passes(count: int) -> None:
        tasks = {f"g{i}": {**GEMM, "stream": "s"} for i in range(count)}
        plan = precedence(resolve(workload(**tasks), NODE))
        lengths, ready = dict.fromkeys(tasks, 1.0), dict.fromkeys(tasks, 0.0)
        assert begins(plan, ready, lengths)[f"g{count - 1}"] == count - 1
        assert tails(plan, lengths)["g0"] == count - 1
        assert least_time(plan, ready, lengths) == count

    assert steps(lambda: passes(2000)) < 2.1 * steps(lambda: passes(1000))
