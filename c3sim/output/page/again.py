"""A point of a sweep simulated again, for its timeline and its explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.result import Result
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload

WORTH_IT = 60  # points; starting other processes takes as long as some tens of them
Row = Mapping[str, Any]
# of a row of results: its workload, node and strategy
Models = Callable[[Row], tuple[Workload, Node, str]]
# of a row of results: its result with timeline, and its explanation as plain data
Resimulate = Callable[[Row], tuple[Result, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Resimulator:
    """Runs a row again; *models* builds its workload and node."""

    models: Models

    def __call__(self, row: Row) -> tuple[Result, Mapping[str, Any]]:
        from c3sim.iterations.described import evaluate, explain

        workload, node, strategy = self.models(row)
        result = evaluate(workload, node, strategy, trace=True)
        return result, explain(workload, node, strategy).to_dict()


def compact_row(row: Row, resimulate: Resimulate) -> dict[str, Any]:
    """The run of *row* as the page shows it, or ``problem``: why it could not be run again."""
    from c3sim.output.page.timeline import compact_run

    try:
        result, explanation = resimulate(row)
    except Exception as error:  # of this point alone: the page says so
        reason = " ".join(str(error).split()) or type(error).__name__
        return {"problem": f"could not be run again: {reason}"}
    return compact_run(result, explanation)


def compact_rows(
    rows: Sequence[Row], resimulate: Resimulate, jobs: int | None
) -> Iterator[dict[str, Any]]:
    """:func:`compact_row` of *rows*, in order. *jobs*: processes; None: all cores where it pays."""
    if jobs == 1 or (jobs is None and len(rows) < WORTH_IT):
        yield from (compact_row(row, resimulate) for row in rows)
        return
    from joblib import delayed

    from c3sim.experiments.jobs import side_by_side

    tasks = (delayed(compact_row)(row, resimulate) for row in rows)
    yield from side_by_side(tasks, jobs or -1)
