"""Kind ``sweep``: the outputs of every case under every strategy. Nothing is concluded.

``c3sim sweep`` runs the same points, resumably and into a file (:mod:`c3sim.experiments.sweep`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from c3sim.evaluation.notes import auto_loss
from c3sim.evaluation.strategies.table import best_candidate, exhaustive
from c3sim.experiments.cases import Case, workload_cases
from c3sim.experiments.outputs import read_output
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.iterations.described import evaluate
from c3sim.kit.grid import Table
from c3sim.result import Result
from c3sim.spec.reading.expressions import parse_expression
from c3sim.spec.reading.paths import get_value
from c3sim.spec.study import Study


def cases(asked: Asked) -> list[Case]:
    return workload_cases(asked.loaded, asked.options.node, some=True)


def row(case: Case, study: Study) -> Row:
    """The outcome of each strategy (:func:`outcome`)."""
    return Row({strategy: outcome(case, strategy, study) for strategy in case.strategies})


def outcome(case: Case, strategy: str, study: Study) -> Row:
    """The result of *case* under *strategy*: its row, and what means are taken of. *loss*, of auto
    alone: how much longer its choice takes than the best one, as a fraction.
    """
    stretched = "stretched_s" in study.outputs
    result = evaluate(case.workload, case.node, strategy, noted=False, stretched=stretched)
    best = best_candidate(strategy, case.workload, case.node)
    loss = 0.0
    if strategy == "auto":
        _, loss = auto_loss(best, case.node, exhaustive(case.workload, case.node))
    chosen = best.candidate.name
    names = {name: _output(study, case, result, strategy, name) for name in case.outputs}
    return Row(
        row={"scenario": case.name, **case.point, "strategy": strategy, "chosen": chosen, **names},
        outcome=Row(
            wall_s=result.wall_s,
            speedup=result.speedup,
            fraction_of_ideal=result.fraction_of_ideal,
            own_fraction=result.overlap.own_fraction,
            chosen=chosen,
        ),
        ideal_speedup=result.ideal_speedup,
        loss=loss,
    )


def _output(study: Study, case: Case, result: Result, strategy: str, name: str) -> float | None:
    if name not in study.costs:
        return read_output(result, name)
    words = {"scenario": case.name, "strategy": strategy}
    return parse_expression(study.costs[name]).number(
        lambda path: words[path] if path in words else get_value(case.node, case.workload, path)
    )


def reduce(asked: Asked, _: Sequence[Case], rows: list[Row]) -> Mapping[str, Any]:
    return {"rows": rows_of(rows), "published": asked.study.published}


def rows_of(rows: Sequence[Row]) -> list[Row]:
    """A row per case and strategy, as the study shows them."""
    return [Row(each["row"]) for of_case in rows for each in of_case.values()]


def tables(found: StudyResult) -> list[Table | str]:
    """A row per case and strategy, words on the left, numbers on the right."""
    columns = [f"{name} as {name}" for name in (found.rows[0] if found.rows else ())]
    return [Table(found.title, found.rows, columns, "_s: seconds; _j: joules")]


def summary(found: StudyResult) -> list[Table | str]:
    """A row per strategy: the mean of each output over its cases."""
    lines = []
    for name, rows in grouped(found.rows, lambda row: row["strategy"]).items():
        names = list(rows[0])
        outputs = names[names.index("strategy") + 1 :]
        numbers = [each for each in outputs if not isinstance(rows[0][each], str)]
        means = {each: _mean([row[each] for row in rows]) for each in numbers}
        lines.append({"strategy": name, "cases": len(rows), **means})
    columns = [f"{name} as {name}" for name in dict.fromkeys(key for one in lines for key in one)]
    note = "means over all cases; _s: seconds; _j: joules"
    return [Table(found.title, lines, columns, note)]


#: A loss up to which the choice of the heuristics is the best one: rounding.
NO_LOSS = 1e-9


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def strategy_means(found: Sequence[Row]) -> Row:
    """Over what was *found* of a strategy in all cases."""
    outcomes = [each.outcome for each in found]
    speedup = fmean(each.speedup for each in outcomes)
    ideal = fmean(each.ideal_speedup for each in found)
    return Row(
        mean_fraction_of_ideal=_mean([each.fraction_of_ideal for each in outcomes]),
        ratio_of_means=(speedup - 1) / (ideal - 1) if ideal > 1 else None,
        mean_own_fraction=_mean([each.own_fraction for each in outcomes]),
        mean_speedup=speedup,
        max_speedup=max(each.speedup for each in outcomes),
    )


def auto_summary(found: Sequence[Row]) -> Row:
    """The loss of the heuristics, over what was *found* of auto."""
    losses = [each.loss for each in found]
    return Row(
        mean_loss=fmean(losses),
        max_loss=max(losses),
        best_in=sum(loss <= NO_LOSS for loss in losses),
        of=len(losses),
        chosen=dict(Counter(each.outcome.chosen for each in found)),
    )
