"""Every case of a study under every strategy: one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.notes import auto_loss
from c3sim.result import Result
from c3sim.strategies.best import best_candidate
from c3sim.strategies.table import exhaustive
from c3sim.studies.cases import Case
from c3sim.sweeps.outputs import FIELDS, TASK_FIELDS

Row = dict[str, Any]
Progress = Callable[
    [str, int, int], None
]  # what is being done, how many cases are done, of how many
WORTH_IT = 100  # cases; starting other processes takes as long as some tens of them
CHUNK = 8  # cases handed to another process at a time; they share one copy of the node


def rows_of(case: Case, strategies: Sequence[str]) -> list[Row]:
    """One row per strategy: the case, the strategy's choice, and the fields of its result."""
    rows = []
    for strategy in strategies:
        result = evaluate_run(case.workload, case.node, strategy)
        chosen = best_candidate(strategy, case.workload, case.node)
        row = {
            "scenario": case.name,
            "strategy": strategy,
            "chosen": chosen.candidate.name,
            **_fields(result),
        }
        if strategy == "auto":
            rivals = exhaustive(case.workload, case.node)
            row["best"], row["loss"] = auto_loss(chosen, case.node, rivals)
        rows.append(row)
    return rows


def evaluate(
    cases: Sequence[Case],
    strategies: Sequence[str],
    *,
    what: str,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[list[Row]]:
    """The rows of each case, in order. *n_jobs* left out: all cores if there are many cases, else
    this process.
    """
    jobs = (-1 if len(cases) >= WORTH_IT else 1) if n_jobs is None else n_jobs
    found: list[list[Row]] = []
    for rows in _each(cases, strategies, jobs):
        found += rows
        if progress is not None:
            progress(what, len(found), len(cases))
    return found


def _each(cases: Sequence[Case], strategies: Sequence[str], jobs: int) -> Iterator[list[list[Row]]]:
    if jobs == 1:
        yield from ([rows_of(case, strategies)] for case in cases)
        return
    from joblib import Parallel, delayed

    chunks = [cases[start : start + CHUNK] for start in range(0, len(cases), CHUNK)]
    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1)
    yield from parallel(delayed(_rows_of_each)(chunk, strategies) for chunk in chunks)


def _rows_of_each(cases: Sequence[Case], strategies: Sequence[str]) -> list[list[Row]]:
    return [rows_of(case, strategies) for case in cases]


def _fields(result: Result) -> Row:
    """Every output of single points, those of tasks as ``tasks.gather.slowdown``."""
    whole = {name: getattr(result, name) for name in FIELDS}
    of_tasks = {
        f"tasks.{task}.{name}": getattr(found, name)
        for task, found in result.tasks.items()
        for name in TASK_FIELDS
    }
    return {**whole, **of_tasks}
