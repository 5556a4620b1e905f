"""Decisions of a library across nodes: phases, parts, algorithm."""

from __future__ import annotations

import pytest
from made_workload import workload_of

from c3sim.errors import InputErrors
from c3sim.models.collective import plan_in_node, plan_phase
from c3sim.models.hierarchy import CollectivePlan, cluster_algorithms, flat, plan_collective
from c3sim.models.network import hop_latency
from c3sim.spec.hardware import Node
from c3sim.spec.libraries import PeerChannels
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Collective

CLUSTER = load_node("mi300x-cluster")
GIB, KIB = 2.0**30, 2.0**10
PEER_CHANNELS = PeerChannels(rule="power_of_two", part=2.0**60)  # no part is larger


def nodes(count: int) -> Node:
    return CLUSTER.changed(scale_out__nodes=count)


def task(op: str, **more: object) -> Collective:
    return Collective(kind="collective", op=op, **{"size": GIB, **more})


def plan(op: str, count: int = 16, size: float = GIB, **more: object) -> CollectivePlan:
    return plan_collective(nodes(count), Collective(kind="collective", op=op, size=size, **more))


@pytest.mark.parametrize(
    ("op", "phases"),
    [
        # (where, operation, bytes a GPU sends in units of S) on 16 nodes of 8
        (
            "all_reduce",
            [
                ("node", "reduce_scatter", 7 / 8),
                ("rail", "all_reduce", 2 * 15 / 16 / 8),
                ("node", "all_gather", 7 / 8),
            ],
        ),
        ("all_gather", [("rail", "all_gather", 15 / 16 / 8), ("node", "all_gather", 7 / 8)]),
        (
            "reduce_scatter",
            [("node", "reduce_scatter", 7 / 8), ("rail", "reduce_scatter", 15 / 16 / 8)],
        ),
        ("all_to_all", [("node", "all_to_all", 7 / 8), ("rail", "all_to_all", 15 / 16)]),
    ],
)
def test_phases_and_what_they_send(op: str, phases: list[tuple[str, str, float]]) -> None:
    found = plan(op, algorithm="hierarchical")
    assert [(phase.level, phase.op) for phase in found.phases] == [entry[:2] for entry in phases]
    sent = [phase.sent * found.parts / GIB for phase in found.phases]
    assert sent == pytest.approx([entry[2] for entry in phases])
    assert [phase.network > 0 for phase in found.phases] == [entry[0] == "rail" for entry in phases]


def test_a_ring_through_all_nodes() -> None:
    """128 GPUs: 2 x 127/128 S each, an eighth of it over a NIC, the rest evenly over seven links;
    of 254 steps 1 in 8 goes between nodes.
    """
    whole = plan("all_reduce", algorithm="ring", protocol="simple")
    found = whole.phases[0]
    assert found.sent == pytest.approx(2 * 127 / 128 * GIB)
    assert found.network == pytest.approx(1 / 8)
    assert [amount for _, amount in found.paths] == pytest.approx([1 / 8] * 7)
    links, wide = CLUSTER.links, CLUSTER.scale_out
    assert whole.flight == pytest.approx(254 * (7 / 8 * links.latency + 1 / 8 * wide.latency))


def test_bytes_for_a_nic_are_written_to_a_send_buffer_and_read_from_it() -> None:
    """Direct all-to-all on one node: 15/8 S read and written (see test_collective.py); of 128 parts
    120 leave the node: (2 x 127 + 1)/128 S, and 120/128 S for the NIC.
    """
    found = plan("all_to_all", algorithm="direct", protocol="simple").phases[0]
    assert found.reads * found.sent == pytest.approx((255 + 120) / 128 * GIB)
    assert found.writes * found.sent == pytest.approx((255 + 120) / 128 * GIB)
    assert found.moved == pytest.approx(2 * (255 + 120) / 128 * GIB)


def test_large_messages_go_in_parts_and_small_ones_do_not() -> None:
    large, small = plan("all_reduce"), plan("all_reduce", size=256 * KIB, algorithm="hierarchical")
    assert large.parts == CLUSTER.scale_out.pipeline and small.parts == 1
    assert (
        plan("all_reduce", pipeline=5).parts == 5
    )  # asked for parts, it takes the way that has some
    assert plan("all_reduce", pipeline=5, chunks=3).parts == 6  # whole parts in every chunk


def test_the_library_takes_what_it_expects_to_be_fastest() -> None:
    """A flat ring has 2 x 127 steps, the phases have 2 x 7 and a few."""
    small = plan("all_reduce", size=256 * KIB)
    assert small.algorithm == "hierarchical"
    flat = plan("all_reduce", size=256 * KIB, algorithm="ring")
    assert small.estimate < flat.work + flat.flight


def test_many_receivers_need_long_messages() -> None:
    """A host thread posts to each of 127 nodes: 1 GiB / 8 rails / 128 nodes are 1 MiB, 64 KiB in 16
    parts, which 0.5 us per post hardly hold up (131 GB/s); 16 MiB in 16 parts are 1 KiB, at most 2
    GB/s.
    """
    long, short = (
        plan(
            "all_gather", 128, size, algorithm="hierarchical", pipeline=16, protocol="simple"
        ).phases[0]
        for size in (GIB, 16 * KIB**2)
    )
    assert long.link_rate == pytest.approx(48.5e9)
    assert short.link_rate >= 2.0**10 / 0.5e-6
    direct = plan("all_to_all", 128, 16 * KIB**2, algorithm="direct", protocol="simple").phases[
        0
    ]  # 16 KiB to each of 1016
    assert direct.link_rate * direct.lanes * 1016 / 1023 == pytest.approx(2.0**14 / 0.5e-6)


def test_on_one_node_nothing_is_left_of_phases() -> None:
    phased = plan_collective(nodes(1), task("all_reduce", algorithm="hierarchical"))
    assert phased == flat(plan_in_node(load_node("mi300x-8"), task("all_reduce")), 1)


def test_one_gpu_per_node_has_rails_only() -> None:
    thin = nodes(4).changed(gpus=1)
    found = plan_collective(thin, task("all_reduce", algorithm="hierarchical"))
    assert [phase.level for phase in found.phases] == ["rail"]
    ring = plan_collective(thin, task("all_reduce", algorithm="ring")).phases[0]
    assert ring.network == pytest.approx(1.0)
    assert not ring.paths


def test_an_all_to_all_has_a_round_for_every_peer_wherever_it_is() -> None:
    """128 GPUs: 127 rounds of the channels, as in a node of 8 there are 7. Of 126 rounds behind the
    first, 7 in 127 are with GPUs of the node; those with others are on the way together.
    """
    library, wide = CLUSTER.collective_libraries["rccl"], CLUSTER.scale_out
    wire, links = library.protocols["simple"], CLUSTER.links
    found = plan("all_to_all", algorithm="direct", protocol="simple")
    hop = hop_latency(CLUSTER, "all")
    assert found.flight == pytest.approx(hop + 126 * 7 / 127 * links.latency)
    sliced = found.work - library.launch_latency - 127 * wire.step_latency - wide.step_latency
    rate = found.phases[0].rate(1, 1.0)
    assert sliced == pytest.approx(2 * library.slice_bytes / rate)
    phases = plan("all_to_all", algorithm="hierarchical", protocol="simple").phases
    rail = hop_latency(CLUSTER, "rail")
    assert [phase.flight for phase in phases] == pytest.approx([7 * links.latency, rail])


def with_channels(**more: object) -> Node:
    library = CLUSTER.collective_libraries["rccl"]
    rules = library.channels.changed(**more)
    return CLUSTER.changed(collective_libraries__rccl__channels=rules)


def test_channels_load_and_store_across_nodes_too() -> None:
    """A ring of 128 with a channel that loads and stores 1 B per cycle each: send (1, 1), 126 times
    receive, copy and send (1, 2), and receive (1, 1), of 127 parts sent, beside the payload of 128.
    """
    node = with_channels(load_bytes_per_cycle=1.0, store_bytes_per_cycle=1.0)
    found = plan_phase(node, task("all_gather", algorithm="ring"), "ring", "simple", level="all")
    clock, payload = (
        node.gpu.clock.maximum,
        128 / node.collective_libraries["rccl"].channels.bytes_per_cycle,
    )
    cycles = payload + 2 + 126 * 3 + 2
    assert 1 / found.channel_rate == pytest.approx(cycles / 127 / clock)


def test_direct_sends_across_nodes_are_dealt_to_the_peers_too() -> None:
    """127 peers on 8 channels, a part each: 16 on seven channels, which decide, 15 on the last."""
    loads = {"load_bytes_per_cycle": 1.0, "store_bytes_per_cycle": 1.0}
    wanted = task("all_to_all", channels=8, algorithm="direct")
    even, dealt = (
        plan_phase(with_channels(**loads, **more), wanted, "direct", "simple", level="all")
        for more in ({"peer_channels": None}, {"peer_channels": PEER_CHANNELS})
    )
    assert even.channels == dealt.channels == 8
    assert even.channel_rate / dealt.channel_rate == pytest.approx(16 / (127 / 8))


def test_the_phase_with_most_channels_decides_how_many_there_are() -> None:
    """56 are 64: in the node 8 for each of 7 peers, on the rails 4 for each of 15."""
    wanted = task("all_to_all", algorithm="hierarchical", channels=56)
    found = plan_collective(with_channels(peer_channels=PEER_CHANNELS), wanted)
    assert [phase.channels for phase in found.phases] == [56, 60]
    assert found.channels == 60


def test_the_base_latency_is_paid_once() -> None:
    node = CLUSTER.changed(collective_libraries__rccl__protocols__simple__base_latency=1.0)
    for algorithm in ("ring", "hierarchical"):
        wanted = task("all_reduce", algorithm=algorithm, pipeline=4, protocol="simple")
        assert int(plan_collective(node, wanted).estimate) == 1


def test_algorithms_across_nodes() -> None:
    assert cluster_algorithms("all_reduce") == ("hierarchical", "ring", "direct")
    assert cluster_algorithms("all_to_all") == ("hierarchical", "direct")


def test_channels_that_post_themselves_wait_for_no_thread() -> None:
    """A ring over two nodes of eight: 30 steps, of which one link in eight is between nodes. There
    a step takes 6 us with the host's threads, 1.7 where a channel posts.
    """
    asked = {"algorithm": "ring", "protocol": "simple"}
    work = {
        proxies: plan("all_reduce", 2, **asked, proxies=proxies).work
        for proxies in ("host", "device")
    }
    assert work["host"] - work["device"] == pytest.approx(30 / 8 * (6e-6 - 1.7e-6))


def test_proxies_of_the_device_need_what_a_put_costs() -> None:
    gather = {"kind": "collective", "op": "all_gather", "size": 2**20, "proxies": "device"}
    with pytest.raises(InputErrors, match="gives no scale_out"):
        check_on_node(workload_of({"gather": gather}, node="h200-8"), load_node("h200-8"))
