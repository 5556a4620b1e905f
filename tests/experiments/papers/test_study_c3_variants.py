"""The study of DMA variants beside a GEMM: its shape, its regrets, its laws, and what has to come
out of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_workload import workload_of

import c3sim
from c3sim.evaluation.strategies import dma_variants
from c3sim.evaluation.strategies.rewrites import baseline
from c3sim.experiments.cases import collective_of, workload_cases
from c3sim.experiments.papers.c3_variants import CHOOSERS, summed_regrets
from c3sim.experiments.study import Options, Row, StudyResult, named_kind, run_study
from c3sim.experiments.subjects import variants as study_module
from c3sim.experiments.subjects.variants import SAME, host_name
from c3sim.simulation.runs import isolated
from c3sim.spec.reading.loading import load_study
from c3sim.spec.workload import HostThreads

pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]

SMALL = """
schema: 1
name: small
workload: c3-pair
strategies: [base, conccl, conccl_latte]
kind: c3_variants
axes:
  task.gather.op: [all_gather, all_to_all]
  task.gather.size: [64 KiB, 256 MiB]
scenarios:
  - name: short
    label: "70B O / 8, 64 tokens"
    set: {task.gemm.m: 64, task.gemm.k: 1024, workload.host.submission: direct}
  - {name: long, label: "70B O, 8192 tokens", set: {workload.host.submission: direct}}
  - {name: runtime, label: "70B O / 8, 64 tokens", set: {task.gemm.m: 64, task.gemm.k: 1024}}
"""
DIRECT = "a thread per GPU, kernels queued, commands direct"
RUNTIME = "a thread per GPU, kernels queued, commands one by one"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("study") / "small.yaml"
    found.write_text(SMALL, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def study(path: Path) -> StudyResult:
    return run_c3_variants(path)


def run_c3_variants(path: Path, options: Options | None = None) -> StudyResult:
    return run_study(load_study(path), options)


def row(study: StudyResult, label: str, op: str, mib: float, host: str = DIRECT) -> Row:
    wanted = (host, op, mib * 2**20, label)
    (found,) = (
        row for row in study.rows if (row.host, row.collective, row.size_bytes, row.label) == wanted
    )
    return found


def walls_of(row: Row) -> dict[str, float]:
    return {name: variant.wall_s for name, variant in row.variants.items()}


SHORT, LONG = "70B O / 8, 64 tokens", "70B O, 8192 tokens"


# Laws


def test_no_way_to_choose_beats_the_best(study: StudyResult) -> None:
    for found in study.rows:
        walls = walls_of(found)
        least = min(walls.values())
        assert walls[found.best] == least and found.best in found.good
        assert all(walls[name] <= (1 + SAME) * least for name in found.good)
        assert set(found.regret) == set(found.chosen) == set(CHOOSERS)
        for chooser, regret in found.regret.items():
            assert regret >= 0
            assert regret == pytest.approx(walls[found.chosen[chooser]] / least - 1, abs=1e-12)


def test_a_strategy_is_the_variant_it_chooses(study: StudyResult) -> None:
    """conccl is pcpy, conccl_latte what it names."""
    for found in study.rows:
        names = {"conccl": "pcpy", "conccl_latte": found.chosen["conccl_latte"]}
        for strategy, variant in names.items():
            of_strategy, of_variant = found.strategies[strategy], found.variants[variant]
            # a strategy has no time alone
            together = {name: value for name, value in of_variant.items() if name != "alone_s"}
            assert of_strategy == pytest.approx(together, rel=1e-12), strategy


def test_fractions_of_ideal_share_one_baseline(study: StudyResult, path: Path) -> None:
    """Isolated times of the GEMM, and of the collective on compute units, for every variant."""
    for case, found in zip(workload_cases(load_study(path)), study.rows, strict=True):
        base = baseline(case.workload, case.node)
        alone = [isolated(case.node, base, name).end for name in ("gemm", "gather")]
        assert [found.gemm_isolated_s, found.comm_isolated_s] == alone
        for variant in found.variants.values():
            entry = variant
            speedup, ideal = sum(alone) / entry.wall_s, sum(alone) / max(alone)
            assert entry.fraction_of_ideal == pytest.approx((speedup - 1) / (ideal - 1), rel=1e-9)
            assert entry.wall_s >= entry.collective_s >= 0.95 * variant.alone_s


def test_nothing_is_regretted_where_there_is_one_variant(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (dma_variants, study_module):
        monkeypatch.setattr(module, "variants", lambda _node, _op: (dma_variants.Variant("pcpy"),))
    found = run_c3_variants(path, Options(n_jobs=1))
    for entry in found.rows:
        assert set(entry.variants) == {"pcpy"}
        assert set(entry.regret.values()) == {0.0} and "pcpy_pl" not in entry.regret
    assert {entry.max for entry in found.choosers} == {0.0}


# Published findings that have to come out


def test_the_runtimes_submission_is_what_prelaunch_saves(study: StudyResult) -> None:
    """Seven copies of 5.5 us of the host each; beside a GEMM of some 14 us. Written to the rings
    they cost 3 us.
    """
    slow, quick = (row(study, SHORT, "all_gather", 1 / 16, host) for host in (RUNTIME, DIRECT))
    assert walls_of(slow)["pcpy"] > 38.5e-6 > walls_of(slow)["pcpy_pl"]
    assert walls_of(quick)["pcpy"] < 38.5e-6
    assert slow.good_not_prelaunched == ["bcst"]  # four commands instead of seven


def test_long_collectives_want_every_link(study: StudyResult) -> None:
    """256 MiB beside a short GEMM, a chunk to each of seven peers: copies have a link of 48.5 GB/s
    each, a broadcast writes two chunks at 41.7 GB/s in all, one engine fills one link after the
    other. Links that carry both ways have 48.5 / 1.043 = 46.5: 2 x 46.5 / 41.7 = 2.23, and 7 x 46.5
    / 48.5 = 6.71 times as long.
    """
    walls = walls_of(row(study, SHORT, "all_gather", 256))
    assert walls["bcst_pl"] / walls["pcpy_pl"] == pytest.approx(2.23, rel=0.05)
    assert walls["b2b_pl"] / walls["pcpy_pl"] == pytest.approx(6.71, rel=0.03)


def test_a_hidden_broadcast_disturbs_the_gemm_less(study: StudyResult) -> None:
    """256 MiB beside 8192^3: both end before the GEMM; the broadcast reads 4 chunks where copies
    read 7, and both write 7. Memory costs the GEMM 11/14 of what it costs beside copies.
    """
    variants = row(study, LONG, "all_gather", 256).variants
    found = {name: variants[name] for name in ("pcpy_pl", "bcst_pl")}
    assert all(entry.collective_s < entry.wall_s for entry in found.values())
    lost = {name: entry.gemm_slowdown - 1 for name, entry in found.items()}
    assert lost["bcst_pl"] < lost["pcpy_pl"]
    assert by_memory("bcst") / by_memory("pcpy") == pytest.approx(11 / 14, rel=0.05)


def by_memory(variant: str) -> Any:
    """The cost by memory of an 8192^3 GEMM beside a prelaunched all-gather of 256 MiB."""
    gather = {"kind": "collective", "op": "all_gather", "size": "256 MiB", "backend": "dma"}
    gemm = {"kind": "gemm", **dict.fromkeys("mnk", 8192)}
    tasks = {"g": gemm, "c": {**gather, "variant": variant}}
    return (
        c3sim.explain(workload_of(tasks, host={"prelaunched": True}), node="mi300x-8")
        .tasks["g"]
        .causes["hbm"]
    )


# Its shape


def test_regrets_are_summed_up_per_host(study: StudyResult) -> None:
    """Regrets of 0, 10 and 20 %: mean 10 %, 90th percentile 18 % (between the last two), one as
    good as the best.
    """
    rows = [
        Row(
            study.rows[0],
            host="h",
            scenario=f"s{i}",
            best="b2b",
            chosen={"pcpy": "pcpy"},
            regret={"pcpy": share},
        )
        for i, share in enumerate((0.1, 0.0, 0.2))
    ]
    (found,) = summed_regrets(rows)
    assert (found.mean, found.p90, found.max) == pytest.approx((0.1, 0.18, 0.2))
    assert (found.good_in, found.of) == (1, 3)
    assert (found.worst, found.worst_chosen, found.worst_best) == ("s2", "pcpy", "b2b")


def test_hosts_in_words() -> None:
    assert host_name(HostThreads(submission="direct")) == DIRECT
    assert (
        host_name(HostThreads(threads="single", launch="eager"))
        == "one thread, kernels eager, commands one by one"
    )


@pytest.mark.parametrize(
    ("name", "cases"), [("c3-latte", 9 * 2 * 19), ("c3-latte-small", 16 * 2 * 7)]
)
def test_the_packaged_studies(name: str, cases: int) -> None:
    """From 16 KiB; the large one to 3.25 GiB under one host, the small one under four."""
    found = workload_cases(load_study(name))
    assert len(found) == cases
    assert min(collective_of(case)[1].size for case in found) == 2**14
    hosts = {host_name(case.workload.host) for case in found}
    assert len(hosts) == (1 if name == "c3-latte" else 4) and DIRECT in hosts


# Tables and picture


def test_it_can_be_drawn(study: StudyResult, tmp_path: Path) -> None:
    kind = named_kind("c3_variants")
    axes = kind.picture(study, tmp_path / "1.png").axes
    assert len(axes) == 4  # two hosts, two operations
    lines = [line.get_label() for line in axes[0].lines]
    assert lines == [*study.rows[0].strategies, *study.rows[0].variants]
    assert (tmp_path / "1.png").stat().st_size > 5000
