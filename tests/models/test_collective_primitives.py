"""Primitives of a channel that loads and stores at rates of its own, and how direct sends are dealt
to channels.
"""

from __future__ import annotations

import pytest

from c3sim.models.collective import plan_in_node
from c3sim.models.collective_counts import COUNTS, PRIMITIVES, Primitive, deal, primitives_of
from c3sim.models.phase import PhasePlan
from c3sim.spec.hardware import Node
from c3sim.spec.libraries import PeerChannels
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Collective

MIB = 1 << 20
H200 = load_node("h200-4")
PEER_CHANNELS = PeerChannels(rule="power_of_two", part=16.0 * MIB)


def node(gpus: int = 4, saturation_exponent: float = 200.0, **more: object) -> Node:
    """Channels at 1 GHz: 1 ns for 20 B of payload, 20 B loaded or 10 B stored; one port of 18 links
    of 10 GB/s; hard minimum.
    """
    channels = H200.collective_libraries["nccl"].channels.changed(
        bytes_per_cycle=20.0,
        load_bytes_per_cycle=20.0,
        store_bytes_per_cycle=10.0,
        link_efficiency=1.0,
        link_saturation_exponent=saturation_exponent,
        direct_link_saturation_exponent=saturation_exponent,
        peer_channels=None,
    )
    return H200.changed(
        gpus=gpus,
        gpu__clock__maximum=1e9,
        links__bandwidth=10e9,
        collective_libraries__nccl__channels=channels.changed(**more),
    )


def plan(op: str, on: Node, channels: int = 1, size: float = 256 * MIB) -> PhasePlan:
    task = Collective(
        kind="collective",
        op=op,
        size=size,
        backend="nccl",
        channels=channels,
        protocol="simple",
        algorithm="direct" if op == "all_to_all" else "ring",
    )
    return plan_in_node(on, task)


@pytest.mark.parametrize("gpus", [2, 4, 8])
@pytest.mark.parametrize("op", ["all_gather", "reduce_scatter", "all_reduce"])
def test_the_primitives_of_a_ring_are_what_the_table_counts(op: str, gpus: int) -> None:
    """An all-gather in place stores one part less: its own lies where it belongs."""
    loads, stores, sent = (
        sum(column) for column in zip(*PRIMITIVES[op, "ring"](gpus), strict=True)
    )
    in_all, _, reads, writes = COUNTS[op, "ring"](gpus)
    assert (loads, sent) == (reads, in_all)
    assert stores == writes - (op == "all_gather")


@pytest.mark.parametrize(
    ("op", "gpus", "cycles"),
    [
        # Per byte of a part, of 20: a primitive is 1, a load 1, a store 2. Two ranks: send (1 + 1 +
        # 2), then receive
        # (1 + 1 + 2), or reduce and store (1 + 2 + 2).
        ("all_gather", 2, 8),
        ("reduce_scatter", 2, 9),
        # send 4, reduce, store and send (1 + 2 + 4), receive 4
        ("all_reduce", 2, 15),
        # four ranks: two primitives more that store here and at the peer (1 + 1 + 4), or reduce and
        # send
        # (1 + 2 + 2)
        ("all_gather", 4, 8 + 2 * 6),
        ("reduce_scatter", 4, 9 + 2 * 5),
        ("all_reduce", 4, 15 + 2 * 6 + 2 * 5),
        # for each peer: sends and receives at once, 1 + 2 + 4
        ("all_to_all", 4, 3 * 7),
    ],
)
def test_one_channel_takes_what_its_primitives_take(op: str, gpus: int, cycles: int) -> None:
    """A channel far below the 180 GB/s of the port: 1 GHz, so that cycles are ns."""
    found, part = plan(op, node(gpus)), 256 * MIB / gpus
    assert found.sent / found.rate(1, 1.0) == pytest.approx(cycles / 20 * 1e-9 * part)
    assert found.rate(1, 0.5) == pytest.approx(found.rate(1, 1.0) / 2)


def test_primitives_that_send_wait_for_the_link_and_the_last_one_does_not() -> None:
    """24 channels on two ranks: 24 x 5 GB/s is less than 180 GB/s; at 20 times the rates the send
    takes what the link does, the primitive that only receives a twentieth of before.
    """
    fast = {"bytes_per_cycle": 400.0, "load_bytes_per_cycle": 400.0, "store_bytes_per_cycle": 200.0}
    found, part = plan("all_gather", node(2, **fast), channels=24), 128 * MIB
    assert found.sent / found.rate(24, 1.0) == pytest.approx(
        part / 180e9 + 4 / 400 * 1e-9 * part / 24
    )


def test_a_ring_whose_ranks_all_send_waits_for_one_slice() -> None:
    """launch + base + steps x step latency + a slice at a channel's rate, 3 or 6 steps alike."""
    on = node(4)
    library = on.collective_libraries["nccl"]
    wire = library.protocols["simple"]
    for op, steps in (("all_gather", 3), ("all_reduce", 6)):
        found = plan(op, on)
        fixed = library.launch_latency + wire.base_latency + steps * wire.step_latency
        assert found.work - fixed == pytest.approx(library.slice_bytes / found.rate(1, 1.0))


@pytest.mark.parametrize(
    ("channels", "gpus", "size", "used", "evenness", "rounds"),
    [
        # parts of at most 16 MiB, so that 128 MiB for the one peer take 8 channels of 16, and 512
        # MiB all of them
        (16, 2, 128, 8, 1.0, 1),
        (16, 2, 512, 16, 1.0, 1),
        # 8 channels: 4 are the peer's; 128 MiB take all, 16 MiB do not
        (8, 2, 128, 8, 1.0, 1),
        (8, 2, 16, 4, 1.0, 1),
        # 24 are 32: 8 for each of three peers, one part per channel
        (24, 4, 64, 24, 1.0, 1),
        # 8 on four ranks: 2 for each peer are too few for 64 MiB; 4 make 12 parts, two on some
        # channels, 1.5 on average
        (8, 4, 64, 8, 0.75, 2),
        # one channel sends to three peers, one after the other
        (1, 4, 64, 1, 1.0, 3),
    ],
)
def test_direct_sends_are_dealt_in_powers_of_two(
    channels: int, gpus: int, size: int, used: int, evenness: float, rounds: int
) -> None:
    dealt = deal(PEER_CHANNELS, channels, gpus, size * MIB)
    assert dealt == (used, pytest.approx(evenness), rounds)


def test_channels_that_get_more_than_others_decide() -> None:
    """All-to-all of 256 MiB on four ranks, 8 channels: 4/3 of the time of even parts."""
    even, dealt = (
        plan("all_to_all", node(4), 8),
        plan("all_to_all", node(4, peer_channels=PEER_CHANNELS), 8),
    )
    assert dealt.channels == even.channels == 8
    assert even.rate(8, 1.0) / dealt.rate(8, 1.0) == pytest.approx(4 / 3)


def test_out_of_place_a_ring_stores_its_own_part_too() -> None:
    """Two ranks: a send and a receive, each a load and a store; out of place the send stores twice.
    With 1/105 B/cycle for what a call moves and for a load, and 1/32.4 for a store, 0.0499 twice in
    place and 0.0308 more out of place: 1.31 times (1.26 to 1.30 measured, h200_loops_4_isolated).
    """
    in_place = primitives_of("all_gather", "ring", 2)
    own_too = primitives_of("all_gather", "ring", 2, out_of_place=True)
    assert [p.stores for p in in_place] == [1, 1] and [p.stores for p in own_too] == [2, 1]

    def time(primitives: tuple[Primitive, ...]) -> float:
        return sum((1 + p.loads) / 105 + p.stores / 32.4 for p in primitives)

    assert time(own_too) / time(in_place) == pytest.approx(1.31, abs=0.005)
    assert primitives_of("reduce_scatter", "ring", 2, out_of_place=True) == PRIMITIVES[
        "reduce_scatter", "ring"
    ](2)
