"""NICs that programs post to: copies between nodes, and collectives on DMA engines across nodes.

Three nodes of four GPUs without latencies, 10 GB/s per link, 8 GB/s per NIC (see clusters.py); S is
96 MB.
"""

from __future__ import annotations

import pytest
from clusters import MS, NODE, changed, run
from made_workload import workload_of

from c3sim.simulation.folding import can_fold
from c3sim.spec.reading.loading import load_node
from c3sim.spec.workload import Collective
from c3sim.tasks.network import parts_of

COPY = {"kind": "copy", "bytes": "8 MB", "executor": "nic", "peer": 4}
GATHER = {
    "kind": "collective",
    "op": "all_gather",
    "size": "96 MB",
    "backend": "dma",
    "pipeline": 1,
}


def folds(task: dict[str, object], node=NODE, **host: object) -> bool:
    workload = workload_of({"t": task}, host=host)
    return can_fold(workload, node)


def test_a_copy_to_another_node() -> None:
    """Posted in 1 us, 8 MB at 8 GB/s, seen 3 us later; 2 us more through the spine."""
    node = changed(
        NODE,
        scale_out__post_time="1 us",
        scale_out__latency="3 us",
        scale_out__spine_latency="2 us",
    )
    assert run(COPY, node).end == pytest.approx(1.004 * MS)
    apart = changed(node, scale_out__nodes_per_leaf=1)
    assert run(COPY, apart).end == pytest.approx(1.006 * MS)
    assert run({**COPY, "peer": 5}, node).end == pytest.approx(1.006 * MS)  # to another rail


def test_it_writes_to_the_memory_of_the_other_gpu() -> None:
    """And has what it draws on: NIC out here, NIC in there."""

    class Seen:
        def rates(self, time, flows, states):
            for flow in flows:
                self.amounts = {str(capacity): amount for capacity, amount in flow.amounts}

        def ended(self, time, flow): ...

    from c3sim.simulation.simulate import simulate

    seen = Seen()
    simulate(NODE, workload_of({"t": COPY}), observers=[seen])
    assert seen.amounts == {
        "gpu0.hbm": 1.0,
        "gpu4.hbm": 1.0,
        "gpu0.nic.out": 1.0,
        "gpu4.nic.in": 1.0,
    }


def test_copies_of_gpus_that_share_a_nic() -> None:
    shared = changed(NODE, scale_out__nics=2)
    everyone = {**COPY, "gpus": "all"}
    assert run(everyone, shared).end == pytest.approx(2 * MS)
    assert run(everyone, shared, fold=False).end == pytest.approx(2 * MS)
    assert run(COPY, shared).end == pytest.approx(1 * MS)  # alone it has the whole NIC


def test_what_is_posted_to_one_nic_moves_in_order() -> None:
    outcome = run({**COPY, "repeat": 3})
    moved = [span for span in outcome.timeline.spans if span.track == "gpu0.nic"]
    assert [span.start for span in moved] == pytest.approx([0, 1 * MS, 2 * MS])
    assert [span.end for span in moved] == pytest.approx([1 * MS, 2 * MS, 3 * MS])


def test_all_gather_by_nics_and_engines() -> None:
    """(N-1) S/n = 16 MB by NIC: 2 ms. Meanwhile the own 8 MB to each peer over a link of its own:
    0.8 ms. Then the 16 MB that have arrived: 1.6 ms. In four parts the rest of the NIC's time
    hides: 2 + 0.4 ms.
    """
    assert run(GATHER).end == pytest.approx(3.6 * MS)
    assert run({**GATHER, "pipeline": 4}).end == pytest.approx(2.4 * MS)


def test_all_to_all_by_nics_and_engines() -> None:
    """By the receiver's rail: S/g = 24 MB to each peer, 2.4 ms, then 64 MB by NIC, 8 ms. Straight:
    64 MB by NIC beside 8 MB to each peer.
    """
    swap = {**GATHER, "op": "all_to_all"}
    assert run(swap).end == pytest.approx(10.4 * MS)
    straight = {key: value for key, value in swap.items() if key != "pipeline"} | {
        "algorithm": "direct"
    }
    assert run(straight).end == pytest.approx(8 * MS)


def test_every_message_is_posted() -> None:
    """Straight to 8 GPUs: 8 posts of 1 us before the NIC begins; by rail one post to each of two
    nodes.
    """
    node = changed(NODE, scale_out__post_time="1 us")
    straight = {**GATHER, "op": "all_to_all", "algorithm": "direct"}
    del straight["pipeline"]
    assert run(straight, node).end == pytest.approx(8.008 * MS)
    assert run(GATHER, node).end == pytest.approx(3.602 * MS)


def test_parts_are_few_where_submission_costs_more_than_it_hides() -> None:
    node = load_node("mi300x-cluster")
    counts = [
        parts_of(node, Collective(kind="collective", op="all_gather", size=size, backend="dma"))
        for size in (2.0**20, 2.0**28, 2.0**34)
    ]
    assert counts == sorted(counts) and counts[0] == 1 and counts[-1] == node.scale_out.pipeline


def test_what_is_alike_on_every_gpu_is_folded() -> None:
    """Derived: a copy of the first GPU is not, nor DMA commands that one thread submits for all
    GPUs of a node, nor copies that stay on their leaf for some GPUs and not for others.
    """
    assert folds({**COPY, "gpus": "all"}) and not folds(COPY)
    assert folds(GATHER) and not folds(GATHER, threads="single")
    assert not folds({**COPY, "gpus": "all", "peer": 5}, changed(NODE, scale_out__nics=2))
    two_leaves = changed(NODE, scale_out__nodes=4, scale_out__nodes_per_leaf=2)
    assert not folds({**COPY, "gpus": "all"}, two_leaves) and folds(GATHER, two_leaves)


def test_one_thread_serves_the_gpus_of_its_own_node() -> None:
    """3 copies of each of 4 GPUs at 10 us each, one after the other, the same in every node at the
    same time.
    """
    node = changed(NODE, host__copy_time="10 us")
    outcome = run(GATHER, node, threads="single")
    ends = [outcome.times["t", gpu].end for gpu in range(12)]
    assert ends[:4] == ends[4:8] == ends[8:]
