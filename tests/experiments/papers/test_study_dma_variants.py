"""Studies of kind dma_variants: shape of the result, errors, and what has to come out."""

from __future__ import annotations

from typing import Any

import pytest

import c3sim
from c3sim.experiments.study import StudyResult

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(dma_latte: StudyResult) -> dict[str, Any]:
    return dma_latte.to_dict()


def rows(study: dict[str, Any], operation: str) -> list[dict[str, Any]]:
    return [row for row in study["rows"] if row["collective"] == operation]


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
