"""Who moves a copy, with how many engines, and what it costs to have commands wait in the queue.

Teaching node: an engine moves 10 GB/s, a link 10 GB/s; a command costs 5 us of host time and 5 us of engine latency, half
before its bytes and half after; memory answers in 0.5 us, a link is 1 us long.
"""

from __future__ import annotations

from typing import Any

import pytest
from shapes import TEACHING

from c3sim.loading import parse_workload
from c3sim.simulation import Outcome, simulate
from c3sim.specs.hardware import Node

US = 1e-6
COPY = {"kind": "copy", "bytes": "1 MB"}


def run(task: dict[str, Any], node: Node = TEACHING, **host: str) -> Outcome:
    workload = parse_workload({"schema": 1, "name": "w", "tasks": {"t": task}, "host": host})
    return simulate(node, workload, spans=True)


def with_engines(**update: object) -> Node:
    engines = TEACHING.gpu.dma_engines.model_copy(update=update)
    return TEACHING.model_copy(update={"gpu": TEACHING.gpu.model_copy(update={"dma_engines": engines})})


def test_prelaunched_commands_pay_neither_submission_nor_fetch() -> None:
    """5 + 2.5 + 100 + 2.5 us one by one; behind a poll 1 + 100 + 2.5 us."""
    assert run(COPY).end == pytest.approx(110 * US)
    assert run(COPY, prelaunched=True).end == pytest.approx(103.5 * US)


def test_a_copy_is_split_over_engines() -> None:
    """Engines of 4 GB/s: one takes 250 us. Two take 125 us each; the second one's command comes 5 us later."""
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
    assert {span.track for span in run(task).spans if ".dma" in span.track} == tracks


def test_reads_from_a_peer_have_bytes_in_flight_of_their_own() -> None:
    """15 kB in flight over a round trip of 2 x 0.5 + 2 x 1 us are 5 GB/s. The copy itself loads memory with 5 / 200, so a
    round trip is 3.025 us and 1 MB take 201.7 us. What is pushed has 64 KiB in flight and stays at 10 GB/s."""
    node = with_engines(remote_read_in_flight=15e3)
    assert run({**COPY, "direction": "pull"}, node).end == pytest.approx((7.5 + 201.667 + 2.5) * US, rel=1e-4)
    assert run(COPY, node).end == pytest.approx(110 * US)


def test_what_is_not_payload_takes_its_share_of_the_link() -> None:
    """Half of what a pull puts on the link of 10 GB/s is payload: 5 GB/s."""
    node = with_engines(link_efficiency={"push": 1.0, "pull": 0.5})
    assert run({**COPY, "direction": "pull"}, node).end == pytest.approx((7.5 + 200 + 2.5) * US)
    assert run(COPY, node).end == pytest.approx(110 * US)


def test_a_collective_goes_round_the_peers_with_every_engine() -> None:
    """Three peers, two engines to each, on two engines in all: six commands of 1/8 of the size, in either direction."""
    for direction in ("push", "pull"):
        task = {"kind": "collective", "op": "all_gather", "size": "8 MB", "backend": "dma", "engines": 2}
        spans = [s for s in run({**task, "direction": direction}).spans if ".dma" in s.track]
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


def test_a_read_from_a_peer_takes_longer_to_end() -> None:
    node = with_engines(remote_read_latency=7e-6)
    push, pull = (run({**COPY, "direction": way}, node).end for way in ("push", "pull"))
    assert pull - push == pytest.approx(7 * US)
