"""Routes, read off drawings of each topology."""

from __future__ import annotations

import pytest

from c3sim.models.capacity import Port
from c3sim.models.links import Hop, ports, reverse, ring_ports, route, soft_minimum


@pytest.mark.parametrize(
    ("topology", "gpus", "source", "destination", "hops"),
    [
        # a mesh has one link per pair; links are numbered by how far on the peer is, modulo n
        ("full_mesh", 8, 0, 3, [(0, Port("link", "out", 3))]),
        ("full_mesh", 8, 5, 2, [(5, Port("link", "out", 5))]),  # 2 = 5 + 5 mod 8
        # a ring of 4: 3 is the neighbour of 0 the other way round, n - 1 = 3 places on
        ("ring", 4, 0, 1, [(0, Port("link", "out", 1))]),
        ("ring", 4, 0, 3, [(0, Port("link", "out", 3))]),
        (
            "ring",
            4,
            0,
            2,
            [(0, Port("link", "out", 1)), (1, Port("link", "out", 1))],
        ),  # as far either way: the positive one
        (
            "ring",
            6,
            1,
            5,
            [(1, Port("link", "out", 5)), (0, Port("link", "out", 5))],
        ),  # 1, 0, 5: two hops, not four
        ("switch", 8, 6, 1, [(6, Port("port", "out")), (1, Port("port", "in"))]),
    ],
)
def test_route(topology: str, gpus: int, source: int, destination: int, hops: list[Hop]) -> None:
    assert list(route(topology, gpus, source, destination)) == hops


@pytest.mark.parametrize("gpus", [3, 4, 7, 8])
@pytest.mark.parametrize("topology", ["full_mesh", "ring"])
def test_following_the_links_leads_to_the_destination(topology: str, gpus: int) -> None:
    for source in range(gpus):
        for destination in set(range(gpus)) - {source}:
            here = source
            for owner, port in route(topology, gpus, source, destination):
                assert owner == here
                here = (here + port.number) % gpus
            assert here == destination


@pytest.mark.parametrize("topology", ["full_mesh", "ring"])
def test_the_reverse_of_a_link_is_the_way_back(topology: str) -> None:
    """The hops from a to b, in order, and those from b to a, in reverse order; 5 GPUs, so that no
    way round a ring is as long as the other. The second node has the same links.
    """
    for node in (0, 5):
        for a in range(node, node + 5):
            for b in set(range(node, node + 5)) - {a}:
                back = [reverse(5, hop) for hop in route(topology, 5, a, b)][::-1]
                assert back == list(route(topology, 5, b, a))


def test_the_reverse_of_a_switch_port_is_its_other_direction() -> None:
    assert reverse(8, (3, Port("port", "out"))) == (3, Port("port", "in"))


@pytest.mark.parametrize("topology", ["full_mesh", "ring", "switch"])
def test_renumbering_maps_ports_onto_themselves(topology: str) -> None:
    """Folding relies on it: the route from g to g + d is that from 0 to d, g GPUs further on."""
    for g in range(8):
        for d in range(1, 8):
            moved = [((owner + g) % 8, port) for owner, port in route(topology, 8, 0, d)]
            assert list(route(topology, 8, g, (g + d) % 8)) == moved


def test_no_route_to_oneself() -> None:
    with pytest.raises(ValueError, match="to itself"):
        route("full_mesh", 8, 3, 3)


@pytest.mark.parametrize("topology", ["full_mesh", "ring", "switch"])
def test_every_route_uses_declared_ports(topology: str) -> None:
    used = {port for d in range(1, 8) for _, port in route(topology, 8, 0, d)}
    assert used == set(ports(topology, 8))


@pytest.mark.parametrize(("topology", "rings"), [("full_mesh", 7), ("ring", 2), ("switch", 1)])
def test_rings_use_every_port_once(topology: str, rings: int) -> None:
    """8 GPUs all joined have 7 outgoing links each, one ring for each; a ring can be gone round
    both ways.
    """
    found = ring_ports(topology, 8)
    assert len(found) == rings
    assert sorted(port for ring in found for port in ring) == sorted(ports(topology, 8))


@pytest.mark.parametrize(
    ("senders", "link", "exponent", "rate"),
    [
        (2.0, 2.0, 1.0, 1.0),  # p = 1: 1 / (1/2 + 1/2)
        (3.0, 4.0, 2.0, 2.4),  # p = 2: 1 / sqrt(1/9 + 1/16) = 12 / 5
        (3.0, 4.0, 400.0, 3.0),  # p large: the smaller
        (9.0, 4.0, 400.0, 4.0),
        (0.0, 4.0, 2.0, 0.0),  # nobody sends
        (3.0, 0.0, 2.0, 0.0),  # no link
    ],
)
def test_soft_minimum(senders: float, link: float, exponent: float, rate: float) -> None:
    assert soft_minimum(senders, link, exponent) == pytest.approx(rate, rel=1e-12)
