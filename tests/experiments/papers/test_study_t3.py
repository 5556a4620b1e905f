"""The study of tracked and triggered sub-layers: traffic by hand, speedups within what is possible.

In chunks of S / n, arXiv 2401.16677: in sequence the GEMM writes n, the reduce-scatter reads 2n - 1
and writes n, the all-gather reads and writes n - 1; tracked, the GEMM writes n - 1, engines read
n - 2, n - 1 chunks are added to.
"""

from __future__ import annotations

import pytest
from made_workload import run_of

from c3sim.errors import InputError
from c3sim.experiments.papers.t3 import claims
from c3sim.experiments.study import Options, StudyResult, run_study
from c3sim.experiments.subjects.sub_layer import SubLayer, tracked, with_gpus
from c3sim.experiments.subjects.tensor_parallel import DEPTHS
from c3sim.spec.reading.loading import load_node, load_study

pytestmark = pytest.mark.turns(5)

WHOLE = load_study("t3")
#: Both kinds of GEMM, bound by memory and by compute, on 8, 16 and 32 GPUs; one beyond the paper.
STUDY = WHOLE.changed(
    table=tuple(row for row in WHOLE.table if row["model"] == "T-NLG"),
    assumptions={
        **WHOLE.assumptions,
        "draws": 1,
        "sensitivity": {
            name: values
            for name, values in WHOLE.assumptions["sensitivity"].items()
            if name in ("no tracker", "64 entries", "64 entries, late")
        },
    },
)


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return run_study(STUDY)


def test_traffic_is_that_counted_by_hand(result: StudyResult) -> None:
    sizes = {row["model"]: 2 * row["tokens"] * row["hidden"] for row in STUDY.table}
    for row in result.rows:
        n, chunk = row.tp, sizes[row.model] / row.tp
        before, t3 = row.traffic["sequential"], row.traffic["t3"]
        near = pytest.approx  # a GEMM's padded tiles count whole
        assert before.gemm_writes == near(n * chunk, rel=0.03)
        assert before.rs_reads == near((2 * n - 1) * chunk, rel=1e-6)
        assert before.rs_writes == near(n * chunk, rel=1e-6)
        assert t3["gemm_writes"] == near((n - 1) * chunk, rel=1e-6)
        assert t3["rs_reads"] == near((n - 2) * chunk, rel=1e-6)
        assert t3["rs_writes"] == near((n - 1) * chunk, rel=1e-6)
        for moved in (before, t3):
            assert moved["ag_reads"] == near((n - 1) * chunk, rel=1e-6)
            assert moved["ag_writes"] == near((n - 1) * chunk, rel=1e-6)


def test_the_ratios_of_reads_are_the_published_ones(result: StudyResult) -> None:
    """15 / 6 = 2.5 at TP 8, 31 / 14 = 2.2 at TP 16; nothing is fitted to them."""
    found = {claim.what: claim.ours for claim in claims(result)}
    assert found["reads of the reduce-scatter, TP 8, times fewer"] == pytest.approx(15 / 6)
    assert found["reads of the reduce-scatter, TP 16, times fewer"] == pytest.approx(31 / 14)


def test_updates_pass_the_cache_so_that_the_gemm_reads_no_more(result: StudyResult) -> None:
    pairs = [(row.traffic["t3"], row.traffic["sequential"]) for row in result.rows]
    reads = [(tracked["gemm_reads"], sequence["gemm_reads"]) for tracked, sequence in pairs]
    assert all(tracked <= sequence * 1.0001 for tracked, sequence in reads)
    assert any(tracked < 0.7 * sequence for tracked, sequence in reads)


def test_nothing_beats_the_longer_part_and_who_passes_the_ideal_has_a_reason(
    result: StudyResult,
) -> None:
    """The GEMM past the cache, the reduction near memory: each alone is sooner over. What is lost
    against both adds up.
    """
    passed = 0
    for row in result.rows:
        times = row.times_s
        assert row.speedup["ideal"] == pytest.approx(
            times["sequential"] / (max(times["gemm"], times["rs"]) + times["ag"])
        )
        for name in ("t3", "t3_mca"):
            assert times[name] >= times["ideal_nmc"] * (1 - 1e-9)
        assert sum(row.lost.values()) == pytest.approx(times["t3_mca"] - times["ideal_nmc"])
        assert bool(row.reasons) == (times["t3_mca"] < times["ideal"])
        passed += bool(row.reasons)
    assert passed > 0


def test_windows_and_tasks_agree_on_a_gemm_alone(result: StudyResult) -> None:
    """Two models of the same GEMM: in windows it waits less for memory, which has no load there
    that is not its own.
    """
    node = load_node("t3-8")
    for row in result.rows:
        if row.tp == 8 and row.sublayer != "fc1":
            depth = DEPTHS[row.sublayer] * 4256 // 8
            task = {"kind": "gemm", "m": 8192, "n": 4256, "k": depth}
            alone = run_of({"gemm": task}, node).end
            assert row.times_s["gemm"] == pytest.approx(alone, rel=0.15)


def test_bands_and_sensitivity_are_of_what_is_published(result: StudyResult) -> None:
    assert all((row.band["t3"] is None) == row.beyond for row in result.rows)
    speedups = {each.what: each.geomean["small"] for each in result.sensitivity}
    usual = result.summary["small"]["t3_mca"]
    assert speedups["no tracker"] < speedups["64 entries, late"] < usual.geomean
    assert speedups["64 entries"] == pytest.approx(usual.geomean, rel=0.02)  # counters in memory
    assert usual.geomean_band[0] < usual.geomean_band[1]
    decided = [each for each in claims(result) if each.what.startswith("t3")]
    assert decided and all(each.decides.startswith("lost to: ") for each in decided)


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
    with pytest.raises(InputError, match=r"its file needs gpu\.near_memory, gpu\.hbm\.update_cost"):
        run_study(STUDY, Options(node=load_node("mi300x-8")))


def test_every_gpu_needs_a_tile() -> None:
    """A shallow product is not split, and 64 x 128 results are a few tiles."""
    node = with_gpus(load_node("t3-8"), 128)
    with pytest.raises(InputError, match=r"tiles for 128 GPUs; each needs one"):
        tracked(node, SubLayer(tokens=64, hidden=128, depth=64), reads=1e4, apart=0.5)
