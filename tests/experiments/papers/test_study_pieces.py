"""Studies of kind pieces: shape of the result, laws, settings, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

import c3sim
from c3sim.errors import InputErrors
from c3sim.experiments.study import StudyResult
from c3sim.experiments.subjects.pieces import FOUR, as_measured
from c3sim.spec.reading.loading import load_study, parse_workload

pytestmark = pytest.mark.turns(5)

RECORDS = ROOT / "validation/data/h200"
TEXT = """\
schema: 1
name: small
kind: pieces
pieces:
  nodes: [mi300x-8]
  collectives: [all_gather, reduce_scatter]
  by: [dma, kernels]
  pieces: [1, 4]
  gemms:
    square: {m: 8192, n: 32768, k: 8192}
    deep: {m: 4096, n: 8192, k: 65536}
    tall: {m: 65536, n: 16384, k: 4096}
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    file = tmp_path_factory.mktemp("study") / "small.yaml"
    file.write_text(TEXT)
    return c3sim.study(file, n_jobs=1)


def test_what_has_to_hold_of_every_scenario(result: StudyResult) -> None:
    """Serial is 1; nothing beats the ideal; the best of the four is; engines have all four."""
    for row in result.scenarios:
        serial = row.schedules["serial"]
        assert serial.speedup == 1.0 and abs(serial.decomposition_loss) < 0.01
        four = {name: row.schedules[name].speedup for name in FOUR if name in row.schedules}
        assert max(four, key=four.__getitem__) == row.best
        assert max(four.values()) <= row.ideal_speedup * (1 + 1e-9)
        assert row.fits
        if row.by == "dma":
            assert set(four) == set(FOUR)
        for outcome in row.schedules.values():
            assert outcome.time_s == min(outcome.by_pieces.values())


def test_engines_leave_the_compute_units_to_the_gemm(result: StudyResult) -> None:
    """Channels take compute units, and a later piece has to wait for them."""
    rows = {(r.gemm, r.by): r for r in result.scenarios if r.collective == "all_gather"}
    for gemm in ("square", "deep", "tall"):
        engines, kernels = rows[gemm, "dma"], rows[gemm, "kernels"]
        assert engines.schedules[engines.best].speedup > kernels.schedules[kernels.best].speedup


def test_one_link_at_a_time_is_several_times_slower(result: StudyResult) -> None:
    """Seven links in a full mesh of eight: up to 7 times, less what all seven cost each other."""
    slower = {
        row.get("shards_slower") for row in result.scenarios if row.collective == "all_gather"
    }
    assert all(each is not None and 5 < each <= 7 for each in slower)


def test_the_heuristic_is_scored_on_gemms_that_it_has_not_seen(result: StudyResult) -> None:
    """Fitted on the first and the third."""
    engines = [row for row in result.scenarios if row.by == "dma"]
    assert {row.gemm for row in engines if row.fitted} == {"square", "tall"}
    score = result.heuristics["dma"]
    unseen = [row for row in engines if not row.fitted]
    assert score.scenarios == len(unseen) == 2
    assert score.hit_rate == sum(row.loss == 0 for row in unseen) / 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("n: 32768", "n: 32769"), "n = 32769 is no multiple of the 8 GPUs"),
        (("kind: pieces", "kind: sweep"), "pieces and kind: pieces belong together"),
        (("nodes: [mi300x-8]", "nodes: [mi300x-9]"), "mi300x-9"),
    ],
)
def test_mistakes_are_named(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(TEXT.replace(*change))
    with pytest.raises((InputErrors, c3sim.InputError), match=message):
        c3sim.study(file, n_jobs=1)


def test_values_can_be_set(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(TEXT.replace("[all_gather, reduce_scatter]", "[all_gather]"))
    settings: dict[str, Any] = {"pieces.pieces": "[2]", "pieces.by": "dma"}
    slow = c3sim.study(file, n_jobs=1, set={**settings, "links.bandwidth": "20 GB/s"})
    for row in slow.scenarios:
        assert row.by == "dma" and row.schedules[row.best].pieces == 2
    quick = c3sim.study(file, n_jobs=1, set=settings)
    assert slow.scenarios[0].move_s > 2 * quick.scenarios[0].move_s


def test_choosers_are_scored_on_the_records_of_the_suite() -> None:
    """Times and workloads of the study's file are those of the records of h200_pieces."""
    plan = load_study("ficco").pieces
    assert plan.measured is not None
    measured = plan.measured
    lines = (RECORDS / "pieces-run1.jsonl").read_text().splitlines()
    assert len(lines) == sum(len(row) for of in measured.times_us.values() for row in of.values())
    for record in map(json.loads, lines):
        gemm, schedule, by = record["workload"]["name"].split(", ")
        backend = by.removeprefix("by ")
        time = measured.times_us[backend][gemm][measured.columns.index(schedule)]
        assert time == record["measured"]["wall_us"]
        theirs = parse_workload(record["workload"], plain_si=True)
        ours = as_measured(measured, (gemm, backend), measured.schedules[schedule])
        for what in ("tasks", "host", "schedule"):
            assert getattr(ours, what) == getattr(theirs, what)
