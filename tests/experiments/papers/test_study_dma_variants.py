"""Studies of kind dma_variants: shape of the result, errors, and what has to come out."""

from __future__ import annotations

import json
from typing import Any

import pytest

import c3sim
from c3sim.experiments.study import StudyResult, named_kind

pytestmark = pytest.mark.slow

SHARED = {"pcpy", "pcpy_pl", "b2b", "b2b_pl"}


@pytest.fixture(scope="module")
def result() -> StudyResult:
    found = c3sim.study("dma-latte")
    assert isinstance(found, StudyResult)
    return found


@pytest.fixture(scope="module")
def study(result: StudyResult) -> dict[str, Any]:
    return result.to_dict()


def rows(study: dict[str, Any], operation: str) -> list[dict[str, Any]]:
    return [row for row in study["rows"] if row["collective"] == operation]


def test_the_result_has_the_promised_shape(study: dict[str, Any]) -> None:
    """1 KiB to 2 GiB are 22 sizes; broadcasts only gather, swaps only exchange."""
    for operation, own in (
        ("all_gather", {"bcst", "bcst_pl"}),
        ("all_to_all", {"swap", "swap_pl"}),
    ):
        found = rows(study, operation)
        assert [row["size_bytes"] for row in found] == [2**power for power in range(10, 32)]
        for row in found:
            assert set(row["variants"]) == SHARED | own
            times = {name: entry["time_us"] for name, entry in row["variants"].items()}
            assert (
                row["best"] == min(times, key=lambda name: times[name])
                and row["rccl"]["time_us"] > 0
            )
    assert json.loads(json.dumps(study))["rows"] == study["rows"]


def test_phases_are_shares(study: dict[str, Any]) -> None:
    assert len(study["phases"]) == 22
    for row in study["phases"]:
        assert sum(row[name] for name in ("control", "schedule", "copy", "sync")) == pytest.approx(
            1
        )


def test_the_published_speedups_come_out_within_the_bound(study: dict[str, Any]) -> None:
    """Five variants, two operations, eleven sizes, less the one of the calibration. Bound: 15 %
    median, 35 % at p90.
    """
    errors = study["errors"]
    assert errors["of"] == 100
    assert errors["median"] < 0.15 and errors["p90"] < 0.35


def test_the_best_variant_goes_from_few_doorbells_to_many_links(study: dict[str, Any]) -> None:
    """Published: b2b_pl for small sizes, bcst_pl or swap_pl between, pcpy_pl for large ones."""
    for operation, middle in (("all_gather", "bcst_pl"), ("all_to_all", "swap_pl")):
        order = list(dict.fromkeys(row["best"] for row in rows(study, operation)))
        assert order == ["b2b_pl", middle, "pcpy_pl"]


def test_published_figures_stand_beside_their_own_node_only() -> None:
    other = c3sim.study("dma-latte", node="teaching-4").to_dict()
    assert "errors" not in other and not other["published"]
    assert not any(row["published"] for row in other["rows"])


def test_it_can_be_drawn(study: dict[str, Any], result: StudyResult) -> None:
    gather, _, phases, *savings = named_kind("dma_variants").picture(result).axes
    names = [*rows(study, "all_gather")[0]["variants"], "rccl"]
    labels = [line.get_label() for line in gather.lines]
    assert [name for name in labels if name in names] == names
    assert len(phases.patches) == 4 * 22
    for axes, own in zip(savings, ("bcst", "swap"), strict=True):
        assert [line.get_label() for line in axes.lines][:3] == ["pcpy", own, "b2b"]
