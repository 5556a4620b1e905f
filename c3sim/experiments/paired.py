"""The band of a difference: both runs with the same draws of all that is uncertain, so that what is
unknown in both cancels.

A draw has one place in the interval of each number, by its path (bands.py): a number that both
nodes have is at the same place of both intervals. Numbers that are set by hand keep their value.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from c3sim.evaluation.effort import Agree
from c3sim.experiments.bands import parameters_of, spread, uncertainty
from c3sim.experiments.jobs import Watcher, Workers
from c3sim.experiments.outputs import WALL
from c3sim.spec.iteration import Described
from c3sim.spec.reading.loading import LoadedNode
from c3sim.spec.workload import Workload

DRAWS, FEW_DRAWS = 64, 16  # of a workload; of an iteration or a trace, which takes longer
MANY = 64  # tasks, of a trace


class Side(NamedTuple):
    """One of two runs: *workload* on *node* under *strategy*."""

    workload: Workload
    node: LoadedNode
    strategy: str


def band_of_difference(
    before: Side,
    after: Side,
    but: Container[str],
    agree: Agree | None = None,
    watcher: Watcher | None = None,
) -> tuple[dict[str, float], int]:
    """5th percentile, median and 95th of the wall time of *after* less that of *before* [s], and of
    how many draws; nothing where no number of a node has an interval. Numbers at *but* stay. Raises
    InputError: *agree* does not, or no draw runs.
    """
    long = isinstance(after.workload, Described) or len(after.workload.tasks) > MANY
    draws = FEW_DRAWS if long else DRAWS
    if not all(parameters_of(side.node, but) for side in (before, after)):
        return {}, 0
    was, now = (
        uncertainty(
            side.workload,
            side.node,
            side.strategy,
            samples=draws,
            but=but,
            outputs=(WALL,),
            workers=Workers(jobs=1, agree=agree),
            watcher=watcher,
        ).rows
        for side in (before, after)
    )
    changes = [
        new[WALL] - old[WALL]
        for old, new in zip(was, now, strict=True)
        if old["error"] is None and new["error"] is None
    ]
    return (spread(changes), len(changes)) if changes else ({}, 0)
