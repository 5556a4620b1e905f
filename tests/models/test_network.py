"""Who shares which NIC and leaf, and what crosses the spine, counted by listing peers."""

from __future__ import annotations

import pytest

from c3sim.models.capacity import Capacity
from c3sim.models.network import (
    LEAF_UP,
    NIC_IN,
    crossing_share,
    gpus_per_leaf,
    hop_latency,
    leaf_of,
    leaf_rate,
    network_capacities,
    nic_of,
    nic_rate,
    same_leaf,
    shared_rate,
)
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node

CLUSTER = load_node("mi300x-cluster")


def of(**changes: object) -> Node:
    """Six nodes of four GPUs, two to a leaf, an uplink half as wide as the NICs below it."""
    wide = {"nodes": 6, "nics": 4, "nodes_per_leaf": 2, "oversubscription": 2.0, **changes}
    return CLUSTER.changed(gpus=4, scale_out=CLUSTER.scale_out.changed(**wide))


LAYOUTS = [
    of(topology=topology, nics=nics, nodes=nodes)
    for topology in ("rails", "racks")
    for nics in (1, 2, 4, 8)
    for nodes in (2, 5, 6)
]


@pytest.mark.parametrize("node", LAYOUTS)
def test_shares_are_those_found_by_counting(node: Node) -> None:
    """``crossing_share`` and ``gpus_per_leaf`` have formulas; here every GPU's peers are listed."""
    everyone = range(node.ranks)
    for gpu in everyone:
        others = [peer for peer in everyone if peer // 4 != gpu // 4]
        rail = [peer for peer in others if peer % 4 == gpu % 4]
        for peers, listed in (("all", others), ("rail", rail)):
            across = [peer for peer in listed if not same_leaf(node, gpu, peer)]
            assert crossing_share(node, gpu, peers) == pytest.approx(len(across) / len(listed))
        on_leaf = [peer for peer in everyone if same_leaf(node, gpu, peer)]
        assert gpus_per_leaf(node, gpu) == len(on_leaf)
        # of a ring from node to node, what its members on this leaf are charged is what leaves it:
        # one stream of a GPU
        last = max(peer for peer in on_leaf if peer % 4 == gpu % 4)
        leaves = not same_leaf(node, last, node.peer(last, 4)) if node.nodes > 2 else False
        members = [peer for peer in on_leaf if peer % 4 == gpu % 4]
        assert sum(crossing_share(node, peer, "next") for peer in members) == pytest.approx(
            float(leaves)
        )


def test_rails_and_racks() -> None:
    """Rail r of the first two nodes is on leaf r, of the next two on leaf 4 + r; in racks nodes 0
    and 1 are on leaf 0.
    """
    rails, racks = of(topology="rails"), of(topology="racks")
    assert [leaf_of(rails, gpu) for gpu in range(12)] == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]
    assert [leaf_of(racks, gpu) for gpu in range(12)] == [0] * 8 + [1] * 4
    shared = of(topology="rails", nics=2)  # GPUs 0 and 1 of a node on rail 0
    assert [leaf_of(shared, gpu) for gpu in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert [nic_of(shared, gpu) for gpu in range(8)] == [0, 0, 2, 2, 4, 4, 6, 6]


def test_rates() -> None:
    """A NIC of 50 GB/s with 0.97 payload; two to a GPU are one port of both; uplinks are the NICs
    below over 2.
    """
    assert nic_rate(of()) == pytest.approx(48.5e9)
    assert nic_rate(of(nics=8)) == pytest.approx(97e9)
    assert shared_rate(of(nics=2)) == pytest.approx(24.25e9)
    assert leaf_rate(of(topology="rails"), 0) == pytest.approx(2 * 48.5e9 / 2)
    assert leaf_rate(of(topology="racks"), 0) == pytest.approx(8 * 48.5e9 / 2)
    assert leaf_rate(of(topology="racks", nics=2), 0) == pytest.approx(4 * 48.5e9 / 2)
    assert leaf_rate(of(topology="racks", nodes=5), 19) == pytest.approx(
        4 * 48.5e9 / 2
    )  # alone on its leaf


def test_a_nic_is_reached_over_the_host_link_or_not() -> None:
    over_host = of(gpu_path="host_link", nics=2)
    assert [(str(c), sharers) for c, sharers in network_capacities(over_host, 3, NIC_IN)] == [
        ("gpu2.nic.in", 2),
        ("gpu3.host.in", 1),
    ]
    own = network_capacities(of(gpu_path="own"), 3, NIC_IN)
    assert own == ((Capacity("gpu", 3, "nic", direction="in"), 1),)
    up = network_capacities(of(topology="racks"), 9, LEAF_UP)
    assert up == ((Capacity("leaf", 1, "up"), 8),)


def test_latency_of_a_hop() -> None:
    """4 us, and 1.5 us through the spine: for one hop in two of a ring along leaves of two, always
    to GPUs of all nodes.
    """
    node = of()
    assert hop_latency(node, "next") == pytest.approx(4.75e-6)
    assert hop_latency(node, "rail") == pytest.approx(5.5e-6)
    assert hop_latency(of(nodes_per_leaf=6), "rail") == pytest.approx(4e-6)


def test_peers_are_counted_round_the_node_and_then_over_nodes() -> None:
    """Offset 4 k + j: j further round the node that is k further on."""
    node = of()
    assert [node.peer(5, offset) for offset in (0, 1, 3, 4, 7, 23)] == [5, 6, 4, 9, 8, 0]
    alone = load_node("mi300x-8")
    assert all(alone.peer(g, d) == (g + d) % 8 for g in range(8) for d in range(8))
