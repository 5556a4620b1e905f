"""Many samples of a node's parameters; each gives the mean of every output over the scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from c3sim.sweeps.executor import Watcher, Workers, in_batches
from c3sim.sweeps.identity import code_hash
from c3sim.sweeps.points import PointRunner, Row, Settings, run_batch
from c3sim.sweeps.setup import Setup


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Runs settings for all scenarios of a *setup* under one *strategy*."""

    setup: Setup
    strategy: str
    workers: Workers

    def ask(self, samples: int) -> None:
        """Whether to run so many *samples* (Workers.ask)."""
        self.workers.ask(self.setup.effort, samples * len(self.setup.workloads))

    def rows(self, samples: Sequence[Settings], watcher: Watcher | None = None) -> list[Row]:
        """A row for each sample: the mean of every output over the scenarios, and ``error``."""
        watcher = watcher or (lambda *_: None)
        mean_row = partial(_mean_row, self.strategy)
        work = partial(run_batch, self.setup, self.setup.identity, code_hash(), mean_row)
        rows: list[Row] = [{} for _ in samples]
        done = failed = 0
        watcher(0, len(samples), 0)
        with closing(in_batches(work, list(enumerate(samples)), self.workers)) as batches:
            for batch in batches:
                for number, row in batch:
                    rows[number] = row
                    failed += row["error"] is not None
                done += len(batch)
                watcher(done, len(samples), failed)
        return rows


def _mean_row(strategy: str, runner: PointRunner, settings: Settings) -> Row:
    return runner.mean_row(strategy, settings)
