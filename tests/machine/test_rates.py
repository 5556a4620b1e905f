"""The rate of each capacity, against the values of the packaged files."""

from __future__ import annotations

import pytest

from c3sim.machine.drawing import rate_of, request_latency, with_like
from c3sim.machine.traffic import Traffic
from c3sim.models.capacity import Capacity, Port
from c3sim.spec.reading.loading import load_node

NODE = load_node("teaching-4")
CLUSTER = load_node("mi300x-cluster")


def test_rates_inside_a_node() -> None:
    gpu = NODE.gpu
    expected = {
        Capacity("gpu", 0, "hbm"): gpu.hbm.bandwidth * gpu.hbm.read_efficiency,
        Capacity("gpu", 0, "l2"): gpu.l2.bandwidth * gpu.dies.count * gpu.clock.maximum,
        Capacity("gpu", 3, "link", 1, "out"): NODE.links.bandwidth * NODE.links.per_peer,
        Capacity("gpu", 0, "dma", 1): gpu.dma_engines.bandwidth,
        Capacity("gpu", 0, "host", direction="in"): NODE.host.link_bandwidth,
        Capacity("host", 0, "memory"): 1.0,  # a byte takes its share of what it can do
    }
    for capacity, rate in expected.items():
        assert rate_of(NODE, capacity) == rate, capacity
        assert rate_of(NODE, capacity._replace(task="alone")) == rate, capacity


def test_the_uplinks_of_a_leaf_carry_what_its_nics_do() -> None:
    """One leaf per rail: as many NICs below it as nodes, less what it is oversubscribed by."""
    wide = CLUSTER.scale_out
    nic = rate_of(CLUSTER, Capacity("gpu", 0, "nic", direction="out"))
    below = min(CLUSTER.nodes, wide.nodes_per_leaf)
    up = rate_of(CLUSTER, Capacity("leaf", 0, "up"))
    assert up == pytest.approx(nic * below / wide.oversubscription)


def test_like_flows_pass_through_each_others_links() -> None:
    """A ring of 4, straight to every peer by equal parts: 1/3 to the next over its link, 1/3 to the
    one before, 1/3 two on over the links of two GPUs. Where all do so, a link to the next carries
    1/3 + 2 x 1/3, the one before 1/3; memory is nobody else's, and of a leaf four have a share.
    """
    amounts = {
        Capacity("gpu", 0, "link", 1, "out"): 2 / 3,
        Capacity("gpu", 1, "link", 1, "out"): 1 / 3,
        Capacity("gpu", 0, "link", 3, "out"): 1 / 3,
        Capacity("gpu", 0, "hbm"): 2.0,
        Capacity("leaf", 0, "up"): 0.5,
    }
    found = with_like(amounts, {Capacity("leaf", 0, "up"): 4})
    assert list(found.values()) == pytest.approx([1.0, 1.0, 1 / 3, 2.0, 2.0])


def test_a_request_over_a_link_is_under_way_for_longer() -> None:
    """There and back over the link, beside memory's latency; a NIC takes the network's instead.
    Flows share by what they have under way, so this is their weight.
    """
    at_home, over = NODE.gpu.hbm.latency, 2 * NODE.links.latency
    assert over > 0
    link, nic = Port("link", "out", 1), Port("nic", "out")
    assert request_latency(NODE, Traffic(hbm_read=1.0)) == at_home
    assert request_latency(NODE, Traffic(ports=(((0, link), 1.0),))) == at_home + over
    assert request_latency(NODE, Traffic(host=(("in", 1.0),))) == at_home + over
    far = request_latency(CLUSTER, Traffic(network=(((0, nic), 1.0),)))
    assert far == CLUSTER.gpu.hbm.latency + 2 * CLUSTER.scale_out.latency
