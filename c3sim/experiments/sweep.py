"""A sweep: from a study to its folder of results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from c3sim.errors import C3simError
from c3sim.experiments.jobs import Watcher, Workers, in_batches
from c3sim.experiments.plan import Plan, Point, make_plan, point_row
from c3sim.experiments.points import PointRunner, Row, run_batch
from c3sim.experiments.result_files import results_schema
from c3sim.experiments.setup import code_hash
from c3sim.experiments.store import Store, locked
from c3sim.result.shown import Shown
from c3sim.spec.hardware import Node

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Interrupted(C3simError):
    """A sweep was interrupted: *done* of *total* points are in *folder*."""

    def __init__(self, folder: str, done: int, total: int):
        super().__init__(folder, done, total)
        self.folder, self.done, self.total = folder, done, total

    def __str__(self) -> str:
        return (
            f"interrupted; {self.done} of {self.total} points are kept in {self.folder}, "
            "the same command goes on from there"
        )


@dataclass(frozen=True, kw_only=True)
class SweepResult(Shown):
    """A complete sweep: *finished_before* points were in the folder when it started. *set_aside*:
    damaged files of it, renamed, whose points were run again.
    """

    plan: Plan
    folder: Path
    table: pa.Table
    finished_before: int
    seconds: float
    set_aside: tuple[Path, ...] = ()

    @property
    def failed(self) -> int:
        """Points that have an error instead of outputs."""
        return int(self.table.num_rows) - int(self.table.column("error").null_count)

    def to_frame(self) -> pd.DataFrame:
        """A row per point: its axes, scenario and strategy, outputs in SI units, and ``error``."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis.path} ({len(axis.values)})" for axis in self.plan.axes) or "none"
        outputs = self.plan.setup.outputs
        more = f" and {len(outputs) - 6} more" if len(outputs) > 6 else ""
        return (
            f"SweepResult: {self.plan.study.name} on {self.plan.setup.node.name},"
            f" {self.table.num_rows} points, {self.failed} failed, in {self.folder}\n"
            f"axes: {axes}; strategies: {', '.join(self.plan.strategies)}\n"
            f"outputs: {', '.join(outputs[:6])}{more}"
        )


def sweep(
    study: str | Path,
    out: str | Path | None = None,
    *,
    node: Node | None = None,
    workers: Workers | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> SweepResult:
    """Run every point of *study* that is not in the folder *out* yet (left out: ``sweep-NAME``).

    *node* replaces the study's; *fresh* starts over; *watcher* hears of every batch. Raises
    InputError(s) for a wrong study and for a folder that holds another sweep, Interrupted after
    Ctrl-C.
    """
    workers = workers or Workers()
    plan = make_plan(study, node, workers)
    schema = results_schema(plan.numeric, plan.setup.outputs, plan.metadata())
    store = Store(Path(out or f"sweep-{plan.study.name}"), schema)
    total = len(plan.indices)
    workers.check()
    with locked(store.folder):
        finished = set(store.open(plan.hashes, total, fresh=fresh))
        missing = [number for number in range(total) if number not in finished]
        seconds = 0.0
        if missing or not store.results.exists():
            begin = perf_counter()
            try:
                _run(plan, store, missing, workers, watcher or (lambda *_: None))
                seconds = perf_counter() - begin
                jobs = workers.count(len(missing))
                store.finish({"seconds": seconds, "run_last": len(missing), "jobs": jobs})
            except KeyboardInterrupt:
                kept = len(store.open(plan.hashes, total, fresh=False))
                raise Interrupted(str(store.folder), kept, total) from None
        return SweepResult(
            plan=plan,
            folder=store.folder,
            table=store.load(),
            finished_before=len(finished),
            seconds=seconds,
            set_aside=tuple(store.set_aside),
        )


def _run(
    plan: Plan, store: Store, missing: Sequence[int], workers: Workers, watcher: Watcher
) -> None:
    total, done, failed = len(plan.indices), len(plan.indices) - len(missing), 0
    watcher(done, total, failed)
    numeric = plan.numeric
    work = partial(run_batch, plan.setup, plan.hashes["all"], code_hash(), _timed_row)
    points = _PlannedPoints(plan, missing)
    with closing(in_batches(work, points, workers, len(plan.strategies))) as batches:
        for batch in batches:
            rows = [{**point_row(plan.point(number), numeric), **row} for number, row in batch]
            store.add(rows)
            done += len(rows)
            failed += sum(row["error"] is not None for row in rows)
            watcher(done, total, failed)


class _PlannedPoints(Sequence[tuple[int, Point]]):
    """These *numbers* with their points of *plan*, made when they are asked for."""

    def __init__(self, plan: Plan, numbers: Sequence[int]) -> None:
        self.plan, self.numbers = plan, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [(number, self.plan.point(number)) for number in self.numbers[index]]
        return self.numbers[index], self.plan.point(self.numbers[index])


def _timed_row(runner: PointRunner, point: Point) -> Row:
    """The row of *point*, with the ``seconds`` that it took."""
    begin = perf_counter()
    row = runner.row(point.scenario, point.strategy, point.settings)
    return {**row, "seconds": perf_counter() - begin}
