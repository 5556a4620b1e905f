"""A point of a sweep simulated again, for its timeline and its explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload

WORTH_IT = 60  # points; starting other processes takes as long as some tens of them
Row = Mapping[str, Any]
#: Workload, node and strategy of one row of results.
Models = Callable[[Row], tuple[Workload, Node, str]]
#: ``{"result": Result with its timeline, "explanation": Explanation.to_dict()}`` of one row of
#: results.
Resimulate = Callable[[Row], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Resimulator:
    """Runs a row again, given what builds its *models*. It raises what they, or the run, raise."""

    models: Models

    def __call__(self, row: Row) -> dict[str, Any]:
        from c3sim.evaluation.evaluate import evaluate_run
        from c3sim.evaluation.explanation import explain_run
        from c3sim.strategies.best import best_candidate

        workload, node, strategy = self.models(row)
        result = evaluate_run(workload, node, strategy, trace=True)
        explanation = explain_run(best_candidate(strategy, workload, node), node, strategy)
        return {"result": result, "explanation": explanation.to_dict()}


def compact_row(row: Row, resimulate: Resimulate) -> dict[str, Any]:
    """What the page shows of *row*; where it could not be run again, the reason."""
    from c3sim.output.page.timeline import compact_run

    try:
        again = resimulate(row)
    except Exception as error:  # of this point alone: the page says so
        return {
            "problem": f"could not be run again: {' '.join(str(error).split()) or type(error).__name__}"
        }
    return compact_run(again["result"], again["explanation"])


def compact_rows(
    rows: Sequence[Row], resimulate: Resimulate, jobs: int | None
) -> Iterator[dict[str, Any]]:
    """Of all *rows*, in order, as they are done. *jobs*: processes, None for all cores where it
    pays.
    """
    if jobs == 1 or (jobs is None and len(rows) < WORTH_IT):
        yield from (compact_row(row, resimulate) for row in rows)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs or -1, return_as="generator")
    yield from parallel(delayed(compact_row)(row, resimulate) for row in rows)
