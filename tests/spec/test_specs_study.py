"""The kind in a study's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from c3sim.errors import InputErrors
from c3sim.spec.reading.loading import load_study
from c3sim.spec.study import Study

PAIR = {"schema": 1, "name": "mine", "workload": "c3-pair"}


def test_a_study_without_kind_is_a_sweep() -> None:
    assert Study.model_validate(PAIR).kind == "sweep"


@pytest.mark.parametrize(
    ("kind", "published", "message"),
    [
        ("dma_variants", "calibration_bytes: [x]", "published.calibration_bytes[0]: 'x' is not a"),
        (
            "dma_variants",
            "speedup: {columns: {a: [b]}, a: {1: [2, 3]}}",
            "a.1 has 2 speedups for 1",
        ),
        (
            "dma_variants",
            "claims: {larg: 2}",
            "published.claims: unknown field 'larg'; did you mean",
        ),
        ("operator_shares", "claims: [{of: share}]", "published.claims[0]: missing field"),
        ("c3", "order: [base]", "published.order[0]: 'base' is not a list"),
        ("pieces", "claims: [{of: ideal, text: t, value: many}]", "claims[0].value: got 'many'"),
        ("sweep", "{source: [a], mine: 5}", "published.source: ['a'] is not text"),
    ],
)
def test_what_is_published_has_the_form_that_its_kind_compares(
    tmp_path: Path, kind: str, published: str, message: str
) -> None:
    file = tmp_path / "study.yaml"
    text = published if published.startswith("{") else f"{{{published}}}"
    file.write_text(f"schema: 1\nname: mine\nkind: {kind}\npublished: {text}\n", encoding="utf-8")
    with pytest.raises(InputErrors) as error:
        load_study(file)
    assert f"{file}:4: " in str(error.value) and message in str(error.value)
