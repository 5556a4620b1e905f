"""The engines that move a copy, and the cost of commands that wait in a queue.

Teaching node: an engine moves 10 GB/s, a link 10 GB/s; a command costs 5 us of host time and 5 us
of engine latency, half before its bytes and half after; memory answers in 0.5 us, a link is 1 us
long.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of, workload_of
from shapes import TEACHING

from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node

US = 1e-6
COPY = {"kind": "copy", "bytes": "1 MB"}


def run(task: dict[str, Any], node: Node = TEACHING, **host: str) -> Run:
    return run_of({"t": task}, node, host=host, trace=True)


def with_engines(**update: object) -> Node:
    engines = TEACHING.gpu.dma_engines.changed(**update)
    return TEACHING.changed(gpu__dma_engines=engines)


def test_prelaunched_commands_pay_neither_submission_nor_fetch() -> None:
    """5 + 2.5 + 100 + 2.5 us one by one; behind a poll 1 + 100 + 2.5 us."""
    assert run(COPY).end == pytest.approx(110 * US)
    assert run(COPY, prelaunched=True).end == pytest.approx(103.5 * US)


def test_a_copy_is_split_over_engines() -> None:
    """Engines of 4 GB/s: one takes 250 us. Two take 125 us each; the second one's command comes 5
    us later.
    """
    slow = with_engines(bandwidth=4e9)
    assert run(COPY, slow).end == pytest.approx((7.5 + 250 + 2.5) * US)
    assert run({**COPY, "engines": 2}, slow).end == pytest.approx((12.5 + 125 + 2.5) * US)


@pytest.mark.parametrize(
    ("task", "tracks"),
    [
        (COPY, {"gpu0.dma[0]"}),
        ({**COPY, "direction": "push"}, {"gpu0.dma[0]"}),
        ({**COPY, "direction": "pull"}, {"gpu1.dma[0]"}),
        ({**COPY, "source": "peer", "destination": "gpu"}, {"gpu0.dma[0]"}),
        ({**COPY, "source": "peer", "destination": "gpu", "direction": "push"}, {"gpu1.dma[0]"}),
        ({**COPY, "engines": 2}, {"gpu0.dma[0]", "gpu0.dma[1]"}),
    ],
)
def test_whose_engines_move_a_copy(task: dict[str, Any], tracks: set[str]) -> None:
    assert {span.track for span in run(task).timeline.spans if ".dma" in span.track} == tracks


def test_reads_from_a_peer_have_bytes_in_flight_of_their_own() -> None:
    """15 kB in flight over a round trip of 2 x 0.5 + 2 x 1 us are 5 GB/s. The copy loads memory
    with what it moves, r / 200: r = 15 kB / (3 us + r / 200 us) = 4.959 GB/s, 1 MB take 201.65 us;
    with a data path of as much, too. What is pushed has 64 KiB in flight and stays at 10 GB/s.
    """
    node = with_engines(remote_read_bytes_in_flight=15e3)
    pull, own = {**COPY, "direction": "pull"}, {"remote_read_bytes_in_flight": 15e3}
    quick, as_quick = (run(pull, with_engines(**own, bandwidth=b)).end for b in (10e9, 4.96e9))
    assert quick == pytest.approx((7.5 + 201.653 + 2.5) * US, rel=1e-6)
    assert quick <= as_quick * (1 + 1e-9)
    assert run(COPY, node).end == pytest.approx(110 * US)


def test_what_is_not_payload_takes_its_share_of_the_link() -> None:
    """Half of what a pull puts on the link of 10 GB/s is payload: 5 GB/s."""
    node = with_engines(link_efficiency={"push": 1.0, "pull": 0.5})
    assert run({**COPY, "direction": "pull"}, node).end == pytest.approx((7.5 + 200 + 2.5) * US)
    assert run(COPY, node).end == pytest.approx(110 * US)


def test_engines_may_put_less_around_their_payload_than_kernels() -> None:
    """Links of 10 GB/s, as kernels' copies reach them, carry 12.5 of an engine that has 20."""
    node = with_engines(link_efficiency={"push": 1.25}, bandwidth=20e9, bytes_in_flight=None)
    assert run(COPY, node).end == pytest.approx((7.5 + 80 + 2.5) * US)


def test_a_collective_goes_round_the_peers_with_every_engine() -> None:
    """Three peers, two engines to each, on two engines in all: six commands of 1/8 of the size, in
    either direction.
    """
    for direction in ("push", "pull"):
        task = {
            "kind": "collective",
            "op": "all_gather",
            "size": "8 MB",
            "backend": "dma",
            "engines": 2,
        }
        spans = [
            s for s in run({**task, "direction": direction}).timeline.spans if ".dma" in s.track
        ]
        assert len(spans) == 6
        assert {span.detail["bytes"] for span in spans} == {1e6}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (
            {"submission": "one_by_one"},
            1 + 100 + 2.5 + 100 + 2.5,
        ),  # the second waits until the first one's end is seen
        ({"submission": "batch"}, 1 + 100 + 100 + 2.5),  # it follows at once
    ],
)
def test_copies_of_a_repeated_task_overlap_in_a_batch(how: dict[str, Any], expected: float) -> None:
    assert run({**COPY, "repeat": 2}, prelaunched=True, **how).end == pytest.approx(expected * US)


def test_a_read_from_a_peer_that_waits_has_to_be_told() -> None:
    """7 us behind a poll; nothing where it was submitted to an idle queue. Of two, the second is
    told when the first one's bytes have landed, instead of seeing its signal 2.5 us later.
    """
    node, pull = (
        with_engines(pull_executor="source", remote_read_latency=7e-6),
        {**COPY, "direction": "pull"},
    )
    assert run(pull, node).end == pytest.approx(run(COPY, node).end)
    assert run(pull, node, prelaunched=True).end == pytest.approx((1 + 7 + 100 + 2.5) * US)
    twice = run({**pull, "repeat": 2}, node, prelaunched=True)
    assert twice.end == pytest.approx((1 + 7 + 100 + 7 + 100 + 2.5) * US)


def test_the_first_call_and_calls_that_read_from_a_peer_take_the_host_longer() -> None:
    """Calls of 5 us, the first 2 us longer, of pulls 3 us longer. Copies of 0.1 us: two calls and 5
    us of the engine.
    """
    node, small = (
        TEACHING.changed(host__first_copy_time=2e-6, host__pull_time=3e-6),
        {**COPY, "bytes": "1 kB", "repeat": 2},
    )
    assert run(small, node).end == pytest.approx((7 + 5 + 2.5 + 0.1 + 2.5) * US)
    assert run({**small, "direction": "pull"}, node).end == pytest.approx(
        (10 + 8 + 2.5 + 0.1 + 2.5) * US
    )


def two_streams(node: Node, **host: str) -> list[float]:
    """Ends [us] of two streams of two copies each (100 us a copy), on one engine."""
    tasks = {name: {**COPY, "repeat": 2, "stream": name} for name in "ab"}
    outcome = run_of(tasks, node, host={"prelaunched": True, **host})
    return [outcome.task(name).end / US for name in "ab"]


def test_an_engine_stays_with_a_queue_for_its_time_slice() -> None:
    """By turns: a b a b, and 4 us for each of three changes. In a slice of 150 us: a a b b, and one
    change.
    """
    one = {"count": 1, "stream_queues": 4, "queue_switch_time": 4e-6, "poll_switch_time": 4e-6}
    assert two_streams(with_engines(**one), submission="batch") == pytest.approx(
        [1 + 308 + 2.5, 1 + 412 + 2.5]
    )
    stays = with_engines(**one, queue_time_slice=150e-6)
    assert two_streams(stays, submission="batch") == pytest.approx([1 + 200 + 2.5, 1 + 404 + 2.5])


def test_a_queue_that_waited_behind_a_poll_is_taken_up_again() -> None:
    """The second queue's first command waited behind a poll, 9 us; later changes are between queues
    at work, 4 us.
    """
    node = with_engines(count=1, stream_queues=4, queue_switch_time=4e-6, poll_switch_time=9e-6)
    assert two_streams(node, submission="batch") == pytest.approx([1 + 313 + 2.5, 1 + 417 + 2.5])


def test_copies_within_a_gpu_may_have_an_engine_of_their_own() -> None:
    """It moves 20 GB/s with as many more bytes in flight, beside a copy to a peer of 10 GB/s; else
    they share the engine.
    """
    tasks = {"here": {**COPY, "destination": "gpu"}, "there": COPY}
    workload = workload_of(tasks, host={"prelaunched": True})
    own = with_engines(count=1, local_count=1, local_bandwidth=20e9)
    assert simulate(own, workload).task("here").end == pytest.approx((1 + 50 + 2.5) * US)
    assert simulate(own, workload).task("there").end == pytest.approx((1 + 100 + 2.5) * US)
    assert simulate(with_engines(count=1), workload).task("there").end == pytest.approx(
        (1 + 200 + 2.5) * US
    )


def test_pulls_and_pushes_of_all_gpus_share_the_engines() -> None:
    """Every GPU pushes to the next and pulls from the one before: its one engine does both, one
    after the other.
    """
    tasks = {way: {**COPY, "gpus": "all", "direction": way} for way in ("push", "pull")}
    for fold in (True, False):
        assert run_of(
            tasks, with_engines(count=1), host={"prelaunched": True}, fold=fold
        ).end == pytest.approx((1 + 200 + 2.5) * US)


def test_peers_beyond_the_engines_have_queues_of_their_own() -> None:
    """One engine, three peers, a queue for each: 0.1 us a copy (0.2 to the peer across the ring,
    over links that carry the copies of two GPUs), and two changes of 9 us to queues behind polls.
    """
    task = {"kind": "collective", "op": "all_gather", "size": "4 kB", "backend": "dma"}
    node = with_engines(count=1, stream_queues=4, poll_switch_time=9e-6)
    assert run(task, node, prelaunched=True).end == pytest.approx(
        (1 + 0.1 + 0.2 + 0.1 + 2 * 9 + 2.5) * US
    )
