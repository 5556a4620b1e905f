"""A study of kind ``sweep``: a row per case and strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.specs.study import Study
from c3sim.studies.cases import study_cases
from c3sim.studies.kind import About, Options, StudyResult
from c3sim.studies.rows import OutputRow, evaluate, output_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepResult(StudyResult):
    """*rows*, one per case and strategy, and the *published* figures as they stand in the file."""

    rows: Sequence[OutputRow]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> SweepResult:
    """Every case of *study* under every strategy. Raises InputError."""
    cases = study_cases(study, options.node)
    rows = evaluate(study, cases, options)
    return SweepResult(
        about=About.of(study, cases[0].node),
        rows=output_rows(study, cases, rows),
        published=study.published,
    )
