"""Every case of a study under every strategy: one row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from c3sim.evaluation.notes import auto_loss
from c3sim.experiments.outputs import output_names, read_output
from c3sim.input.expressions import parse_expression
from c3sim.input.paths import get_value
from c3sim.iterations.described import evaluate as evaluate_any
from c3sim.result import Result
from c3sim.specs.study import Study
from c3sim.strategies.best import best_candidate
from c3sim.strategies.table import exhaustive
from c3sim.studies.cases import Case
from c3sim.studies.kind import Options
from c3sim.studies.parallel import for_each
from c3sim.studies.plain import ENTRIES


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """The *result* of a case under a strategy, and the candidate that the strategy chose.

    *loss*, of auto alone: how much longer its choice takes than the best one, as a fraction.
    """

    strategy: str
    chosen: str
    result: Result
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputRow:
    """A row as a study shows it: the *point* on its axes, and the *outputs* that it asks for."""

    scenario: str
    point: Mapping[str, object] = field(metadata=ENTRIES)
    strategy: str
    chosen: str
    outputs: Mapping[str, float | None] = field(metadata=ENTRIES)


def evaluate(
    study: Study, cases: Sequence[Case], options: Options, *, what: str = "scenarios"
) -> list[list[Row]]:
    """The rows of each case under the strategies of *study*, in order. Raises InputError, before
    the work, for an output that nothing has.
    """
    _column_names(study, cases)
    asked = "stretched_s" in study.outputs
    rows = partial(rows_of, stretched=True) if asked else rows_of
    return for_each(rows, cases, study.strategies, what=what, options=options)


def rows_of(case: Case, strategies: Sequence[str], *, stretched: bool = False) -> list[Row]:
    return [_row(case, strategy, stretched) for strategy in strategies]


def _row(case: Case, strategy: str, stretched: bool) -> Row:
    result = evaluate_any(case.workload, case.node, strategy, stretched=stretched)
    chosen = best_candidate(strategy, case.workload, case.node)
    loss = 0.0
    if strategy == "auto":
        _, loss = auto_loss(chosen, case.node, exhaustive(case.workload, case.node))
    return Row(strategy=strategy, chosen=chosen.candidate.name, result=result, loss=loss)


def output_rows(
    study: Study, cases: Sequence[Case], rows: Sequence[Sequence[Row]]
) -> list[OutputRow]:
    names = _column_names(study, cases)
    return [
        OutputRow(
            scenario=case.name,
            point=case.point,
            strategy=row.strategy,
            chosen=row.chosen,
            outputs={name: _output(study, case, row, name) for name in names},
        )
        for case, of_case in zip(cases, rows, strict=True)
        for row in of_case
    ]


def _column_names(study: Study, cases: Sequence[Case]) -> tuple[str, ...]:
    """The outputs of *study*, one for each task where it asks for all. Raises InputError."""
    return output_names(study.outputs, study.costs, [case.workload for case in cases])


def _output(study: Study, case: Case, row: Row, name: str) -> float | None:
    if name not in study.costs:
        return read_output(row.result, name)
    words = {"scenario": case.name, "strategy": row.strategy}
    return parse_expression(study.costs[name]).number(
        lambda path: words[path] if path in words else get_value(case.node, case.workload, path)
    )
