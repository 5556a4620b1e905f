"""Bytes, steps and rates of collectives, counted by following one GPU's part of the buffer."""

from __future__ import annotations

import csv
import json

import pytest
from made_workload import workload_of
from places import ROOT

import c3sim
from c3sim.errors import InputErrors
from c3sim.models.capacity import Port
from c3sim.models.collective import allowed_protocols, plan_in_node
from c3sim.models.phase import PhasePlan, channel_speed
from c3sim.spec.reading import library
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Collective

MI300X, TEACHING = load_node("mi300x-8"), load_node("teaching-4")
MIB = 1 << 20
PLAIN = "a switch that does not multiply"
S = 512 * MIB


def plan(op: str, size: float = S, node=MI300X, **more: object) -> PhasePlan:
    return plan_in_node(node, Collective(kind="collective", op=op, size=size, **more))


@pytest.mark.parametrize(
    ("op", "algorithm", "sent", "reads", "writes"),
    [
        # In eighths of S, on 8 GPUs; a GPU's writes include those that arrive from its neighbour.
        # Ring reduce-scatter, 7 steps: each sends a part (7 sent) and adds what arrived to its own.
        # The first
        # part is read (1) and sent; then 6 times what arrived and its own are read (12) and the sum
        # sent;
        # last both are read once more (2) and the result written (1). Reads 15; writes: 7 that
        # arrive, 1
        # result: 8.
        ("reduce_scatter", "ring", 7, 15, 8),
        # Ring all-gather, 7 steps: its own part is read and copied to its place (1 read, 1 write)
        # while it is
        # sent; 6 of the 7 that arrive (7 writes) are read and sent on, and all 7 copied out (7
        # writes) as
        # they are read: one read serves both. Reads 1 + 7 = 8; writes 1 + 7 + 7 = 15.
        ("all_gather", "ring", 7, 8, 15),
        # All-reduce: both, except that the result of the first is written and sent on in one step.
        # 7 + 7
        # sent. Reads: 1 + 6 x 2 + 2 = 15, and 7 that arrive again: 22. Writes: 7 arrive, 1 result,
        # 7 arrive,
        # 7 copied out: 22.
        ("all_reduce", "ring", 14, 22, 22),
        # Direct all-to-all: 7 parts go to the peers' buffers (7 read, 7 arrive), are copied out
        # there (7
        # read, 7 written), and its own is copied (1 read, 1 written).
        ("all_to_all", "direct", 7, 15, 15),
    ],
)
def test_bytes_by_algorithm(op: str, algorithm: str, sent: int, reads: int, writes: int) -> None:
    found = plan(op, algorithm=algorithm, protocol="simple")
    assert found.sent == sent / 8 * S
    assert found.reads * found.sent == pytest.approx(reads / 8 * S)
    assert found.writes * found.sent == pytest.approx(writes / 8 * S)
    assert sum(amount for _, amount in found.paths) == pytest.approx(
        1.0
    )  # the simple protocol adds nothing


@pytest.mark.parametrize(
    ("op", "node", "sent", "reads", "writes"),
    [
        # In eighths (or halves) of S. Loaded once and stored at seven peers: seven arrive.
        ("all_gather", PLAIN, 7, 1, 7),
        # Each of the eight parts here is loaded once, by the rank that adds it; one sum is written.
        ("reduce_scatter", PLAIN, 7, 8, 1),
        # Both; the sum of each part is stored at all, here as well.
        ("all_reduce", PLAIN, 14, 8, 8),
        ("all_reduce", "h200-2", 2, 2, 2),
        # The switch loads every part once, and stores every sum once: no copies beside that.
        ("all_reduce", "h200-8", 9, 8, 8),
    ],
)
def test_between_registered_buffers_nothing_is_copied(
    op: str, node: str, sent: int, reads: int, writes: int
) -> None:
    on = load_node("h200-8" if node == PLAIN else node)
    if node == PLAIN:
        on = on.changed(links__multicast=False, links__reduction=False)
    found, part = plan(op, node=on, backend="nccl_symmetric"), S / on.gpus
    assert found.algorithm == ("switch" if node == "h200-8" else "direct")
    assert found.sent == pytest.approx(sent * part)
    assert found.reads * found.sent == pytest.approx(reads * part)
    assert found.writes * found.sent == pytest.approx(writes * part)
    if op == "all_gather":  # its own part too
        own = plan(op, node=on, backend="nccl_symmetric", out_of_place=True)
        assert own.writes * own.sent == pytest.approx((writes + 1) * part)


def test_an_all_to_all_has_a_round_for_every_peer() -> None:
    """A step's latency for each of 7 (two H200 take 14 us for small ones, four 19: suite
    h200_dma_library); slices go through one.
    """
    found, gathered = plan("all_to_all", protocol="simple"), plan("all_gather", protocol="simple")
    assert found.flight == gathered.flight == pytest.approx(7 * MI300X.links.latency)
    library = MI300X.collective_library("rccl")
    wire = library.protocols["simple"]
    rounds = library.launch_latency + wire.base_latency + 7 * wire.step_latency
    piece = min(library.slice_bytes, found.sent / (found.channels * library.min_slices))
    assert found.work == pytest.approx(rounds + 2 * piece / found.rate(1, 1.0))


def test_memory_traffic_of_the_all_reduce_is_that_counted() -> None:
    """Counters of one of eight GPUs during a ring all-reduce of 512 MiB: 22/8 S each way, within 1
    %.
    """
    path = (
        library.find("gpu", "mi300x").parent.parent
        / "validation/data/published/mi300x/cache_counters.json"
    )
    measured = json.loads(path.read_text())["derived"]["rccl_all_reduce_beside_gemm_torch"]
    found = plan("all_reduce", algorithm="ring", protocol="simple")
    assert found.reads * found.sent == pytest.approx(measured["memory_read_bytes"], rel=0.01)
    assert found.writes * found.sent == pytest.approx(measured["memory_write_bytes"], rel=0.01)


def test_every_ring_link_carries_its_part() -> None:
    """Seven rings in the mesh of 8: a seventh of the bytes on each outgoing link. Two in a ring of
    4: half each.
    """
    assert dict(plan("all_gather").paths) == pytest.approx(
        {(0, Port("link", "out", d)): 1 / 7 for d in range(1, 8)}
    )
    ring = plan("all_gather", node=TEACHING).paths
    assert dict(ring) == pytest.approx(
        {(0, Port("link", "out", 1)): 1 / 2, (0, Port("link", "out", 3)): 1 / 2}
    )


def test_direct_on_a_ring_takes_two_hops_to_the_far_side() -> None:
    """From 0: a third of the bytes to each of 1 (one hop), 3 (one hop back) and 2 (on from 1)."""
    hops = {
        (0, Port("link", "out", 1)): 2 / 3,
        (1, Port("link", "out", 1)): 1 / 3,
        (0, Port("link", "out", 3)): 1 / 3,
    }
    assert dict(plan("all_to_all", node=TEACHING).paths) == pytest.approx(hops)


def test_protocol_with_flags_sends_more_than_the_payload() -> None:
    """ll packs 4 bytes of payload with 4 of flag: two bytes on the wire for one."""
    packed = plan("all_gather", size=64 * 1024, protocol="ll")
    assert sum(amount for _, amount in packed.paths) == pytest.approx(2.0)
    assert packed.channel_rate == plan("all_gather", protocol="simple").channel_rate / 2


def test_time_by_hand() -> None:
    """Teaching node, ring all-gather of 8 MiB on 4 GPUs, 2 channels: 3/4 of it is sent in 3 steps.

    The soft minimum, p = 4, of a channel of 5 GB/s and a ring of 10 is 5 / (1 + 1/16)^(1/4) = 4.925
    GB/s. Before the first byte arrives everywhere: 3 us launch, 3 x 2 us, and in each step, and
    once more at the end, a slice of 512 KiB at that rate, 106.45 us; on the links 3 x 1 us.
    """
    found = plan("all_gather", 8 * MIB, TEACHING)
    assert (found.channels, found.lanes, found.per_link) == (2, 2, 1)
    assert found.sent == 6 * MIB
    assert found.work == pytest.approx((3 + 3 * 2 + 4 * 524288 / (5e3 / 1.0625**0.25)) * 1e-6)
    assert found.flight == pytest.approx(3e-6)
    assert found.rate(2, 1.0) == pytest.approx(2 * 5e9 / 1.0625**0.25)


def test_slices_are_no_longer_than_a_channel_has_to_send() -> None:
    """8 KiB on 4 GPUs and 2 channels: 3 steps of 1 KiB each per channel, not of 512 KiB."""
    found = plan("all_gather", 8192, TEACHING)
    assert found.work == pytest.approx((3 + 3 * 2 + 4 * 1024 / (5e3 / 1.0625**0.25)) * 1e-6)


def test_channels_are_dealt_to_links_and_the_fullest_decides() -> None:
    """56 on 7 links: 8 each. 8 on 7 links: two on one of them, and the others wait for that one: no
    faster than 14.
    """
    full, eight, fourteen = (
        plan("all_reduce"),
        plan("all_reduce", channels=8),
        plan("all_reduce", channels=14),
    )
    assert (full.per_link, eight.per_link, fourteen.per_link) == (8, 2, 2)
    assert eight.rate(8, 1.0) == pytest.approx(fourteen.rate(14, 1.0) * 8 / 14)


def test_more_channels_than_the_library_has_are_its_maximum() -> None:
    assert (
        plan("all_reduce", channels=300).channels
        == MI300X.collective_libraries["rccl"].channels.maximum
    )


def test_many_channels_fill_the_link_and_slow_ones_do_not() -> None:
    """Rate grows with channels and never beyond the links; at half speed few channels lose half,
    many less.
    """
    rates = [plan("all_reduce", channels=n).rate(n, 1.0) for n in (7, 14, 28, 56)]
    assert rates == sorted(rates)
    links = 7 * MI300X.links.bandwidth
    assert rates[-1] < links
    few, many = plan("all_reduce", channels=7), plan("all_reduce")
    assert few.rate(7, 0.5) / few.rate(7, 1.0) < 0.52
    assert many.rate(56, 0.5) / many.rate(56, 1.0) > 0.6


def test_small_messages_take_fewer_steps_and_large_ones_fewer_bytes() -> None:
    """A tree goes up and down in 2 ld 8 = 6 steps and sends 3 S from an inner GPU; a ring needs 14
    steps and 14/8 S.
    """
    assert plan("all_reduce", size=8192).algorithm == "tree"
    assert plan("all_reduce", size=S).algorithm == "ring"
    tree = plan("all_reduce", algorithm="tree")
    assert tree.sent == 3 * S
    assert tree.flight == pytest.approx(6 * MI300X.links.latency)


def test_a_protocol_ends_at_its_largest_message() -> None:
    """LL sends a flag with every word, so it is left to small messages: up to its size, and not a
    byte above. Where no protocol is for a size, the library has to take one of them.
    """
    library = MI300X.collective_library("rccl")
    most = library.protocols["ll"].maximum_size
    assert most < library.protocols["simple"].maximum_size

    def allowed(size: float, **more: object) -> list[str]:
        task = Collective(kind="collective", op="all_reduce", size=size, **more)
        return allowed_protocols(library, task)

    assert "ll" in allowed(most) and "ll" not in allowed(most + 1)
    assert "simple" in allowed(most + 1)
    assert allowed(most + 1, protocol="ll") == ["ll"]
    beyond = max(each.maximum_size for each in library.protocols.values()) + 1
    assert allowed(beyond) == list(library.protocols)


def test_an_algorithm_that_an_operation_does_not_have_is_refused_on_input() -> None:
    task = {"kind": "collective", "op": "all_to_all", "size": "8 MiB", "algorithm": "ring"}
    with pytest.raises(InputErrors, match="algorithm"):
        check_on_node(workload_of({"a": task}), MI300X)


def test_a_part_is_cut_into_at_least_so_many_slices() -> None:
    """1 MiB per channel and step, in slices of at most 512 KiB; cut into 8: 128 KiB."""
    node = TEACHING.changed(collective_libraries__rccl__min_slices=8)
    assert plan("all_gather", 8 * MIB, node).work == pytest.approx(
        (3 + 3 * 2 + 4 * 131072 / (5e3 / 1.0625**0.25)) * 1e-6
    )


def test_a_library_reckons_with_links_that_answer() -> None:
    """Rings use both directions of every link: with a fourth of a byte to answer each, a ring of 10
    GB/s carries 10 / 1.25 = 8. The smallest of the soft minimum's two rates is the channel's, 5.
    """
    answered = plan("all_gather", 8 * MIB, TEACHING.changed(links__reverse_share=0.25))
    assert answered.link_rate == pytest.approx(8e9)
    assert answered.rate(2, 1.0) == pytest.approx(2 * (5e9**-4 + 8e9**-4) ** -0.25)


def test_a_channel_of_direct_sends_may_have_a_rate_of_its_own() -> None:
    """2 B per cycle at 1 GHz for an all-to-all; rings keep the 5 GB/s of ``bytes_per_cycle``."""
    library = TEACHING.collective_libraries["rccl"]
    libraries = {"rccl": library.changed(channels__direct_bytes_per_cycle=2.0)}
    node = TEACHING.changed(collective_libraries=libraries)
    assert plan("all_to_all", 8 * MIB, node).channel_rate == pytest.approx(2e9)
    assert plan("all_gather", 8 * MIB, node).channel_rate == pytest.approx(5e9)


def test_latencies_of_memory_and_fabric_keep_their_clock() -> None:
    """At half the clock a channel that follows it whole has half its speed; one of which half
    waits for memory takes 0.5 / 0.5 + 0.5 = 1.5 times as long. Memory's share counts for all of it.
    """
    assert channel_speed(1.0, 0.5, 0.8) == 0.5 * 0.8
    assert channel_speed(0.5, 0.5, 0.75) == pytest.approx(0.75 / 1.5)
    assert channel_speed(0.0, 0.5, 1.0) == 1.0


SYMMETRIC = ROOT / "validation/data/kernels/h200-2-symmetric.csv"


def test_symmetric_kernels_of_two_h200_take_what_was_measured():
    """Loads and stores of a block give three operations, links the most: 10 % from 32 MiB on."""
    for row in csv.DictReader(SYMMETRIC.read_text().splitlines()):
        if int(row["mib"]) < 32:
            continue
        task = {"kind": "collective", "op": row["operation"], "size": f"{row['mib']} MiB"}
        task |= {"backend": "nccl_symmetric", "out_of_place": row["operation"] == "all_gather"}
        task |= {"channels": int(row["asked"])} if row["asked"] else {}
        measured = 1e-6 * float(row["median_us_rank0"])
        assert c3sim.run({"tasks": {"it": task}}, node="h200-2").wall_s == pytest.approx(
            measured, rel=0.1
        ), row


CHANNELS = ROOT / "validation/data/kernels/h200-2-nccl-channels.csv"


def test_channels_of_small_messages_are_those_measured() -> None:
    """All 114 counts of rings by a pinned protocol on two H200: 1, 2, 4, 8, 16, 22, 24."""
    node = load_node("h200-2")
    with CHANNELS.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["protocol"]]
    assert len(rows) == 114
    for row in rows:
        task = {"size": float(row["bytes"]), "algorithm": "ring", "protocol": row["protocol"]}
        assert plan(row["operation"], node=node, **task).channels == int(row["channels"]), row


def test_the_channels_of_a_task_are_its_own() -> None:
    node = load_node("h200-2")
    assert plan("all_reduce", 65536, node).channels == 8
    assert plan("all_reduce", 65536, node, channels=24).channels == 24


def test_the_ranks_of_a_ring_count_for_ll() -> None:
    """512 threads of 8 B for each of 8 ranks: 32 KiB a channel, so 256 KiB have 8, of two GPUs 22:
    128 cells of 2 KiB, 6 for each of 24.
    """
    eight, two = load_node("h200-8"), load_node("h200-2")
    how = {"algorithm": "ring", "protocol": "ll"}
    assert plan("all_reduce", 262144, eight, **how).channels == 8
    assert plan("all_reduce", 262144, two, **how).channels == 22


@pytest.mark.parametrize(
    ("size", "time"), [(8, 83.7), (16, 149.1), (32, 243.4), (64, 427.9), (128, 795.3)]
)
def test_slices_that_a_ring_fills_with_stop_to_grow_at_16_mib(size: int, time: float) -> None:
    """All-reduces by RCCL from a graph (us, suite rccl_all_reduce_size): a slice is half a chunk,
    and at most ``slice_bytes``. With eight slices 16 MiB came out 11 % too short, 128 MiB 8 too
    long.
    """
    assert plan("all_reduce", size * MIB).estimate * 1e6 == pytest.approx(time, rel=0.05)
