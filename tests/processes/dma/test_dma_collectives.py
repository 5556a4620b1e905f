"""Collectives as DMA command programs, and what their submission costs.

Teaching node with a link to every peer: four GPUs; two engines of 10 GB/s, also for what a
broadcast writes; links of 10 GB/s; 5 us of latency, half before and half after a copy; a poll takes
1 us. A
program that writes the rings itself pays 0.25 us per packet, 0.5 us per doorbell and 0.25 us per
signal it sees.
"""

from __future__ import annotations

from typing import Any

import pytest
from made_workload import run_of
from shapes import TEACHING

from c3sim.errors import InputErrors
from c3sim.simulation.run import Run
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node

US = 1e-6
MESH = TEACHING.changed(links__topology="full_mesh")
GATHER = {
    "kind": "collective",
    "op": "all_gather",
    "size": "400 kB",
    "backend": "dma",
}  # 10 us per peer


def run(task: dict[str, Any], node: Node = MESH, fold: bool | None = None, **host: Any) -> Run:
    host = {"submission": "direct", **host}
    return run_of({"t": task}, node, host=host, trace=True, fold=fold)


def commands(outcome: Run, gpu: int) -> int:
    return sum(span.track.startswith(f"gpu{gpu}.dma") for span in outcome.timeline.spans)


def test_a_queue_rings_once_for_all_its_packets() -> None:
    """b2b: 3 copies and a signal, 4 x 0.25 + 0.5 us; then 2.5 + 3 x 10 + 2.5 us on the engine; 0.25
    us to see the signal.
    """
    assert run({**GATHER, "variant": "b2b"}).end == pytest.approx((1.5 + 35 + 0.25) * US)


def test_copies_on_parallel_engines_ring_for_each_queue() -> None:
    """Peers 1 and 3 share engine 0: its 3 packets and doorbell take 1.25 us, and it ends after 1.25
    + 2.5 + 20 + 2.5 us, later than the other; its signal is seen 0.25 us after that.
    """
    assert run(GATHER).end == pytest.approx((1.25 + 25 + 0.25) * US)


def test_a_batch_pays_for_packets_and_doorbells_too() -> None:
    """4 us for the call, then the b2b ring's 4 packets at 0.5 us and its doorbell; the runtime
    polls nothing.
    """
    assert run({**GATHER, "variant": "b2b"}, submission="batch").end == pytest.approx(
        (4 + 2.5 + 35) * US
    )


def test_prelaunched_commands_wait_behind_a_poll() -> None:
    """1 us instead of submission and fetch: 1 + 30 + 2.5 us and the signal."""
    assert run({**GATHER, "variant": "b2b"}, prelaunched=True).end == pytest.approx(33.75 * US)


def test_one_thread_submits_for_all_gpus() -> None:
    """Four rings of 1.5 us each before the last engine starts."""
    assert run({**GATHER, "variant": "b2b"}, threads="single").end == pytest.approx(
        (4 * 1.5 + 35.25) * US
    )


def test_a_broadcast_writes_to_two_peers() -> None:
    """Two peers by one command on engine 1, the third by a copy on engine 0. The broadcast writes
    200 kB at 10 GB/s, 20 us, and its ring is written first: 2 packets and a doorbell, 1 us, and 2.5
    + 20 + 2.5 us. Neither link is full.
    """
    outcome = run({**GATHER, "variant": "bcst"})
    assert commands(outcome, 0) == 2
    assert outcome.end == pytest.approx((1 + 25 + 0.25) * US)


def test_a_swap_serves_both_gpus_of_a_pair() -> None:
    """Six pairs: GPUs 0 and 1 submit two swaps, 2 and 3 one. An engine moves 10 GB/s over both
    directions: 20 us each. GPU 0's second ring rings after 2 us.
    """
    outcome = run({**GATHER, "op": "all_to_all", "variant": "swap"})
    assert [commands(outcome, gpu) for gpu in range(4)] == [2, 2, 1, 1]
    assert outcome.end == pytest.approx((2 + 25 + 0.25) * US)


def test_a_gpu_without_swaps_of_its_own_ends_with_its_peer() -> None:
    """The first of two GPUs submits the only swap: 1 + 2.5 + 40 + 2.5 + 0.25 us for 200 kB each
    way.
    """
    outcome = run({**GATHER, "op": "all_to_all", "variant": "swap"}, MESH.changed(gpus=2))
    ends = [outcome.times["t", gpu].end for gpu in (0, 1)]
    assert ends == pytest.approx([46.25 * US] * 2)


def test_swaps_move_what_copies_move() -> None:
    """Three swaps touch the memory of each of four GPUs: 3 x 100 kB read and as much written,
    whoever submitted them. So the bytes of copies, and the energy of memory and links; and the GPUs
    that submit one swap have as much to do in memory as those with two.
    """
    energy = {}
    for variant in ("pcpy", "swap"):
        task = {**GATHER, "op": "all_to_all", "variant": variant}
        run = run_of({"t": task}, MESH, host={"submission": "direct"}, trace=True)
        timeline = run.timeline
        gpus = range(1 if run.folded else MESH.gpus)
        for gpu in gpus:
            memory = next(
                counter for counter in timeline.counters if counter.name == f"gpu{gpu}.hbm"
            )
            spans = zip(memory.values, memory.times, [*memory.times[1:], timeline.end], strict=True)
            assert sum(rate * (end - start) for rate, start, end in spans) == pytest.approx(
                2 * 300e3
            )
        energy[variant] = run.account_of("t")["hbm_byte"] + run.account_of("t")["link_byte"]
    assert energy["swap"] == pytest.approx(energy["pcpy"])


def test_what_the_variants_submit_on_eight_gpus() -> None:
    """From the publication: 7 copies, 4 broadcasts, at most 4 swaps and 28 in all, 7 copies on one
    engine.
    """
    node = load_node("mi300x-8")
    for variant, op, expected in (
        ("pcpy", "all_gather", [7] * 8),
        ("bcst", "all_gather", [4] * 8),
        ("swap", "all_to_all", [4] * 4 + [3] * 4),
        ("b2b", "all_to_all", [7] * 8),
    ):
        outcome = run({**GATHER, "op": op, "variant": variant}, node, fold=False)
        assert [commands(outcome, gpu) for gpu in range(8)] == expected


def test_a_long_copy_is_several_packets() -> None:
    """At 50 kB per packet a ring of three copies of 100 kB holds 7 packets instead of 4: 0.75 us
    more of the host.
    """
    node = MESH.changed(gpu__dma_engines__max_packet_payload=50e3)
    assert run({**GATHER, "variant": "b2b"}, node).end == pytest.approx((0.75 + 36.75) * US)


def test_an_engine_decodes_a_packet_before_it_moves_a_byte_of_it() -> None:
    """At 2 us per packet: three copies of one packet each, behind one another in one ring, take 6
    us more; cut into two packets each, 12 us, beside the 0.75 us of the host.
    """
    slow = {"packet_time": 2 * US}
    for payload, more in ((1e9, 6.0), (50e3, 12.75)):
        changes = {**slow, "max_packet_payload": payload}
        engines = MESH.gpu.dma_engines.changed(**changes)
        node = MESH.changed(gpu__dma_engines=engines)
        outcome = run({**GATHER, "variant": "b2b"}, node)
        assert outcome.end == pytest.approx((36.75 + more) * US)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"variant": "swap"}, "tasks.t.variant"),
        ({"variant": "bcst", "op": "all_to_all"}, "tasks.t.variant"),
        ({"variant": "b2b", "direction": "pull"}, "tasks.t.direction"),
        ({"variant": "bcst", "engines": 2}, "tasks.t.engines"),
        ({"variant": "pcpy", "backend": "rccl"}, "tasks.t.variant"),
    ],
)
def test_variants_that_cannot_be(change: dict[str, Any], where: str) -> None:
    with pytest.raises(InputErrors) as caught:
        run({**GATHER, **change})
    assert [error.path for error in caught.value.errors] == [where]
