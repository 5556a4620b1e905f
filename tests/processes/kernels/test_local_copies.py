"""Copies within a GPU by a call of the runtime: kernels, where the GPU's file says so."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of
from shapes import TEACHING

from c3sim.spec.hardware import Node

US = 1e-6
HOLD = {"kind": "hold", "workgroups": 14, "time": "100 us"}  # all units of the teaching GPU
COPY = {"kind": "copy", "bytes": "1 MiB", "destination": "gpu"}


#: 128 KiB of its own for each of two GPUs.
GATHER = {"kind": "collective", "op": "all_gather", "size": "256 KiB", "backend": "dma"}


def with_local_copies(by: str) -> Node:
    return TEACHING.changed(gpu__dma_engines__local_copies=by)


def start_of_copy(node: Node, host: dict[str, Any] | None = None) -> float:
    return run_of({"hold": HOLD, "copy": COPY}, node, host=host or {}).task("copy").start


def test_an_engine_needs_no_compute_unit() -> None:
    assert start_of_copy(with_local_copies("engines")) < 10 * US


def test_a_kernel_waits_for_one() -> None:
    """Dispatched at 2 us, the hold keeps all units until 102 us."""
    assert start_of_copy(with_local_copies("kernels")) == pytest.approx(102 * US)


def test_so_does_one_behind_an_event() -> None:
    for host in ({"prelaunched": True}, {"prelaunched": True, "release": "per_rank"}):
        assert start_of_copy(with_local_copies("kernels"), host) > 100 * US


def test_the_second_of_two_copies_begins_when_the_first_leaves_room() -> None:
    """A copy fills the threads of all units, so that two streams have one behind the other."""
    tasks = {"first": {**COPY, "bytes": "16 MiB"}, "second": {**COPY, "bytes": "16 MiB"}}
    run = run_of(tasks, with_local_copies("kernels"), host={"order": ["first", "second"]})
    assert run.task("second").start >= 0.9 * run.task("first").end


def test_a_kernel_that_needs_no_lds_runs_beside_a_hold_that_leaves_waves() -> None:
    """A GEMM, which needs LDS, waits for that hold as well."""
    tasks = {"hold": {**HOLD, "waves": 1}, "copy": COPY}
    tasks["gemm"] = {"kind": "gemm", "m": 256, "n": 256, "k": 256}
    run = run_of(tasks, with_local_copies("kernels"))
    assert run.task("copy").start < 10 * US < 100 * US < run.task("gemm").start


def test_a_batch_is_for_the_engines() -> None:
    assert start_of_copy(with_local_copies("kernels"), {"submission": "batch"}) < 20 * US


def end_of_gather(by: str, *, beside_hold: bool, out_of_place: bool = True) -> float:
    tasks: dict[str, Any] = {"hold": HOLD} if beside_hold else {}
    tasks["gather"] = {**GATHER, "out_of_place": out_of_place}
    return run_of(tasks, with_local_copies(by)).task("gather").end


def test_a_collective_out_of_place_ends_with_its_own_shard() -> None:
    """A kernel copies the shard: it waits for the units that the hold has until 102 us. In place
    nothing waits.
    """
    in_place = end_of_gather("kernels", beside_hold=True, out_of_place=False)
    assert in_place == end_of_gather("kernels", beside_hold=False, out_of_place=False) < 100 * US
    assert end_of_gather("kernels", beside_hold=True) > 102 * US


def test_an_engine_copies_the_own_shard_where_the_gpu_says_so() -> None:
    """It moves the shard too, and waits for no unit."""
    alone = end_of_gather("engines", beside_hold=False)
    assert alone > end_of_gather("engines", beside_hold=False, out_of_place=False)
    assert end_of_gather("engines", beside_hold=True) == pytest.approx(alone)
