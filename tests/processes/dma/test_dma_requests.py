"""Requests: copies that the source's engine carries; their order, when they are due, their ends.

Teaching node with a switch: four GPUs with one engine and one port of 10 GB/s each; a command costs
5 us of host time and 5 us of engine latency, half before its bytes and half after; a poll takes
1 us.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import workload_of
from shapes import TEACHING

from c3sim.errors import DeadlockError
from c3sim.simulation.folding import can_fold
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload

US = 1e-6
COPY = {"kind": "copy", "bytes": "1 MB", "source": "peer", "destination": "gpu"}  # 100 us
GATHER = {
    "kind": "collective",
    "op": "all_gather",
    "size": "400 kB",
    "backend": "dma",
}  # 10 us per peer
KERNEL = {"kind": "stream", "bytes": "40 MB", "pattern": "copy"}
IN_TURN = {**GATHER, "stream": "one"}
BATCHED = {"prelaunched": True, "submission": "batch"}


def node(**update: object) -> Node:
    engines = TEACHING.gpu.dma_engines.changed(
        pull_executor="source",
        count=1,
        queues=16,
        stream_queues=16,
        queue_switch_time=0.0,
        poll_switch_time=0.0,
    ).changed(**update)
    return TEACHING.changed(gpu__dma_engines=engines, links__topology="switch")


def workload(tasks: dict[str, Any], **host: Any) -> Workload:
    return workload_of(tasks, host=host)


def run(
    tasks: dict[str, Any], on: Node | None = None, fold: bool | None = None, **host: Any
) -> Run:
    return simulate(on or node(), workload(tasks, **host), trace=True, fold=fold)


def carried(outcome: Run) -> list[tuple[str, float]]:
    """Track and end [us] of every copy, in order of ends."""
    found = [
        (span.track, round(span.end / US, 3))
        for span in outcome.timeline.spans
        if ".dma" in span.track
    ]
    return sorted(found, key=lambda item: item[1])


def test_a_gpu_that_asks_three_peers_is_served_by_three_engines() -> None:
    """Called for after 5, 10 and 15 us. Their ways share the port of 10 GB/s: 300 us in all, and
    the last ends alone.
    """
    outcome = run({f"from_{peer}": {**COPY, "peer": peer} for peer in (1, 2, 3)})
    assert {track for track, _ in carried(outcome)} == {"gpu1.dma[0]", "gpu2.dma[0]", "gpu3.dma[0]"}
    assert outcome.end == pytest.approx((5 + 2.5 + 300 + 2.5) * US)


def test_sources_serve_in_the_order_of_who_asked() -> None:
    """All four ask all others at once, GPU 0 first, and every source begins with the lowest number.
    So 1, 2 and 3 share the port into GPU 0 for 30 us, while 0 serves 1, 2 and 3; then 2 and 3 share
    that into 1 for 20 us, while 1 serves 2 and 3; then 2 and 3 serve each other. Six times 10 us,
    where pushes, each of which begins with its neighbour, take three.
    """
    on = node(remote_read_latency=7e-6)
    pulled = run({"t": {**GATHER, "direction": "pull"}}, on, prelaunched=True)
    assert pulled.end == pytest.approx((1 + 7 + 60 + 2.5) * US)
    assert run({"t": GATHER}, submission="batch", prelaunched=True).end == pytest.approx(
        (1 + 3 * 12.5) * US
    )


def test_a_request_that_is_not_due_holds_up_those_behind_it() -> None:
    """One queue per GPU, in each of which a copy waits for the one before it: GPU 0 asks 1, 2, 3,
    GPU 1 asks 2, 3, 0, and so on. Source 2 has 0, 1, 3 in line: though GPU 1's request is due at
    once, it waits until GPU 0 has come to its second. An end is seen 2.5 us after its last byte,
    and what follows it in its queue is due then:

        1>0 at 0, 2>0 at 12.5, 2>1 behind it at 22.5, 3>0 at 25, 3>1 at 35, 3>2 behind it at 45,
        0>1 at 47.5, 0>2 at 57.5 (3>2 seen), 0>3 behind it at 67.5, 1>2 at 70, 1>3 at 80, 2>3 at
        92.5
    """
    outcome = run({"t": {**GATHER, "direction": "pull"}}, prelaunched=True, submission="batch")
    begins = [0, 12.5, 22.5, 25, 35, 45, 47.5, 57.5, 67.5, 70, 80, 92.5]
    assert [end for _, end in carried(outcome)] == pytest.approx(
        [1 + begin + 10 for begin in begins]
    )
    assert outcome.end == pytest.approx((1 + 92.5 + 12.5) * US)


def test_a_batch_becomes_due_at_once() -> None:
    """Eight copies of 0.1 MB from one peer, behind a wait: told once, 7 us; one by one, each is
    told when the one before it has landed, which hides the 2.5 us of its signal.
    """
    one = {**COPY, "bytes": "100 kB", "repeat": 8}
    told = node(remote_read_latency=7e-6)
    assert run({"t": one}, told, prelaunched=True, submission="batch").end == pytest.approx(
        (1 + 7 + 80 + 2.5) * US
    )
    each = run({"t": one}, told, prelaunched=True, submission="one_by_one")
    assert each.end == pytest.approx((1 + 8 * (7 + 10) + 2.5) * US)
    idle = run(
        {"t": {**one, "repeat": 1}}, told
    )  # nothing is before it: due as soon as it is there
    assert idle.end == pytest.approx((5 + 2.5 + 10 + 2.5) * US)


def test_the_end_is_seen_when_the_engine_comes_to_its_queue() -> None:
    """GPU 0's engine pushes from 7.5 to 107.5 us. What it asked for after 10 us has been there
    since 25, but is seen then.
    """
    tasks = {
        "push": {"kind": "copy", "bytes": "1 MB", "peer": 1, "stream": "a"},
        "pull": {**COPY, "bytes": "100 kB", "peer": 2, "stream": "b"},
    }
    outcome = run(tasks)
    assert ("gpu2.dma[0]", 22.5) in carried(outcome)
    assert outcome.task("pull").end == pytest.approx(107.5 * US)
    assert run({"pull": tasks["pull"]}).end == pytest.approx((5 + 2.5 + 10 + 2.5) * US)


@pytest.mark.parametrize(
    ("tasks", "host", "alike"),
    [
        (
            {"t": {**GATHER, "direction": "pull"}},
            {},
            False,
        ),  # several peers, each with another order
        ({"t": {**COPY, "gpus": "all"}}, {}, True),  # one peer
        ({"t": GATHER}, {}, True),  # pushes, in the order of their calls
        (
            {"t": GATHER},
            {"prelaunched": True},
            False,
        ),  # three queues of one engine, released at once
        ({"t": GATHER}, {"prelaunched": True, "submission": "batch"}, True),  # one queue
        (
            {"t": GATHER, "u": GATHER},
            {"prelaunched": True, "submission": "batch"},
            False,
        ),  # two of each engine
        ({"t": IN_TURN, "u": IN_TURN}, BATCHED, True),  # never both
        ({"t": IN_TURN, "u": {**IN_TURN, "stream": "other"}}, BATCHED, False),
        ({"t": {**COPY, "gpus": "all"}, "u": {**COPY, "gpus": "all"}}, {}, False),  # two requests
        (
            {"t": {"kind": "copy", "bytes": "1 MB", "gpus": "all"}},
            {"threads": "single"},
            False,
        ),  # one GPU after the other
    ],
)
def test_one_gpu_stands_for_all_where_no_order_differs(
    tasks: dict[str, Any], host: dict[str, Any], alike: bool
) -> None:
    assert can_fold(workload(tasks, **host), node()) is alike


def test_a_folded_request_is_carried_like_one_of_all() -> None:
    task = {"t": {**COPY, "gpus": "all"}}
    for host in ({}, {"prelaunched": True}):
        ends = [
            run(task, node(remote_read_latency=7e-6), fold=fold, **host).end
            for fold in (True, False)
        ]
        assert ends[0] == pytest.approx(ends[1])


def test_folded_tasks_that_follow_each_other_behind_polls_are_carried_like_those_of_all() -> None:
    """Both gathers, and a kernel of another stream that waits for one of them."""
    tasks = {"t": IN_TURN, "u": {**IN_TURN, "size": "40 kB"}, "k": {**KERNEL, "after": ["t"]}}
    alone, every = (run(tasks, fold=fold, **BATCHED) for fold in (None, False))
    assert alone.folded and not every.folded
    for (name, _), times in every.times.items():
        assert times.end == pytest.approx(alone.times[name, 0].end, rel=1e-12)


def test_queues_that_are_released_together_are_served_from_another_place_on_each_pair() -> None:
    """GPUs 0 and 1 begin with the neighbour, 2 and 3 with the one after it; 10 us for a copy that
    has its ports to itself. The port into GPU 1 serves 0 and 3 until 25 us, and from 10 us on GPU
    2, until 30; that into 2 serves 0 and 3 from 25 to 45 us; then 0>3 and 3>0 end at 55.
    """
    outcome = run({"t": GATHER}, prelaunched=True)
    assert outcome.end == pytest.approx((1 + 55 + 2.5) * US)


def test_engines_look_at_a_word_at_times_of_their_own() -> None:
    """Every 8 us: that of GPU 0 sees the release at once, the others 2, 4 and 6 us later. So none
    stands for all.
    """
    on = node(poll_interval=8e-6, poll_stagger="even")
    push = {"t": {"kind": "copy", "bytes": "1 MB", "gpus": "all"}}
    outcome = run(push, on, prelaunched=True)
    ends = [outcome.times["t", gpu].end / US for gpu in range(4)]
    assert ends == pytest.approx([103.5, 105.5, 107.5, 109.5])
    assert can_fold(workload(push), on) and not can_fold(workload(push, prelaunched=True), on)


def test_a_request_behind_a_poll_does_not_overtake_it() -> None:
    """In queue 0 a small pull, a poll and a pull; what the poll waits for comes after a copy of 100
    us in queue 1. Submitted together, the second pull is of no batch with the first: it begins when
    the poll is over.
    """
    far = {"op": "copy", "peer": 1, "direction": "pull", "queue": 0}
    program = [
        {**far, "bytes": "1 kB"},
        {"op": "poll", "on": "go", "queue": 0},
        {**far, "bytes": "100 kB"},
        {"op": "copy", "bytes": "1 MB", "peer": 2, "queue": 1},
        {"op": "atomic", "on": "go", "queue": 1},
    ]
    task = {"kind": "commands", "gpus": "first", "program": program}
    outcome = run({"t": task}, submission="direct")
    second = [span for span in outcome.timeline.spans if span.track == "gpu1.dma[0]"][1]
    copied = max(span.end for span in outcome.timeline.spans if span.track == "gpu0.dma[0]")
    assert second.start > copied


def test_a_deadlock_names_the_queues_and_what_they_are_at() -> None:
    """The source's engine has the second request behind the first, which waits for what comes after
    the second.
    """
    pull = {"op": "copy", "bytes": "1 kB", "peer": 1, "direction": "pull"}
    program = [
        {"op": "poll", "on": "go", "queue": 0},
        {**pull, "queue": 0},
        {**pull, "queue": 1},
        {"op": "atomic", "on": "go", "queue": 1},
    ]
    with pytest.raises(
        DeadlockError,
        match=r"queue 0 is at a poll; .*queue 1 is at a copy; gpu1\.dma\[0\] carries no",
    ):
        run({"t": {"kind": "commands", "gpus": "first", "program": program}}, submission="direct")
