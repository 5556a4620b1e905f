"""What each capacity gives, against the values of the packaged files."""

from __future__ import annotations

import pytest

from c3sim.input.loading import load_hardware
from c3sim.machine.rates import rate_of
from c3sim.models.capacity import Capacity

NODE = load_hardware("teaching-4").node
CLUSTER = load_hardware("mi300x-cluster").node


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
