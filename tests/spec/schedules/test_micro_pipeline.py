"""A pair as PyTorch's operators run it: what is launched, in which order, on which stream."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of

from c3sim.errors import InputError
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Copy, Gemm, Task, Workload

M, N, K = 4096, 2048, 1024


def pair(op: str, *, backend: str = "dma", **schedule: Any) -> Workload:
    feeds = op == "all_gather"
    size = M * (K if feeds else N) * 2
    move: dict[str, Any] = {"kind": "collective", "op": op, "size": size, "backend": backend}
    gemm: dict[str, Any] = {"kind": "gemm", "m": M, "n": N, "k": K}
    (gemm if feeds else move)["after"] = ["move" if feeds else "gemm"]
    tasks = {"move": move, "gemm": gemm}
    schedule = {"kind": "micro_pipeline", **schedule}
    return workload_of(tasks, schedule=schedule)


def tasks(op: str, ranks: int) -> dict[str, Task]:
    return dict(expanded(pair(op), load_node(f"h200-{ranks}")).tasks)


def queue(found: dict[str, Task], stream: str) -> list[str]:
    return [name for name, task in found.items() if task.stream == stream]


def test_shards_that_arrive_take_turns_on_two_streams() -> None:
    """PyTorch's ``_pipelined_multi_all_gather_and_consume`` on four ranks: steps 1 and 3 on the
    stream at the side, step 2 and the copy of the own shard behind the own GEMM.
    """
    found = tasks("all_gather", 4)
    assert queue(found, "compute-1") == ["move-1", "gemm-1", "move-3", "gemm-3"]
    own = ["move-begin", "move-shared", "move-ready", "gemm-0", "move-2", "gemm-2"]
    assert queue(found, "compute") == [*own, "move-gathered", "move-end"]
    assert found["move-1"].after == ("move-ready",) and found["move-end"].after == ("gemm-3",)


def test_shards_that_leave_are_made_first_and_pulled_behind_a_barrier() -> None:
    """``_pipelined_produce_and_all2all`` on two ranks: the own rows come behind a sleep; the rank
    one further back has made this one's part.
    """
    found = tasks("reduce_scatter", 2)
    assert queue(found, "compute-1") == ["gemm-1", "move-made-1", "move-1", "move-read-1"]
    own = ["move-begin", "move-sleep", "gemm-0", "move-end", "move-sum"]
    assert queue(found, "compute") == own
    four = [task.peer for task in tasks("reduce_scatter", 4).values() if isinstance(task, Copy)]
    assert four == [3, 2, 1]


@pytest.mark.parametrize("op", ["all_gather", "reduce_scatter"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_rows_and_bytes_are_those_of_the_whole(op: str, ranks: int) -> None:
    found = tasks(op, ranks)
    assert sum(task.m for task in found.values() if isinstance(task, Gemm)) == M
    pulled = [t.bytes for t in found.values() if isinstance(t, Copy) and t.source == "peer"]
    size = M * (K if op == "all_gather" else N) * 2
    assert sum(pulled) == size * (ranks - 1) / ranks


def test_the_rows_of_the_peer_come_first() -> None:
    """Else nothing would hide the exchange."""
    node = load_node("h200-2")
    run = simulate(node, pair("reduce_scatter"))
    assert run.task("gemm-1").start < run.task("gemm-0").start


def end_with(**costs: float) -> tuple[float, float]:
    """When a reduce-scatter of two ranks ends, and by how much the peer's rows came first [s]."""
    node = load_node("h200-2")
    operators = node.gpu.operators
    changed = operators.symmetric_memory.changed(**costs)
    operators = operators.changed(symmetric_memory=changed)
    run = simulate(node.changed(gpu__operators=operators), pair("reduce_scatter"))
    return run.end, run.task("gemm-0").start - run.task("gemm-1").start


def test_every_cost_is_paid() -> None:
    """A barrier of 10 us more is paid four times, three of them one after the other with the pull;
    the sum takes longer; without the sleep the own rows begin 5 us sooner.
    """
    plain, lead = end_with()
    assert lead > end_with(sleep=1e-9)[1] + 5e-6
    assert end_with(barrier=14.2e-6)[0] == pytest.approx(plain + 4 * 10e-6, rel=0.02)
    assert end_with(sum=0.1)[0] > plain + 5e-6


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"op": "all_gather", "backend": "nccl"}, "needs backend dma"),
        ({"op": "all_gather", "pieces": 4}, "leave out pieces"),
        ({"op": "all_gather", "along": "n"}, "along n"),
        ({"op": "all_to_all"}, "no such operator for all_to_all"),
    ],
    ids=str,
)
def test_what_pytorch_has_not_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        expanded(pair(**how), load_node("h200-2"))


def test_a_gpu_without_the_numbers_is_refused() -> None:
    with pytest.raises(InputError, match="symmetric_memory"):
        expanded(pair("all_gather"), load_node("teaching-4"))
