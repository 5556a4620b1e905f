"""The study of tracked and triggered sub-layers: traffic by hand, speedups within what is possible.

In chunks of S / n, arXiv 2401.16677: in sequence the GEMM writes n, the reduce-scatter reads 2n - 1
and writes n, the all-gather reads and writes n - 1; tracked, the GEMM writes n - 1, engines read
n - 2, n - 1 chunks are added to.
"""

from __future__ import annotations

import pytest

from c3sim.errors import InputError
from c3sim.experiments.papers.t3 import claims
from c3sim.experiments.study import Options, StudyResult, run_study
from c3sim.spec.reading.loading import load_hardware, load_study

STUDY = load_study("t3")


@pytest.fixture(scope="module")
def result() -> StudyResult:
    found = run_study(STUDY)
    assert isinstance(found, StudyResult)
    return found


def test_traffic_is_that_counted_by_hand(result: StudyResult) -> None:
    sizes = {row["model"]: 2 * row["tokens"] * row["hidden"] for row in STUDY.table}
    for row in result.rows:
        n, chunk = row.tp, sizes[row.model] / row.tp
        before, t3 = row.traffic["sequential"], row.traffic["t3"]
        near = pytest.approx  # a GEMM's padded tiles count whole
        assert before.gemm_writes == near(n * chunk, rel=0.03)
        assert before.rs_reads == near((2 * n - 1) * chunk, rel=1e-6)
        assert before.rs_writes == near(n * chunk, rel=1e-6)
        assert t3.gemm_writes == near((n - 1) * chunk, rel=0.03)
        assert t3.rs_reads == near((n - 2) * chunk, rel=1e-6)
        assert t3.rs_writes == near((n - 1) * chunk, rel=0.03)
        for moved in (before, t3):
            assert moved.ag_reads == near((n - 1) * chunk, rel=1e-6)
            assert moved.ag_writes == near((n - 1) * chunk, rel=1e-6)


def test_the_ratios_of_reads_are_the_published_ones(result: StudyResult) -> None:
    """15 / 6 = 2.5 at TP 8, 31 / 14 = 2.2 at TP 16; nothing is fitted to them."""
    found = {claim.what: claim.ours for claim in claims(result)}
    assert found["reads of the reduce-scatter, TP 8, times fewer"] == pytest.approx(15 / 6)
    assert found["reads of the reduce-scatter, TP 16, times fewer"] == pytest.approx(31 / 14)


def test_updates_pass_the_cache_so_that_the_gemm_reads_no_more(result: StudyResult) -> None:
    pairs = [(row.traffic["t3"], row.traffic["sequential"]) for row in result.rows]
    reads = [(tracked.gemm_reads, sequence.gemm_reads) for tracked, sequence in pairs]
    assert all(tracked <= sequence * 1.0001 for tracked, sequence in reads)
    assert any(tracked < 0.7 * sequence for tracked, sequence in reads)


def test_no_overlap_beats_the_longest_part(result: StudyResult) -> None:
    """Tracked runs may pass the ideals a little: chunk 0 needs no engine, the GEMM reads less."""
    for row in result.rows:
        times = row.times_s
        assert row.speedup["ideal"] == pytest.approx(
            times["sequential"] / (max(times["gemm"], times["rs"]) + times["ag"])
        )
        assert times["ag"] < times["t3"] <= 1.001 * times["sequential"]
        assert row.speedup["t3_mca"] < row.speedup["ideal_nmc"] * 1.1


def test_end_to_end_is_the_share_of_sub_layers(result: StudyResult) -> None:
    for end in result.end_to_end:
        own = [
            row
            for row in result.rows
            if (row.model, row.tp) == (end.model, end.tp)
            and (end.step == "training" or row.sublayer in ("op", "fc2"))
        ]
        before = sum(row.times_s["sequential"] for row in own)
        after = sum(row.times_s["t3"] for row in own)
        amdahl = 1 / (1 - end.share + end.share * after / before)
        assert end.speedup["t3"] == pytest.approx(amdahl)
        assert 0.2 < end.share < 1 - STUDY.assumptions["attention_share"]


def test_a_node_without_such_memory_is_told_what_it_lacks() -> None:
    with pytest.raises(InputError, match=r"set gpu\.hbm\.update_cost, gpu\.dma_engines\.reduce"):
        run_study(STUDY, Options(node=load_hardware("mi300x-8").node))


def test_it_can_be_asked_of_another_node() -> None:
    """Each model once, on all GPUs; published figures are not shown beside."""
    settings = {
        "gpu.hbm.update_cost": "2",
        "gpu.dma_engines.trigger_latency": "0.2 us",
        "gpu.dma_engines.reduce_bandwidth": "300 GB/s",
    }
    node = load_hardware("h200-4").node
    found = run_study(STUDY, Options(node=node, settings=settings))
    assert isinstance(found, StudyResult)
    assert {row.tp for row in found.rows} == {4} and len(found.rows) == 20
    assert not found.published and found.max["t3"] > 1
