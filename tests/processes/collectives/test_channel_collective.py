"""Collectives across nodes, against times reckoned by hand from bytes and bandwidths.

S = 96 MB on 3 nodes of 4 GPUs (n = 12). A GPU sends at most 30 GB/s over its three links and 8 GB/s
over its NIC. All phases are bound by bandwidth: a phase among k GPUs that hold a share of s takes
s (k-1)/k / rate, an all-reduce twice that.
"""

from __future__ import annotations

import pytest
from clusters import MS, NODE, changed, run
from made_workload import run_of, workload_of

from c3sim.simulation.folding import can_fold
from c3sim.simulation.simulate import simulate

S = {"kind": "collective", "size": "96 MB"}
NODE_PHASE = 96 * 3 / 4 / 30  # ms: 72 MB over 30 GB/s
RAIL_PHASE = 24 * 2 / 3 / 8  # ms: of the 24 MB of each rail, over 8 GB/s


@pytest.mark.parametrize(
    ("op", "algorithm", "time"),
    [
        ("all_reduce", "hierarchical", NODE_PHASE + 2 * RAIL_PHASE + NODE_PHASE),  # 8.8 ms
        ("all_gather", "hierarchical", RAIL_PHASE + NODE_PHASE),  # 4.4 ms
        ("reduce_scatter", "hierarchical", NODE_PHASE + RAIL_PHASE),
        # to the GPU on the receiver's rail: 72 MB over links; then 2/3 of all 96 MB over the NIC
        ("all_to_all", "hierarchical", NODE_PHASE + 96 * 2 / 3 / 8),
        # A ring over 12 GPUs: each sends 2 x 11/12 x 96 = 176 MB, a quarter of it by NIC: 44 MB
        # over 8 GB/s
        # take longer than 132 MB over 30 GB/s.
        ("all_reduce", "ring", 44 / 8),
        ("all_gather", "ring", 22 / 8),
        # 8 of 12 parts of 8 MB go straight to GPUs of other nodes; an all-reduce does it twice
        ("all_to_all", "direct", 64 / 8),
        ("all_gather", "direct", 64 / 8),
        ("all_reduce", "direct", 128 / 8),
    ],
)
def test_one_phase_after_the_other(op: str, algorithm: str, time: float) -> None:
    parts = {"pipeline": 1} if algorithm == "hierarchical" else {}
    assert run({**S, "op": op, "algorithm": algorithm, **parts}).end == pytest.approx(
        time * MS, rel=1e-5
    )


def test_parts_follow_each_other_through_two_phases() -> None:
    """All-gather in 4 parts: 0.5 ms on the rails, 0.6 ms in the node each. The node has a part to
    send from 0.5 ms on and is never without: 0.5 + 4 x 0.6 ms.
    """
    outcome = run({**S, "op": "all_gather", "algorithm": "hierarchical", "pipeline": 4})
    assert outcome.end == pytest.approx(2.9 * MS, rel=1e-5)
    rails, node = outcome.task("t").detail["phases"]
    assert [rails["start_s"], rails["end_s"], rails["sending_s"]] == pytest.approx(
        [0, 2 * MS, 2 * MS], abs=1e-7
    )
    assert [node["start_s"], node["end_s"], node["sending_s"]] == pytest.approx(
        [0.5 * MS, 2.9 * MS, 2.4 * MS], rel=1e-5
    )
    spans = [span for span in outcome.timeline.spans if span.track == "gpu0.phases of t"]
    assert [span.name for span in spans if span.start < 0.6 * MS] == [
        "all_gather on the rails, part 1 of 4",
        "all_gather on the rails, part 2 of 4",
        "all_gather in the node, part 1 of 4",
    ]


def test_parts_follow_each_other_through_three_phases() -> None:
    """All-reduce in 4 parts: 0.6, 1.0, 0.6 ms each. The rails are the bottleneck: they have a part
    at 0.6 ms and from then on always: 0.6 + 4 x 1.0 + 0.6 ms. The first phase shares its links with
    the last one, half and half, from 1.6 ms on: its third part, 0.4 of 0.6 ms done by then, ends at
    2.0 and its fourth at 3.2 ms; the rails need them at 2.6 and 3.6 ms.
    """
    outcome = run({**S, "op": "all_reduce", "algorithm": "hierarchical", "pipeline": 4})
    assert outcome.end == pytest.approx(5.2 * MS, rel=1e-5)
    ends = [
        span.end
        for span in outcome.timeline.spans
        if span.name.startswith("reduce_scatter in the node")
    ]
    assert ends == pytest.approx([0.6 * MS, 1.2 * MS, 2.0 * MS, 3.2 * MS], rel=1e-4)


def test_a_chunk_is_released_when_its_parts_have_passed_all_phases() -> None:
    """2 chunks in 4 parts: the first one has arrived after 0.5 + 2 x 0.6 ms; the host step that
    waits for it takes 1 us.
    """
    gather = {**S, "op": "all_gather", "algorithm": "hierarchical", "pipeline": 4, "chunks": 2}
    tasks = {"t": gather, "then": {"kind": "host", "time": "1 us", "after": ["t.chunk[0]"]}}
    outcome = run_of(tasks, NODE)
    assert outcome.task("then").end == pytest.approx(1.701 * MS, rel=1e-5)


OVER = changed(NODE, scale_out__nodes=4, scale_out__nodes_per_leaf=2, scale_out__oversubscription=4)


@pytest.mark.parametrize(
    ("op", "algorithm", "time"),
    [
        # Uplinks of a leaf with two NICs: 2 x 8 / 4 = 4 GB/s. A ring crosses once in two nodes:
        # each of the two is
        # charged half of it, so that both go at 4 GB/s: a quarter of 15/16 x 96 = 90 MB.
        ("all_gather", "ring", 22.5 / 4),
        # Of three other nodes two are on another leaf: 2 r 2/3 <= 4, r = 3 GB/s; 3/4 of 24 MB, then
        # 72 MB over links.
        ("all_gather", "hierarchical", 18 / 3 + 72 / 30),
        # 3/4 of 96 MB on the rails.
        ("all_to_all", "hierarchical", 72 / 30 + 72 / 3),
        # Straight: of 12 GPUs of other nodes one is on the same leaf (same rail): 2 r 11/12 <= 4, r
        # = 24/11 GB/s.
        ("all_to_all", "direct", 72 / (24 / 11)),
    ],
)
def test_what_crosses_the_spine_shares_the_uplinks(op: str, algorithm: str, time: float) -> None:
    parts = {"pipeline": 1} if algorithm == "hierarchical" else {}
    outcome = run({**S, "op": op, "algorithm": algorithm, **parts}, OVER)
    assert outcome.folded and outcome.end == pytest.approx(time * MS, rel=1e-5)


def test_in_racks_changing_the_rail_crosses_nothing() -> None:
    """All NICs of two nodes on a leaf: straight sends cross for 8 of 12 peers. Uplinks 8 x 8 / 4 =
    16 GB/s for 8 GPUs: 8 r 2/3 <= 16, r = 3 GB/s.
    """
    racks = changed(OVER, scale_out__topology="racks")
    straight = {**S, "op": "all_to_all", "algorithm": "direct"}
    assert run(straight, racks).end == pytest.approx(72 / 3 * MS, rel=1e-5)


def test_gpus_that_share_a_nic_halve_it() -> None:
    """Two NICs for four GPUs: 4 GB/s each, 16 MB on the rails take 4 instead of 2 ms."""
    shared = changed(NODE, scale_out__nics=2)
    gather = {**S, "op": "all_gather", "algorithm": "hierarchical", "pipeline": 1}
    assert run(gather, shared).end == pytest.approx((4 + 2.4) * MS, rel=1e-5)
    assert run(gather, shared, fold=False).end == pytest.approx((4 + 2.4) * MS, rel=1e-5)


def test_a_nic_behind_the_host_link_is_no_faster_than_it() -> None:
    """4 GB/s to the host: again 4 ms on the rails."""
    behind = changed(NODE, scale_out__gpu_path="host_link", host__link_bandwidth="4 GB/s")
    gather = {**S, "op": "all_gather", "algorithm": "hierarchical", "pipeline": 1}
    assert run(gather, behind).end == pytest.approx((4 + 2.4) * MS, rel=1e-5)


def test_latency_of_a_part_overlaps_with_the_part_behind_it() -> None:
    """Two parts of 1 ms on the rails, where one step (straight to the other nodes) is seen 50 us
    later; in the node 1.2 ms each: 1.05 + 2 x 1.2 ms. The second part is seen at 2.05 ms, when the
    node still has the first one.
    """
    late = changed(NODE, scale_out__step_latency="50 us")
    gather = {
        **S,
        "op": "all_gather",
        "algorithm": "hierarchical",
        "pipeline": 2,
        "protocol": "simple",
    }
    outcome = run(gather, late)
    rails, node = outcome.task("t").detail["phases"]
    assert node["start_s"] == pytest.approx(1.05 * MS, rel=1e-4)
    assert rails["end_s"] == pytest.approx(2.05 * MS, rel=1e-4)
    assert outcome.end == pytest.approx(1.05 * MS + 2.4 * MS, rel=1e-4)


def test_leaves_of_different_size_are_not_folded() -> None:
    """Three nodes, two to a leaf: the node alone on its leaf has uplinks of its own."""
    uneven = changed(OVER, scale_out__nodes=3)
    gather = {**S, "op": "all_to_all", "algorithm": "direct"}
    workload = workload_of({"t": gather})
    assert can_fold(workload, OVER) and not can_fold(workload, uneven)
    assert {gpu for _, gpu in simulate(uneven, workload).times} == set(range(12))
