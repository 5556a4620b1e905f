"""The study of fused operators: what is saved, by hand where it can be, and what is not."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest

from c3sim.experiments.papers.fused import claims
from c3sim.experiments.study import Options, StudyResult, named_kind, run_study
from c3sim.experiments.subjects.operators import (
    Conditions,
    Configuration,
    fused,
    fused_tasks,
    gemm_residents,
    unfused,
)
from c3sim.models.gemm import plan_gemm
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_node, load_study
from c3sim.spec.workload import Gemm

pytestmark = pytest.mark.turns(5)

WHOLE = load_study("fused")
#: The smallest and the largest shapes.
STUDY = WHOLE.changed(
    table=tuple(
        {**row, **{size: [row[size][0], row[size][-1]] for size in "mk"}, "n": row["n"][-1:]}
        for row in WHOLE.table
    )
)
NODE = load_node("mi210-4")
PAIR = load_node("mi210-cluster")
HOW = Conditions(slices=8, occupancy=0.875, staging=True)
#: 64 MiB of results from 8 rows each.
EMBEDDING = Configuration("embedding_all_to_all", 262144, 128, 8)


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return run_study(STUDY, Options(draws=1))


def test_slices_follow_the_order_that_knows_of_communication() -> None:
    """Half of two nodes' results leave: slice 8 of 8 after 50 %, or after all. Each is put by the
    workgroup that ends the last of its tasks.
    """

    def shares(late: bool) -> list[str]:
        tasks = fused_tasks(PAIR, EMBEDDING, replace(HOW, late=late))
        slices = [task for name, task in tasks.items() if name.startswith("slice")]
        assert all(task["posted"] == "serial" for task in slices)
        return [task["after"][0] for task in slices]

    assert shares(False)[0] == "compute.tiles[6.25%]" and shares(False)[-1] == "compute.tiles[50%]"
    assert shares(True)[0] == "compute.tiles[56.25%]"
    assert shares(True)[-1] == "compute.tiles[100%]"


def test_in_a_node_one_persistent_kernel_stores_at_peers_and_sets_flags() -> None:
    """Seven of eight places on 104 units, 64 KiB at most of results in registers at a time."""
    (compute,) = fused_tasks(NODE, EMBEDDING, HOW).values()
    assert (compute["results"], compute["order"]) == ("peers", "remote_first")
    assert compute["publish"] == "flag" and compute["workgroups"] == 7 * 104
    assert compute["tiles"] % compute["workgroups"] == 0


def test_stores_take_the_links_time_where_nothing_else_counts() -> None:
    """A quarter of 64 MiB over each of three links of 38 GB/s, both ways busy (4.3 % lost)."""
    quick = replace(EMBEDDING, k=1)
    links = 0.25 * EMBEDDING.bytes / NODE.links.bandwidth * 1.043
    end = simulate(NODE, fused(NODE, quick, HOW)).end
    assert links < end < 1.15 * links


def test_less_occupancy_makes_the_kernel_slower_by_as_much() -> None:
    """An embedding far from what memory gives: up to 8/7 of the time."""
    slow = Configuration("embedding_all_to_all", 65536, 128, 64)
    full, part = (
        simulate(NODE, fused(NODE, slow, replace(HOW, occupancy=each))).end for each in (1.0, 0.875)
    )
    assert 1.02 < part / full < 8 / 7


def test_a_gemm_keeps_its_workgroups_where_registers_are_left() -> None:
    """Calls take a seventh of 64 registers of 512: 9 more leave room for one of 500, not for two of
    250.
    """
    gemm = Gemm(kind="gemm", m=4096, n=4096, k=1024)
    assert 1 <= gemm_residents(NODE, gemm, 0.875) <= gemm_residents(NODE, gemm, 1.0)
    assert gemm_residents(NODE, gemm, 1.0) == plan_gemm(NODE.gpu, gemm).residents


def test_the_baseline_pays_for_staging() -> None:
    with_copy = simulate(NODE, unfused(NODE, EMBEDDING, HOW)).end
    without = simulate(NODE, unfused(NODE, EMBEDDING, replace(HOW, staging=False))).end
    moved = 2 * EMBEDDING.bytes / NODE.gpu.hbm.bandwidth
    assert moved < with_copy - without < 2 * moved


def test_the_order_keeps_two_nodes_together(result: StudyResult) -> None:
    """As results: without it the order of tasks sets them apart, with it how far GPUs differ."""
    skews = [row.skew for row in result.rows if row.skew is not None]
    assert len(skews) == 4
    assert all(0 <= skew["with"] < skew["without"] for skew in skews)
    assert mean(skew["with"] for skew in skews) < 0.02
    assert all(row.skew is None for row in result.rows if row.nodes == 1)


def test_what_both_sides_are_made_of_adds_up(result: StudyResult) -> None:
    for row in result.rows:
        assert sum(row.unfused.values()) == pytest.approx(row.unfused_s)
        assert sum(row.fused.values()) == pytest.approx(row.fused_s)
        assert all(part >= -1e-9 for part in row.unfused.values())
        assert row.fused["flags"] >= -1e-9


def test_it_says_where_fusing_loses_and_why(result: StudyResult) -> None:
    """A long GEMV has no exchange to hide, and an eighth fewer requests under way. A GEMM computes
    nothing while its round's stores drain.
    """
    rows = {(row.operator, row.configuration): row for row in result.rows}
    gemv = rows["gemv_all_reduce", "65536 x 1 x 8192"]
    assert gemv.saving < 0 and gemv.fused["occupancy"] > gemv.unfused["library"]
    gemm = rows["gemm_all_to_all", "8192 x 8192 x 1024"]
    assert gemm.fused["exposed"] > 0.9 * gemm.unfused["transfer"]
    assert max(row.saving for row in rows.values()) < 0.7
    claimed = [each for each in claims(result) if each.what.startswith("gemv")]
    assert claimed and all(each.band and each.decides for each in claimed)


def test_many_slices_are_not_slower_than_one() -> None:
    """Puts of other workgroups: 16 slices end no later than one, whose put begins at the end."""
    ends = {
        n: simulate(PAIR, fused(PAIR, EMBEDDING, replace(HOW, slices=n))).end for n in (1, 4, 16)
    }
    assert ends[16] < 1.02 * ends[4] < 1.02 * ends[1]


def test_a_step_saves_no_more_than_the_exchange_has(result: StudyResult) -> None:
    step = result.training
    assert step.nodes == 128
    assert 0 < step.saving < step.exchange_share


def test_it_can_be_asked_of_another_node_and_drawn(tmp_path) -> None:
    found = run_study(STUDY, Options(node=load_node("h200-4"), band=False))
    assert {row.node for row in found.rows} == {"h200-4"} and not found.published
    assert found.training is None
    named_kind("fused").picture(found, tmp_path / "fused.png")
    assert (tmp_path / "fused.png").stat().st_size > 10_000


def test_two_nodes_of_one_gpu_exchange_half() -> None:
    """Over a NIC of 25 GB/s, 95 % of it payload, half of the results leave; one row each is looked
    up sooner.
    """
    run = simulate(PAIR, fused(PAIR, replace(EMBEDDING, k=1), HOW))
    wire = EMBEDDING.bytes / 2 / (25e9 * 0.95)
    assert wire < run.end < 1.15 * wire
