"""A function over all cases of a study, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from c3sim.evaluation.effort import Effort, effort_of
from c3sim.experiments.jobs import side_by_side
from c3sim.studies.cases import Case
from c3sim.studies.kind import Options

#: Cases from which other processes pay: starting them takes as long as some tens of cases.
WORTH_IT = 100
#: Cases handed to another process at a time; they share one copy of the node.
CHUNK = 8

Found = TypeVar("Found")
Item = TypeVar("Item")


def for_each(
    function: Callable[[Case, Sequence[str]], Found],
    cases: Sequence[Case],
    strategies: Sequence[str],
    *,
    what: str,
    options: Options,
) -> list[Found]:
    """What *function* finds for each case, in order; *what* names the work to the caller."""
    one = Effort.mean(effort_of(case.workload, case.node) for case in cases)
    options.ask(one, len(cases) * max(len(strategies), 1))
    under = partial(_under, function, strategies)
    return spread(under, cases, worth=WORTH_IT, chunk=CHUNK, what=what, options=options)


def spread(
    function: Callable[[Item], Found],
    items: Sequence[Item],
    *,
    what: str,
    options: Options,
    worth: int,
    chunk: int = 1,
) -> list[Found]:
    """What *function* finds for each of *items*, in order: in other processes from *worth* items
    on, of which each takes *chunk* at a time.
    """
    from joblib import delayed

    jobs = options.n_jobs
    if jobs is None:
        jobs = -1 if len(items) >= worth else 1
    step = 1 if jobs == 1 else chunk
    chunks = [items[start : start + step] for start in range(0, len(items), step)]
    found: list[Found] = []
    for part in side_by_side((delayed(_chunk)(function, each) for each in chunks), jobs):
        found += part
        options.report(what, len(found), len(items))
    return found


def _under(
    function: Callable[[Case, Sequence[str]], Found], strategies: Sequence[str], case: Case
) -> Found:
    return function(case, strategies)


def _chunk(function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    return [function(item) for item in items]
