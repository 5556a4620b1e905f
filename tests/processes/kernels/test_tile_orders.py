"""Tiles of a GEMM in an order by owner: which links its stores use at a time, what groups of tiles
release, and kernels that wait for those of all GPUs. By hand where it says so.
"""

from __future__ import annotations

import pytest
from made_workload import workload_of

from c3sim.engine.flow import Flow
from c3sim.errors import InputError, InputErrors
from c3sim.models.stores import busy_links
from c3sim.simulation.folding import can_fold
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.loading import load_node

MESH = load_node("mi300x-8")
SWITCH = load_node("h200-4")
ORDERS = ("mixed", "remote_first", "staggered", "by_owner")
TILE = 256 * 256 * 2  # bytes of results

# 256 tiles, 32 for each of 8 GPUs, by 32 workgroups: a round is the tiles of one owner
GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 512, "macro_tile": [256, 256]}
ROUNDS = {**GEMM, "schedule": "work_stealing", "workgroups": 32}
# 256 tiles, 64 for each of 4 GPUs
OF_FOUR = {**ROUNDS, "workgroups": 64, "k": 64}


def run(node: Node, fold: bool | None = None, **tasks: dict[str, object]) -> Run:
    workload = workload_of(tasks, node=node.name)
    check_on_node(workload, node)
    return simulate(node, workload, fold=fold)


def released(owners: dict[str, int], **more: object) -> dict[str, dict[str, object]]:
    """Copies that wait for the tiles of the GPU so far round."""
    copy = {"kind": "copy", "bytes": 1024, "gpus": "all", **more}
    return {name: {**copy, "after": [f"g.tiles[peer {peer}]"]} for name, peer in owners.items()}


def longer(node: Node, gemm: dict[str, object], order: str) -> float:
    """The factor by which *gemm* takes longer in *order*, with its results at their owners."""
    apart = run(node, g={**gemm, "results": "peers", "order": order})
    return apart.end - run(node, g=gemm).end


def test_on_a_full_mesh_one_owner_after_the_other_is_one_link_of_seven():
    """Seven rounds of 32 tiles each drain over one link of 48.5 GB/s; over that to the GPU
    opposite, where both directions are busy, at 1/1.043 of it. Whoever starts where.
    """
    drain = 32 * TILE / 48.5e9
    staggered = longer(MESH, ROUNDS, "staggered")
    assert staggered == pytest.approx((6 + 1.043) * drain, rel=0.01)
    assert longer(MESH, ROUNDS, "by_owner") == pytest.approx(staggered, rel=0.01)


def test_mixed_tiles_fill_as_many_links_as_queues_served_in_order_can():
    """Eight rounds, 7/8 of each over seven links, both ways busy, of which 0.66 work."""
    drain = 8 * 32 * TILE / 8 / 46.5e9 / busy_links(8, 7)
    assert longer(MESH, ROUNDS, "mixed") == pytest.approx(drain, rel=0.02)
    assert longer(MESH, ROUNDS, "remote_first") == pytest.approx(drain, rel=0.02)


def test_on_a_switch_by_owner_meets_at_one_port():
    """Tiles for GPU 0 come from the three others at once: a third of its port for each. Staggered
    each GPU has a port to itself. 64 tiles take a port 22 us; they are computed faster than that.
    """
    port = 64 * TILE / 379.8e9
    copies = released({"first": 1})
    turn = run(SWITCH, g={**OF_FOUR, "results": "peers", "order": "staggered"}, **copies)
    begin = turn.task("g").start
    assert turn.task("first").ready - begin == pytest.approx(port, rel=0.05)
    copies = released({"next": 3})  # of GPU 1: GPU 0
    same = run(SWITCH, g={**OF_FOUR, "results": "peers", "order": "by_owner"}, **copies)
    begin = same.times["g", 1].start
    assert same.times["next", 1].ready - begin == pytest.approx(3 * port, rel=0.05)
    assert longer(SWITCH, OF_FOUR, "by_owner") > 1.5 * longer(SWITCH, OF_FOUR, "staggered")


@pytest.mark.parametrize("node", [MESH, SWITCH], ids=["mesh", "switch"])
@pytest.mark.parametrize("order", ["mixed", "remote_first", "staggered"])
def test_folded_equals_unfolded(order, node):
    gemm = {**GEMM, "results": "peers", "order": order, "publish": "flag", "k": 1024}
    tasks = {"g": gemm, **released({"a": 1, "own": 0})}
    folded, unfolded = (run(node, fold, **tasks) for fold in (True, False))
    for name in tasks:
        assert folded.task(name).end == pytest.approx(unfolded.task(name).end, rel=1e-6)


def test_by_owner_is_not_alike_on_every_gpu_and_is_not_folded():
    def folds(order: str) -> bool:
        gemm = {**GEMM, "results": "peers", "order": order}
        return can_fold(workload_of({"g": gemm}, node=MESH.name), MESH)

    assert {order: folds(order) for order in ORDERS} == {
        **dict.fromkeys(ORDERS, True),
        "by_owner": False,
    }


class Written:
    """Bytes that all flows write, by GPU whose memory has them."""

    def __init__(self) -> None:
        self.by_gpu = [0.0] * MESH.gpus

    def rates(self, *_: object) -> None:
        pass

    def ended(self, _time: float, flow: Flow) -> None:
        self.by_gpu[flow.tags.gpu] += flow.work * flow.tags.traffic.hbm_write
        for gpu, _read, written in flow.tags.traffic.remote:
            self.by_gpu[gpu] += flow.work * written


def test_results_land_in_the_memory_of_their_owners():
    """By owner every GPU stores 7/8 of its results elsewhere, and gets as much from the others."""
    gemm = {**ROUNDS, "results": "peers", "order": "by_owner"}
    written = Written()
    simulate(MESH, workload_of({"g": gemm}), observers=(written,))
    assert written.by_gpu == pytest.approx([4096 * 4096 * 2] * 8, rel=1e-6)


def test_tiles_of_each_owner_release_what_waits_for_them():
    """Staggered, all alike: the k-th peer's tiles are there after k of 8 rounds, the own last."""
    found = run(
        MESH, g={**ROUNDS, "order": "staggered"}, **released({f"c{k}": k for k in range(8)})
    )
    begin, length = found.task("g").start, found.task("g").end - found.task("g").start
    for k in range(1, 8):
        assert (found.task(f"c{k}").ready - begin) / length == pytest.approx(k / 8, abs=0.01)
    assert found.task("c0").ready > found.task("c7").ready


def test_by_owner_the_same_peer_is_ready_at_another_time_on_each_gpu():
    """Owner 0's tiles come first on all: 1 round on for GPU 7, for GPU 1 it is 7 further round."""
    found = run(MESH, g={**ROUNDS, "order": "by_owner"}, **released({"next": 1, "before": 7}))
    begin, length = found.task("g").start, found.task("g").end - found.task("g").start

    def share(name: str, gpu: int) -> float:
        return (found.times[name, gpu].ready - begin) / length

    assert share("next", 7) == pytest.approx(1 / 8, abs=0.01)
    assert share("before", 1) == pytest.approx(1 / 8, abs=0.01)
    assert share("next", 0) == pytest.approx(2 / 8, abs=0.01)


def test_a_consumer_waits_for_the_tiles_of_all_gpus_that_belong_to_it():
    """By owner GPU 0's are made first everywhere, and GPU 7's last: its consumer ends last.
    Staggered every GPU makes the own ones last, so every consumer waits for the end.
    """
    consumer = {"kind": "stream", "bytes": 2**20, "workgroups": 8, "awaits": ["g"]}
    producer = {**ROUNDS, "results": "peers", "publish": "flag"}
    by_owner = run(MESH, g={**producer, "order": "by_owner"}, c=consumer)
    ends = [by_owner.times["c", gpu].end for gpu in range(8)]
    assert ends == sorted(ends)
    assert ends[0] < 0.25 * by_owner.end
    staggered = run(MESH, g={**producer, "order": "staggered"}, c=consumer)
    assert staggered.task("c").end > staggered.task("g").end


@pytest.mark.parametrize("schedule", ["persistent", "stream_k", "work_stealing", "one_per_tile"])
def test_tiles_count_as_they_end_however_they_are_dealt(schedule):
    """Fixed lists counted at their end before: nothing that waited for a quarter ran beside."""
    copy = {"kind": "copy", "bytes": 1024, "gpus": "all", "after": ["g.tiles[25%]"]}
    gemm = {**GEMM, "m": 8192, "n": 8192, "schedule": schedule}
    found = run(MESH, g=gemm, c=copy)
    share = (found.task("c").ready - found.task("g").start) / found.task("g").end
    assert 0.2 < share < 0.35


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"after": ["g.tiles[peer 8]"]}, "0 .the GPU itself. to 7"),
        ({"after": ["h.tiles[peer 1]"]}, "belong to nobody"),
        ({"after": ["g.tiles[peer]"]}, "not a dependency"),
    ],
)
def test_mistakes(task, message):
    hold = {"kind": "hold", "workgroups": 1, "time": "1 us"}
    with pytest.raises((InputError, InputErrors), match=message):
        run(MESH, g=GEMM, h=hold, c={"kind": "copy", "bytes": "1 KiB", "gpus": "all", **task})
