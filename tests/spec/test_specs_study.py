"""The kind in a study's file."""

from __future__ import annotations

from c3sim.spec.study import Study

PAIR = {"schema": 1, "name": "mine", "workload": "c3-pair"}


def test_a_study_without_kind_is_a_sweep() -> None:
    assert Study.model_validate(PAIR).kind == "sweep"
