"""A sweep from its study to its folder of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from c3sim.errors import C3simError, InputError
from c3sim.specs.hardware import Node
from c3sim.sweeps.executor import Workers, in_batches
from c3sim.sweeps.identity import code_hash
from c3sim.sweeps.plan import Plan, Point, make_plan, point_row
from c3sim.sweeps.points import Cases, Setup
from c3sim.sweeps.store import Store, locked, missing, results_schema

if TYPE_CHECKING:
    import pyarrow as pa

Watcher = Callable[[int, int, int], None]  # points done, of how many, failed


class Interrupted(C3simError):
    """A sweep was interrupted: *folder*, points *done*, of *total*."""

    def __init__(self, folder: str, done: int, total: int):
        super().__init__(folder, done, total)
        self.folder, self.done, self.total = folder, done, total

    def __str__(self) -> str:
        return f"interrupted; {self.done} of {self.total} points are kept in {self.folder}, the same command goes on from there"


@dataclass(frozen=True, kw_only=True)
class Swept:
    """A complete sweep: its *plan* and *folder*, the *table* of results, points *found* there at
    the start, seconds spent.
    """

    plan: Plan
    folder: Path
    table: pa.Table
    found: int
    seconds: float

    @property
    def failed(self) -> int:
        """Points that have an error instead of outputs."""
        rows, good = int(self.table.num_rows), int(self.table.column("error").null_count)
        return rows - good


def sweep(
    study: str | Path,
    out: str | Path | None = None,
    *,
    node: Node | None = None,
    workers: Workers | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> Swept:
    """Run every point of *study* that is not in the folder *out* yet (left out: ``sweep-NAME``).

    *node* replaces the study's; *fresh* starts over; *watcher* is told how far it is. Raises
    InputError or InputErrors for a wrong study and for a folder that holds another sweep,
    Interrupted after Ctrl-C.
    """
    plan = make_plan(study, node)
    store = Store(Path(out or f"sweep-{plan.study.name}"), schema_of(plan))
    total = len(plan.indices)
    chosen = workers or Workers()
    chosen.check()
    with locked(store.folder):
        finished = store.open(plan.hashes, total, fresh=fresh)
        todo = missing(total, finished)
        if not todo and store.results.exists():
            return Swept(
                plan=plan, folder=store.folder, table=store.load(), found=total, seconds=0.0
            )
        begin = perf_counter()
        try:
            _run(plan, store, todo, chosen, watcher)
        except KeyboardInterrupt:
            kept = len(store.open(plan.hashes, total, fresh=False))
            raise Interrupted(str(store.folder), kept, total) from None
        seconds = perf_counter() - begin
        table = store.finish(
            {"seconds": seconds, "run_last": len(todo), "jobs": chosen.count(len(todo))}
        )
    return Swept(plan=plan, folder=store.folder, table=table, found=len(finished), seconds=seconds)


def schema_of(plan: Plan) -> pa.Schema:
    """Columns of the plan's results, with what the file says about itself."""
    return results_schema(numeric_axes(plan), plan.setup.outputs, plan.metadata())


def numeric_axes(plan: Plan) -> dict[str, bool]:
    """Path of each axis -> whether its column holds numbers."""
    return {axis.path: axis.numeric for axis in plan.axes}


def _run(
    plan: Plan, store: Store, todo: Sequence[int], workers: Workers, watcher: Watcher | None
) -> None:
    total, done, failed = len(plan.indices), len(plan.indices) - len(todo), 0
    tell = watcher or (lambda *_: None)
    tell(done, total, failed)
    numeric = numeric_axes(plan)
    work = partial(run_points, plan.setup, plan.hashes["all"], code_hash())
    with closing(in_batches(work, Points(plan, todo), workers, len(plan.strategies))) as batches:
        for found in batches:
            rows = [{**point_row(plan.point(number), numeric), **row} for number, row in found]
            store.add(rows)
            done += len(rows)
            failed += sum(row["error"] is not None for row in rows)
            tell(done, total, failed)


class Points(Sequence[Point]):
    """The points of *plan* with these *numbers*, made when they are asked for."""

    def __init__(self, plan: Plan, numbers: Sequence[int]) -> None:
        self.plan, self.numbers = plan, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.plan.point(number) for number in self.numbers[index]]
        return self.plan.point(self.numbers[index])


_cases: dict[str, Cases] = {}  # of what this process works on


def cases_of(setup: Setup, name: str, code: str) -> Cases:
    """Those of *name* in this process, so that its batches share what they build. Raises InputError
    for other code.
    """
    if code != code_hash():
        here = code_hash()
        message = f"a worker has another version of the code of c3sim ({here} there, {code} here); install the same"
        raise InputError(message)
    cases = _cases.get(name)
    if cases is None:
        _cases.clear()
        cases = _cases[name] = Cases(setup)
    return cases


def run_points(
    setup: Setup, name: str, code: str, points: Sequence[Point]
) -> list[tuple[int, dict[str, Any]]]:
    """Rows of *points* by number, with the seconds each took; *name* tells sweeps apart, *code* is
    that of who asks.
    """
    cases = cases_of(setup, name, code)
    rows = []
    for point in points:
        begin = perf_counter()
        row = cases.row(point.scenario, point.strategy, point.settings)
        rows.append((point.number, {**row, "seconds": perf_counter() - begin}))
    return rows
