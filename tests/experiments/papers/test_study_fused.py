"""The study of fused operators: what is saved, by hand where it can be, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from c3sim.experiments.study import Options, StudyResult, named_kind, run_study
from c3sim.experiments.subjects.operators import (
    Conditions,
    Configuration,
    fused,
    fused_tasks,
    unfused,
    with_stores,
)
from c3sim.simulation.simulate import simulate
from c3sim.spec.reading.loading import load_hardware, load_study

STUDY = load_study("fused")
NODE = load_hardware("mi210-4").node
PAIR = load_hardware("mi210-cluster").node
HOW = Conditions(slices=8, occupancy=0.875, staging=True)
#: 64 MiB of results from 8 rows each.
EMBEDDING = Configuration("embedding_all_to_all", 262144, 128, 8)


@pytest.fixture(scope="module")
def result() -> StudyResult:
    found = run_study(STUDY)
    assert isinstance(found, StudyResult)
    return found


def test_slices_follow_the_order_that_knows_of_communication() -> None:
    """Three quarters of four GPUs' results are remote: slice 8 of 8 after 75 %, or after all."""

    def shares(late: bool) -> list[str]:
        tasks = fused_tasks(NODE, EMBEDDING, replace(HOW, late=late))
        return [task["after"][0] for name, task in tasks.items() if name.startswith("slice")]

    assert shares(False)[0] == "compute.tiles[9.375%]" and shares(False)[-1] == "compute.tiles[75%]"
    assert shares(True)[0] == "compute.tiles[34.375%]"
    assert shares(True)[-1] == "compute.tiles[100%]"


def test_stores_take_the_links_time_and_nothing_else() -> None:
    """Three quarters of 64 MiB over three links of 38 GB/s, both ways busy (4.3 % lost): the last
    slice ends no earlier than the links allow, and little later. One row each is looked up sooner.
    """
    quick = replace(EMBEDDING, k=1)
    run = simulate(with_stores(NODE), fused(with_stores(NODE), quick, HOW))
    links = 0.75 * EMBEDDING.bytes / (3 * NODE.links.bandwidth) * 1.043
    first = run.task("slice0").start
    last = max(run.task(f"slice{number}").end for number in range(8))
    assert links <= last - first < 1.1 * links


def test_less_occupancy_makes_the_kernel_slower_by_as_much() -> None:
    """An embedding far from what memory gives: 8/7 of the time in the end, had it no peers."""
    slow = Configuration("embedding_all_to_all", 65536, 128, 64)
    full = simulate(NODE, unfused(NODE, slow, HOW)).task("compute")
    part = simulate(with_stores(NODE), fused(with_stores(NODE), slow, HOW)).task("compute")
    ratio = (part.end - part.start) / (full.end - full.start)
    assert 1.03 < ratio < 8 / 7 * 1.1


def test_the_baseline_pays_for_staging() -> None:
    with_copy = simulate(NODE, unfused(NODE, EMBEDDING, HOW)).end
    without = simulate(NODE, unfused(NODE, EMBEDDING, replace(HOW, staging=False))).end
    moved = 2 * EMBEDDING.bytes / NODE.gpu.hbm.bandwidth
    assert moved < with_copy - without < 2 * moved


def test_a_late_own_part_is_better_than_an_early_one(result: StudyResult) -> None:
    skews = [row.skew for row in result.rows if row.skew is not None]
    assert len(skews) == 9
    assert all(skew["without"] > 0 for skew in skews)
    assert all(row.skew is None for row in result.rows if row.nodes == 1)


def test_it_says_where_fusing_loses(result: StudyResult) -> None:
    """A GEMM whose tiles fill all compute units once needs a second round on seven eighths."""
    savings = {(row.operator, row.configuration): row.saving for row in result.rows}
    assert savings["gemm_all_to_all", "1024 x 4096 x 4096"] < 0
    assert savings["gemv_all_reduce", "65536 x 1 x 8192"] < 0
    assert max(savings.values()) < 0.7


def test_a_step_saves_no_more_than_the_exchange_has(result: StudyResult) -> None:
    step = result.training
    assert step is not None and step.nodes == 128
    assert 0 < step.saving < step.exchange_share


def test_it_can_be_asked_of_another_node_and_drawn(tmp_path) -> None:
    found = run_study(STUDY, Options(node=load_hardware("h200-4").node))
    assert isinstance(found, StudyResult)
    assert {row.node for row in found.rows} == {"h200-4"} and not found.published
    assert found.training is None
    named_kind("fused").picture(found, tmp_path / "fused.png")
    assert (tmp_path / "fused.png").stat().st_size > 10_000


def test_two_nodes_of_one_gpu_exchange_half() -> None:
    """Over a NIC of 25 GB/s, 95 % of it payload, half of the results leave; one row each is looked
    up sooner.
    """
    run = simulate(with_stores(PAIR), fused(with_stores(PAIR), replace(EMBEDDING, k=1), HOW))
    wire = EMBEDDING.bytes / 2 / (25e9 * 0.95)
    assert wire < run.end < 1.15 * wire
