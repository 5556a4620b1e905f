"""Many samples of a node's parameters, each run for every scenario and reduced to the mean of each
output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from c3sim.sweeps.executor import Workers, in_batches
from c3sim.sweeps.identity import code_hash, hash_of
from c3sim.sweeps.points import Cases, Settings, Setup
from c3sim.sweeps.sweep import Watcher, cases_of

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Runs settings for all scenarios of a *setup* under one *strategy*."""

    setup: Setup
    strategy: str
    workers: Workers

    def rows(self, wanted: Sequence[Settings], watcher: Watcher | None = None) -> list[Row]:
        """A row of each of *wanted*: the mean of every output over the scenarios, or ``error``."""
        tell = watcher or (lambda *_: None)
        name = hash_of(
            [self.setup.node.model_dump(mode="json"), sorted(self.setup.workloads), self.strategy]
        )
        work = partial(run_samples, self.setup, name, code_hash(), self.strategy)
        numbered = list(enumerate(wanted))
        rows: list[Row] = [{} for _ in wanted]
        done = failed = 0
        tell(0, len(wanted), 0)
        with closing(in_batches(work, numbered, self.workers)) as batches:
            for batch in batches:
                for number, row in batch:
                    rows[number] = row
                    failed += row["error"] is not None
                done += len(batch)
                tell(done, len(wanted), failed)
        return rows


def run_samples(
    setup: Setup, name: str, code: str, strategy: str, samples: Sequence[tuple[int, Settings]]
) -> list[tuple[int, Row]]:
    """Rows of *samples* by number."""
    cases = cases_of(setup, name, code)
    return [(number, mean_row(cases, strategy, settings)) for number, settings in samples]


def mean_row(cases: Cases, strategy: str, settings: Settings) -> Row:
    """The mean of every output over the scenarios that have it; the first error ends it."""
    rows = []
    for scenario in cases.setup.workloads:
        row = cases.row(scenario, strategy, settings)
        if row["error"] is not None:
            return row
        rows.append(row)
    return {**{name: _mean(rows, name) for name in cases.setup.outputs}, "error": None}


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return sum(known) / len(known) if known else None
