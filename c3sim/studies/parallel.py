"""A function over all cases of a study, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from c3sim.evaluation.effort import Effort, effort_of
from c3sim.studies.cases import Case
from c3sim.studies.kind import Options
from c3sim.sweeps.processes import side_by_side

#: Cases from which other processes pay: starting them takes as long as some tens of cases.
WORTH_IT = 100
#: Cases handed to another process at a time; they share one copy of the node.
CHUNK = 8

Found = TypeVar("Found")


def for_each(
    function: Callable[[Case, Sequence[str]], Found],
    cases: Sequence[Case],
    strategies: Sequence[str],
    *,
    what: str,
    options: Options,
) -> list[Found]:
    """What *function* finds for each case, in order; *what* names the work to the caller."""
    from joblib import delayed

    one = Effort.mean(effort_of(case.workload, case.node) for case in cases)
    options.ask(one, len(cases) * max(len(strategies), 1))
    jobs = options.n_jobs
    if jobs is None:
        jobs = -1 if len(cases) >= WORTH_IT else 1
    step = 1 if jobs == 1 else CHUNK
    chunks = [cases[start : start + step] for start in range(0, len(cases), step)]
    tasks = (delayed(_chunk)(function, chunk, strategies) for chunk in chunks)
    found: list[Found] = []
    for part in side_by_side(tasks, jobs):
        found += part
        options.report(what, len(found), len(cases))
    return found


def _chunk(
    function: Callable[[Case, Sequence[str]], Found],
    cases: Sequence[Case],
    strategies: Sequence[str],
) -> list[Found]:
    return [function(case, strategies) for case in cases]
