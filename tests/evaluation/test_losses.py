"""When an overlap loses, and why."""

from __future__ import annotations

import pytest
from made_workload import workload_of

import c3sim
from c3sim.evaluation.losses import OVERLAP_LOSES, loss_note, losses
from c3sim.result import Losses
from c3sim.simulation.runs import run_once
from c3sim.spec.reading.loading import load_node

GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "library": "triton", "stream": "gemm"}


def result(workgroups: int, size: str = "64 MiB", **more):
    stores = {"kind": "stores", "bytes": size, "workgroups": workgroups, "stream": "s", **more}
    tasks = {"stores": stores, "gemm": GEMM}
    return workload_of(tasks, node="mi300x-8")


def lost(workload) -> list[str]:
    return [note for note in c3sim.run(workload).notes if note.startswith(OVERLAP_LOSES)]


def test_a_stalled_producer_is_stretched_and_never_negative_exposure():
    """A law: as stores hold a GEMM up its wall grows, and that growth is stretched compute."""
    before = None
    for workgroups in (8, 16, 32, 64):
        run = c3sim.run(result(workgroups, "1 GiB"))
        assert run.overlap.exposed_s >= 0
        assert run.overlap.stretched_s is not None
        ran = run.tasks["gemm"].slower_s
        assert run.overlap.stretched_s == pytest.approx(ran, abs=0.02 * run.wall_s)
        assert before is None or run.overlap.stretched_s >= before
        before = run.overlap.stretched_s
    assert before > 0.3 * run.tasks["gemm"].isolated_s


def test_explain_names_the_stall():
    causes = c3sim.explain(result(32, "1 GiB")).tasks["gemm"].causes_s
    assert causes["store_queues"] == max(causes.values())


def test_a_pair_that_gains_says_nothing():
    assert not lost(result(4))


def lost_against(workload, serial: float) -> Losses | None:
    """Against a serial time that is given: two tasks alone never lose by 1 %, as what stores hold
    goes on at a fifth; pieces of a whole do.
    """
    node = load_node("mi300x-8")
    return losses(node, workload, run_once(node, workload).end, pair=None, serial=serial)


def test_a_pair_that_loses_says_by_how_much_and_names_what_it_would_gain_without():
    workload, node = result(32, "64 MiB"), load_node("mi300x-8")
    wall = run_once(node, workload).end
    assert lost_against(workload, wall) is None
    note = loss_note(lost_against(workload, wall - 1e-4))
    assert note.startswith(f"{OVERLAP_LOSES}: 0.1 ms longer than one after the other. It would ")


def test_a_packaged_overlap_that_loses_says_so():
    """A GEMM beside an all-to-all that leaves it units for one round more, on channels that follow
    the clock whole and saturate links late (else it loses less than 1 %, which is not told).
    """
    run = c3sim.run(
        "gemm-beside-all-to-all-across-nodes",
        node="mi300x-8",
        set={
            "collective_libraries.rccl.channels.clocked": "1",
            "collective_libraries.rccl.channels.direct_link_saturation_exponent": "6",
        },
    )
    assert run.wall_s > 1.01 * run.serial_s
    (note,) = [note for note in run.notes if note.startswith(OVERLAP_LOSES)]
    assert "workgroups that lack compute units" in note


def test_losses_are_by_removal_largest_first():
    workload, node = result(32, "64 MiB"), load_node("mi300x-8")
    wall = run_once(node, workload).end
    gains = lost_against(workload, 0.5 * wall).parts_s
    assert list(gains) == sorted(gains, key=lambda cause: -gains[cause])
    without = run_once(node, workload, frozenset({"store_queues"})).end
    assert gains["store_queues"] == pytest.approx(wall - without)


def test_releases_are_a_loss_where_they_make_stores_the_longest():
    node = load_node("mi300x-8")
    released = result(8, "256 MiB", publish="release", tile="64 KiB")
    plain = result(8, "256 MiB", tile="64 KiB")
    wall = run_once(node, released).end
    gain = lost_against(released, 0.5 * wall).parts_s["publication"]
    assert gain == pytest.approx(wall - run_once(node, plain).end)


def test_explain_of_a_workload_without_stores_knows_no_queue_of_them():
    explained = c3sim.explain("gemm-beside-all-gather")
    assert "store_queues" not in explained.tasks["gemm"].causes_s


def test_units_that_a_mask_takes_away_are_lost_to_compute_units():
    """270 of 304 units go to the collective: what the GEMM takes longer is lost to that."""
    run = c3sim.run("gemm-beside-all-gather", node="mi300x-8", strategy="rp:270")
    lost = run.overlap.losses
    alone = run.tasks["gemm"].isolated_s
    whole = c3sim.run("gemm-beside-all-gather", node="mi300x-8").tasks["gemm"].isolated_s
    assert alone > 1.5 * whole
    assert next(iter(lost.parts_s)) == "compute_units"
    parts = sum(lost.parts_s.values()) + lost.together_s - lost.hidden_s - lost.whole_s
    assert parts == pytest.approx(lost.lost_s) == pytest.approx(run.wall_s - lost.serial_s)


def test_packets_that_a_workgroup_posts_are_a_loss_of_their_own():
    """Behind one round of tiles one lane posts 28 packets, 48 us. Part of it is hidden: engines
    take some us for each of their four.
    """
    workload = c3sim.load_workload("gemm-posts-all-gather")
    node = load_node("mi355x-8")
    short = {
        name: task.changed(size=1024.0) if name.startswith("quarter") else task
        for name, task in workload.tasks.items()
    }
    workload = workload.changed(tasks=short)
    wall = run_once(node, workload).end
    found = losses(node, workload, wall, pair=None, serial=0.5 * wall).parts_s
    assert found["posts"] == max(found.values())
    assert 0.5 < found["posts"] / (28 * node.gpu.dma_engines.post_time) < 1
