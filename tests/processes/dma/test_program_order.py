"""Copies of an eager host: called for in program order, between the kernels of other streams."""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of
from shapes import TEACHING

from c3sim.simulation.run import Run
from c3sim.spec.reading.loading import load_node

US = 1e-6
CALL = 20 * US  # of the host, for a kernel and for a copy
GEMM = {"kind": "gemm", "m": 256, "n": 256, "k": 256, "stream": "compute"}
COPY = {"kind": "copy", "bytes": 1024, "gpus": "all", "stream": "copies"}
GATHER = {"kind": "collective", "op": "all_gather", "size": "8 KiB", "backend": "dma"}


def run(tasks: dict[str, Any], *, call: float = CALL, **host: Any) -> Run:
    """*tasks* on the teaching node, whose host takes *call* s for each call."""
    named = ("batch_copy_time", "doorbell_time", "first_copy_time", "packet_time", "pull_time")
    times = dict.fromkeys(("launch_time", "copy_time", "batch_time"), call)
    host_costs = TEACHING.host.changed(**(times | dict.fromkeys(named, 0.0)))
    node = TEACHING.changed(host=host_costs)
    return run_of(tasks, node, host={"launch": "eager", **host}, trace=True)


def layers(count: int, **middle: Any) -> dict[str, Any]:
    """A kernel, *middle* behind it, and so many kernels more, called for in this order."""
    moves = {name: {**task, "after": ["layer1"]} for name, task in middle.items()}
    more = {f"layer{number}": GEMM for number in range(2, 2 + count)}
    return {"layer1": GEMM, **moves, **more}


def first_copy(found: Run) -> float:
    """When the first engine begins [s]."""
    return min(span.start for span in found.timeline.spans if ".dma" in span.track)


@pytest.mark.parametrize("submission", ["one_by_one", "batch"])
@pytest.mark.parametrize("move", [COPY, GATHER], ids=["copy", "all-gather"])
def test_a_copy_is_posted_before_the_launches_called_behind_it(
    move: dict[str, Any], submission: str
) -> None:
    """Ten kernels are launched behind the call, 20 us each; the copy waits for none of them, at
    most for two calls behind the launch of layer 1 (in a batch, parts in order are calls too).
    """
    few, many = (run(layers(n, move=move), submission=submission) for n in (1, 10))
    assert first_copy(few) == first_copy(many)
    assert few.task("move").end == many.task("move").end
    calls = 1 if move is COPY or submission == "batch" else TEACHING.gpus - 1
    assert many.task("layer2").start > (2 + calls) * CALL  # that of layer 1, the copies, its own
    assert first_copy(many) < 3 * CALL + 3 * US


def test_the_call_of_a_copy_keeps_the_host_from_the_next_launch() -> None:
    """One call of 20 us more in front of the launch of layer 2."""
    without, with_copy = run(layers(1)), run(layers(1, move=COPY))
    later = with_copy.task("layer2").start - without.task("layer2").start
    assert later == pytest.approx(CALL, abs=1e-12)


def test_a_copy_begins_in_its_stream_and_not_when_it_is_called_for() -> None:
    """It is called for long before layer 1 has ended, and begins then without a further call."""
    long_one = {**GEMM, "m": 4096, "n": 4096, "k": 4096}
    found = run({**layers(1, move=COPY), "layer1": long_one})
    end = found.task("layer1").end
    assert end > 10 * CALL
    assert found.task("move").start == end
    assert end < first_copy(found) < end + 3 * US


@pytest.mark.parametrize("move", [COPY, GATHER, {**COPY, "repeat": 3}, {**GATHER, "repeat": 2}])
@pytest.mark.parametrize("submission", ["one_by_one", "batch"])
def test_with_calls_that_cost_nothing_their_order_changes_nothing(
    move: dict[str, Any], submission: str
) -> None:
    tasks = layers(4, move=move)
    eager, queued = (
        run(tasks, call=0.0, launch=launch, submission=submission) for launch in ("eager", "queued")
    )
    for name in tasks:
        assert eager.task(name).end == pytest.approx(queued.task(name).end, abs=1e-12)


def test_the_host_has_no_part_in_the_copies_of_a_graph() -> None:
    """Calls of 20 us or of none: the same."""
    tasks = layers(4, move=GATHER)
    slow, quick = (run(tasks, call=call, launch="graph").task("move").end for call in (CALL, 0.0))
    assert slow == quick


def test_a_wait_of_the_host_holds_up_the_copies_called_behind_it() -> None:
    """It waits for layer 1 (.item()) before it calls for the copy, and then for layer 2."""
    tasks = layers(1, move={**COPY, "launch_after": ["layer1"]})
    found = run(tasks)
    end = found.task("layer1").end
    assert found.task("move").start == pytest.approx(end)
    assert first_copy(found) > end + CALL
    assert found.task("layer2").start > end + 2 * CALL


def test_what_is_due_is_posted_by_a_thread_of_its_own() -> None:
    """A program that writes rings itself, and a send by NIC, come when their stream does: not
    behind the launches that have been called for meanwhile.
    """
    few, many = (run(layers(n, move=COPY), submission="direct") for n in (1, 10))
    assert few.task("move").end == many.task("move").end
    node = load_node("h100-cluster")
    send = {"kind": "copy", "bytes": 1024, "peer": node.gpus, "executor": "nic", "gpus": "all"}
    ends = []
    for count in (1, 100):
        tasks = layers(count, move=send)
        ends.append(run_of(tasks, node, host={"launch": "eager"}).task("move").end)
    assert ends[0] == ends[1]


def test_a_library_calls_for_the_copies_of_a_collective_within_its_call() -> None:
    """On eight H200 its own call, then seven copies; layer 2 behind them."""
    node = load_node("h200-8")
    gather = {"kind": "collective", "op": "all_gather", "size": "64 MiB"}
    starts = {}
    for by in ("kernel", "engines"):
        tasks = layers(1, move={**gather, **({"by": "engines"} if by == "engines" else {})})
        starts[by] = run_of(tasks, node, host={"launch": "eager"}).task("layer2").start
    copies = 7 * node.host.copy_time + node.host.first_copy_time
    assert starts["engines"] - starts["kernel"] == pytest.approx(copies, abs=1e-9)
