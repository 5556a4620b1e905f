"""A study of kind ``c3``: its rows, the means of each strategy, its scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from c3sim.specs.study import Study
from c3sim.studies.c3.answer import Answer
from c3sim.studies.c3.band import answer_of
from c3sim.studies.c3.characterisation import Figure, characterise
from c3sim.studies.c3.summary import (
    AutoSummary,
    Means,
    Scenario,
    auto_summary,
    scenario_of,
    strategy_means,
)
from c3sim.studies.cases import study_cases
from c3sim.studies.kind import About, Options
from c3sim.studies.plain import IF_KNOWN
from c3sim.studies.rows import evaluate, output_rows
from c3sim.studies.show import grouped
from c3sim.studies.sweep.study import SweepResult


@dataclass(frozen=True, kw_only=True, slots=True)
class C3Result(SweepResult):
    """Rows as of a sweep, with the means of each strategy and every scenario under all of them.

    *auto* is known where the heuristics are one of the strategies, *characterisation* where the
    study asks for it, the *answer* as a band unless the caller leaves it out.
    """

    strategies: Mapping[str, Means]
    scenarios: Sequence[Scenario]
    auto: AutoSummary | None = field(default=None, metadata=IF_KNOWN)
    characterisation: Sequence[Figure] | None = field(default=None, metadata=IF_KNOWN)
    answer: Answer | None = field(default=None, metadata=IF_KNOWN)


def run(study: Study, options: Options) -> C3Result:
    """All cases of *study* under all strategies, and their means. Raises InputError."""
    cases = study_cases(study, options.node)
    rows = evaluate(study, cases, options)
    of_strategy = grouped(chain(*rows), lambda row: row.strategy)
    means = {name: strategy_means(each) for name, each in of_strategy.items()}
    scenarios = [scenario_of(case, each) for case, each in zip(cases, rows, strict=True)]
    answer = answer_of(study, cases, rows, options) if options.band else None
    for name, band in (answer.strategies if answer is not None else {}).items():
        means[name] = replace(means[name], band=(band.low, band.high))
    figures = study.published.get("characterisation", {})
    return C3Result(
        about=About.of(study, cases[0].node),
        rows=output_rows(study, cases, rows),
        published=study.published,
        strategies=means,
        scenarios=scenarios,
        auto=auto_summary(of_strategy["auto"]) if "auto" in of_strategy else None,
        characterisation=characterise(cases, figures) if study.characterisation else None,
        answer=answer,
    )
