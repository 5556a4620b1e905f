"""Engines that share a port: each asks memory for its part of what the port lets through."""

from __future__ import annotations

import pytest

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Flow
from c3sim.engine.fluid import Fluid
from c3sim.machine.machine import Machine
from c3sim.machine.state import Asked
from c3sim.processes.dma.copies import DmaCopy, port_sharers, traffic
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import load_node

SWITCH, MESH = load_node("h200-4"), load_node("mi300x-8")


def copies(to: tuple[int, ...], engines: tuple[int, ...], *, pull: bool = False) -> list[DmaCopy]:
    ends = [(peer, 0) if pull else (0, peer) for peer in to]
    return [
        DmaCopy(0, engine, source, there, 1e6, mirrored=True)
        for engine, (source, there) in zip(engines, ends, strict=True)
    ]


@pytest.mark.parametrize(
    ("node", "engines", "sharers"),
    [
        (SWITCH, (0, 1, 2), 3),  # one port out for all peers
        (SWITCH, (0, 0, 0), 1),  # one after the other
        (SWITCH, (0, 1, 1), 2),
        (MESH, (0, 1, 2), 1),  # a link to each peer
    ],
)
@pytest.mark.parametrize("pull", [False, True])
def test_engines_are_counted_at_the_port_they_share(
    node: Node, engines: tuple[int, ...], sharers: int, pull: bool
) -> None:
    found = copies((1, 2, 3), engines, pull=pull)
    assert [port_sharers(node, found)(copy) for copy in found] == [sharers] * 3


def test_engines_of_several_gpus_are_told_apart_by_gpu() -> None:
    """Three sources carry what one GPU asked for, each by its engine 2: three engines behind the
    port into that GPU.
    """
    found = [DmaCopy(source, 2, source, 0, 1e6) for source in (1, 2, 3)]
    assert [port_sharers(SWITCH, found)(copy) for copy in found] == [3, 3, 3]


def test_together_they_ask_for_what_one_alone_does() -> None:
    """Each engine could fill the port; three of them ask memory for a third of its bytes each."""
    machine = Machine(SWITCH, Fluid(Clock()), folded=True)
    (copy, *_) = copies((1, 2, 3), (0, 1, 2))
    port = SWITCH.links.bandwidth * SWITCH.links.per_peer

    def declared(sharers: int):
        asked = Asked(0, 2 * port, traffic(SWITCH, copy, 1.0), sharers=sharers)
        return machine.flow("copy", asked, 1e6, lambda _flow: None).tags

    alone, two, three = declared(1), declared(2), declared(3)
    assert three.reads / alone.reads == pytest.approx(1 / 3)
    assert three.declared.through_ports / two.declared.through_ports == pytest.approx(2 / 3)
    wire = 1.0 / SWITCH.gpu.dma_engines.link_efficiency["push"]
    assert three.reads == pytest.approx(port / 3 / wire)


@pytest.mark.parametrize("node", [SWITCH, MESH])
@pytest.mark.parametrize("pull", [False, True])
@pytest.mark.parametrize("private", [frozenset[str](), frozenset({"links", "dma"})])
def test_copies_to_several_peers_ask_for_what_each_would_by_itself(
    node: Node, pull: bool, private: frozenset[str]
) -> None:
    """One is worked out for all: each has ports and an engine of its own nevertheless."""

    def flow(machine: Machine, copy: DmaCopy) -> Flow:
        asked = Asked(0, 5e10, traffic(node, copy, 1.0))
        return machine.flow("copy", asked, 1e6, lambda _flow: None)

    def machine() -> Machine:
        return Machine(node, Fluid(Clock()), folded=True, private=private)

    together, places = machine(), set()
    for copy in copies((1, 2, 3), (0, 1, 2), pull=pull):
        one, alone = flow(together, copy), flow(machine(), copy)
        assert (one.weight, one.most, one.amounts) == (alone.weight, alone.most, alone.amounts)
        of_others = {"kind": 0, "bound": 0, "declared": None}  # numbers in this machine; rates
        assert one.tags._replace(**of_others) == alone.tags._replace(**of_others)
        for of_one, of_it in zip(one.tags.declared[1:], alone.tags.declared[1:], strict=True):
            assert of_one == of_it
        places.add((one.tags.traffic.engine, one.amounts))
    assert len(places) == 3
