"""What a library decides across nodes: phases, parts, algorithm."""

from __future__ import annotations

import pytest

from c3sim.input.loading import load_hardware
from c3sim.models.collective import CollectivePlan, plan_collective
from c3sim.models.hierarchy import HierarchicalPlan, cluster_algorithms, plan_task
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective

CLUSTER = load_hardware("mi300x-cluster").node
GIB, KIB = 2.0**30, 2.0**10


def nodes(count: int) -> Node:
    wide = CLUSTER.scale_out.model_copy(update={"nodes": count})
    return CLUSTER.model_copy(update={"scale_out": wide})


def plan(
    op: str, count: int = 16, size: float = GIB, **more: object
) -> CollectivePlan | HierarchicalPlan:
    return plan_task(nodes(count), Collective(kind="collective", op=op, size=size, **more))


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
    assert isinstance(found, HierarchicalPlan)
    assert [(phase.where, phase.plan.op) for phase in found.phases] == [
        entry[:2] for entry in phases
    ]
    sent = [phase.plan.sent * found.parts / GIB for phase in found.phases]
    assert sent == pytest.approx([entry[2] for entry in phases])
    assert [phase.plan.network > 0 for phase in found.phases] == [
        entry[0] == "rail" for entry in phases
    ]


def test_a_ring_through_all_nodes() -> None:
    """128 GPUs: 2 x 127/128 S each, an eighth of it over a NIC, the rest evenly over seven links;
    of 254 steps 1 in 8 goes between nodes.
    """
    found = plan("all_reduce", algorithm="ring", protocol="simple")
    assert found.sent == pytest.approx(2 * 127 / 128 * GIB)
    assert found.network == pytest.approx(1 / 8)
    assert [amount for _, amount in found.paths] == pytest.approx([1 / 8] * 7)
    links, wide = CLUSTER.links, CLUSTER.scale_out
    assert found.flight == pytest.approx(254 * (7 / 8 * links.latency + 1 / 8 * wide.latency))


def test_bytes_for_a_nic_are_written_to_a_send_buffer_and_read_from_it() -> None:
    """Direct all-to-all on one node: 15/8 S read and written (see test_collective.py); of 128 parts
    120 leave the node: (2 x 127 + 1)/128 S, and 120/128 S for the NIC.
    """
    found = plan("all_to_all", algorithm="direct", protocol="simple")
    assert found.reads * found.sent == pytest.approx((255 + 120) / 128 * GIB)
    assert found.writes * found.sent == pytest.approx((255 + 120) / 128 * GIB)
    assert found.moved == pytest.approx(2 * (255 + 120) / 128 * GIB)


def test_large_messages_go_in_parts_and_small_ones_do_not() -> None:
    large, small = plan("all_reduce"), plan("all_reduce", size=256 * KIB, algorithm="hierarchical")
    assert isinstance(large, HierarchicalPlan) and isinstance(small, HierarchicalPlan)
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
        plan("all_gather", 128, size, algorithm="hierarchical", pipeline=16, protocol="simple")
        .phases[0]
        .plan
        for size in (GIB, 16 * KIB**2)
    )
    assert long.link_rate == pytest.approx(48.5e9)
    assert short.link_rate >= 2.0**10 / 0.5e-6
    direct = plan(
        "all_to_all", 128, 16 * KIB**2, algorithm="direct", protocol="simple"
    )  # 16 KiB to each of 1016
    assert direct.link_rate * direct.lanes * 1016 / 1023 == pytest.approx(2.0**14 / 0.5e-6)


def test_on_one_node_nothing_is_left_of_phases() -> None:
    task = Collective(kind="collective", op="all_reduce", size=GIB, algorithm="hierarchical")
    plain = task.model_copy(update={"algorithm": None})
    assert plan_task(nodes(1), task) == plan_collective(load_hardware("mi300x-8").node, plain)


def test_one_gpu_per_node_has_rails_only() -> None:
    thin = nodes(4).model_copy(update={"gpus": 1})
    found = plan_task(
        thin, Collective(kind="collective", op="all_reduce", size=GIB, algorithm="hierarchical")
    )
    assert [phase.where for phase in found.phases] == ["rail"]
    ring = plan_task(
        thin, Collective(kind="collective", op="all_reduce", size=GIB, algorithm="ring")
    )
    assert ring.network == pytest.approx(1.0) and not ring.paths


def test_algorithms_across_nodes() -> None:
    assert cluster_algorithms("all_reduce") == ("hierarchical", "ring", "direct")
    assert cluster_algorithms("all_to_all") == ("hierarchical", "direct")
