"""A folded run with several classes: what a class draws on is its own, its peers' included."""

from __future__ import annotations

import pytest

from c3sim.engine.clock import Clock
from c3sim.engine.fluid import Fluid
from c3sim.machine.machine import Machine
from c3sim.machine.state import Asked
from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import Capacity
from c3sim.models.links import route
from c3sim.spec.reading.loading import load_node


@pytest.mark.parametrize("gpu", [0, 1])
def test_a_class_sends_and_answers_through_its_own_links(gpu: int) -> None:
    """A copy to the next GPU writes to its memory and is answered on its link: that peer is another
    GPU of the same class, whatever its number.
    """
    node = load_node("mi300x-8")
    assert node.links.reverse_share > 0
    fluid = Fluid(Clock())
    machine = Machine(node, fluid, folded=True, classes=2)
    peer = node.peer(gpu, 1)
    hops = tuple((hop, 1.0) for hop in route(node.links.topology, node.gpus, gpu, peer))
    traffic = Traffic(ports=hops, hbm_read=1.0, remote=((peer, 0.0, 1.0),))
    flow = machine.flow("copy", Asked(gpu, 1e9, traffic), 1e6, lambda _flow: None)
    owners = {
        capacity.owner_number for capacity, _ in flow.amounts if isinstance(capacity, Capacity)
    }
    assert len(flow.amounts) == 3  # memory, the link, its other direction
    assert owners == {gpu}
