"""Energy of DMA variants: bands by hand and by trial, and what has to come out of the study."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

import c3sim
from c3sim.experiments.study import StudyResult, named_kind
from c3sim.experiments.subjects.programs import band, intervals_of, total
from c3sim.spec.reading.loading import load_hardware

pytestmark = pytest.mark.slow


SIZES = {"task.gather.size": "[4 KiB, 64 MiB, 1 GiB]"}


@pytest.fixture(scope="module")
def dma_latte() -> StudyResult:
    return c3sim.study("dma-latte", n_jobs=1, set=SIZES)


@pytest.fixture(scope="module")
def study(dma_latte: StudyResult) -> dict[str, Any]:
    return dma_latte.to_dict()


def row(study: dict[str, Any], operation: str, size: int) -> dict[str, Any]:
    found = [
        r
        for r in study["energy"]["rows"]
        if (r["collective"], r["size_bytes"]) == (operation, size)
    ]
    return found[0]


def test_a_band_by_hand() -> None:
    """10 J idle each, and 10 J of units in the other alone: ratio 10 / 20. With idle between 1 and
    2 times, units between 0 and 1 times: smallest 10 / (10 + 10) = 1/2, largest 1 (no units).
    """
    one, other = {"idle_power": 10.0}, {"idle_power": 10.0, "compute_unit": 10.0}
    ends = {"idle_power": (1.0, 2.0), "compute_unit": (0.0, 1.0)}
    assert band(one, other, ends) == pytest.approx((0.5, 1.0))
    assert band(one, other, {}) == pytest.approx((0.5, 0.5))


def test_a_band_is_the_range_over_all_ends() -> None:
    """Against trying every corner of the box, 100 random pairs of runs with five energies."""
    draw = random.Random(5)
    names = "abcde"
    for _ in range(100):
        runs = [{name: draw.uniform(0, 10) for name in names} for _ in range(2)]
        ends = {name: (draw.uniform(0.1, 1), draw.uniform(1, 4)) for name in names}
        corners = [dict(zip(names, corner, strict=True)) for corner in product(*ends.values())]
        ratios = [total(runs[0], corner) / total(runs[1], corner) for corner in corners]
        assert band(*runs, ends) == pytest.approx((min(ratios), max(ratios)))


def test_intervals_are_relative_and_of_energies_only() -> None:
    loaded = load_hardware("mi300x-8")
    found = intervals_of(loaded.provenance)
    assert found["compute_unit"] == pytest.approx((0.065, 1.4))  # 0.065 to 1.4 W about 1 W
    assert set(found) == {"idle_power", *type(loaded.node.gpu.energy).model_fields} - {
        "flop",
        "measured",
        "operands",
    }


def test_the_section_has_what_is_promised(study: dict[str, Any]) -> None:
    energy = study["energy"]
    assert energy["validated"] is False and len(energy["rows"]) == len(study["rows"])
    for found, timed in zip(energy["rows"], study["rows"], strict=True):
        assert found["size_bytes"] == timed["size_bytes"] and set(found["variants"]) == set(
            timed["variants"]
        )
        assert found["payload_bytes"] == 7 * found["size_bytes"]
        for name, run in (("rccl", found["rccl"]), *found["variants"].items()):
            assert sum(run["energy"].values()) == pytest.approx(run["energy_j"])
            time = 1e-6 * (timed["rccl"] if name == "rccl" else timed["variants"][name])["time_us"]
            assert run["power_w_per_gpu"] == pytest.approx(run["energy_j"] / time / 8)
        for run in found["variants"].values():
            for saving in (
                run[over][what]
                for over in ("over_rccl", "over_pcpy")
                for what in ("power", "energy")
            ):
                assert saving["low"] - 1e-9 <= saving["saving"] <= saving["high"] + 1e-9


def test_the_saving_comes_from_compute_units_and_memory(study: dict[str, Any]) -> None:
    """Links carry the same bytes (within 1 %: the library's own efficiency is of time, not of
    bytes).
    """
    found = row(study, "all_gather", 2**30)
    rccl, pcpy = found["rccl"]["energy"], found["variants"]["pcpy"]["energy"]
    assert pcpy["compute_units"] == pcpy["l2"] == 0 < rccl["compute_units"]
    assert pcpy["links"] == pytest.approx(rccl["links"], rel=0.01)
    assert pcpy["hbm"] == pytest.approx(
        rccl["hbm"] * 14 / 23
    )  # 7 reads and 7 writes; 8 and 15 of the ring


def test_a_broadcast_saves_reads_and_nothing_else_at_large_sizes(study: dict[str, Any]) -> None:
    """4 reads and 7 writes for 7 and 7."""
    runs = row(study, "all_gather", 2**30)["variants"]
    assert runs["bcst"]["energy"]["hbm"] == pytest.approx(runs["pcpy"]["energy"]["hbm"] * 11 / 14)
    assert runs["bcst"]["energy"]["links"] == pytest.approx(runs["pcpy"]["energy"]["links"])
    assert runs["bcst"]["moving"] > 0.02 and abs(runs["b2b"]["moving"]) < 0.002


def test_small_collectives_are_idle_power(study: dict[str, Any]) -> None:
    """So what takes less time takes less energy: back to back and prelaunched, less than half of
    pcpy's.
    """
    runs = row(study, "all_gather", 2**12)["variants"]
    assert runs["pcpy"]["energy"]["idle"] > 0.99 * runs["pcpy"]["energy_j"]
    assert runs["b2b_pl"]["energy_j"] < 0.5 * runs["pcpy"]["energy_j"]


def test_without_intervals_there_is_no_band_and_without_published_figures_no_comparison() -> None:
    other = c3sim.study("dma-latte", node="teaching-4", n_jobs=1, set=SIZES)
    saving = other.energy.rows[0].variants["pcpy"].over_rccl["power"]
    assert saving["low"] is saving["high"] is None and "large" not in other.to_dict()["energy"]
    assert list(named_kind("dma_variants").claims(other)) == []
    assert "errors" not in other.to_dict() and not any(row.published for row in other.rows)


def test_savings_stand_beside_the_published_ones(dma_latte: StudyResult) -> None:
    found = {claim.what: claim for claim in named_kind("dma_variants").claims(dma_latte)}
    saved = found["all_gather, pcpy: power saved over compute units"]
    assert (saved.low, saved.high, saved.holds) == (0.32, 0.32, True)
    assert found["all_gather, bcst: power saved over pcpy"].low == 0.03
