"""The table of ``sweep``: of each output the lowest, median and highest value, and where."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from c3sim.kit.layout import add_row, make_table, stack
from c3sim.kit.text import FRACTION_EXPLAINED, MISSING, OWN_EXPLAINED, figures
from c3sim.spec.reading.paths import is_of_workload
from c3sim.spec.units import format_si

if TYPE_CHECKING:
    from c3sim.experiments.plan import Plan
    from c3sim.experiments.sweep import SweepResult


def sweep_summary(result: SweepResult) -> dict[str, Any]:
    """The sweep in a few numbers, for ``--json``."""
    return {
        "study": result.plan.study.name,
        "node": result.plan.setup.node.name,
        "results": str(result.folder / "results.parquet"),
        "points": result.table.num_rows,
        "failed": result.failed,
        "left_out": result.plan.left_out,
        "found_there": result.finished_before,
        "seconds": result.seconds,
    }


def sweep_table(result: SweepResult) -> Any:
    rows, plan = result.table.to_pylist(), result.plan
    table = make_table(["output"], ["lowest", "median", "highest"])
    for column in ("lowest at", "highest at"):
        table.add_column(column, overflow="fold")
    for name in plan.setup.outputs:
        known = [row for row in rows if row[name] is not None]
        if not known:
            add_row(table, name, *[MISSING] * 5)
            continue
        low, high = min(known, key=lambda row: row[name]), max(known, key=lambda row: row[name])
        values = low[name], median(row[name] for row in known), high[name]
        cells = [shown(name, value) for value in values]
        add_row(table, name, *cells, place_of(plan, low), place_of(plan, high))
    lines = [_count(result)]
    failed = [row for row in rows if row["error"] is not None]
    if failed:
        first = f"{place_of(plan, failed[0])}: {failed[0]['error']}"
        lines.append(f"{len(failed)} failed; the first, {first}")
    said = {"fraction_of_ideal": FRACTION_EXPLAINED, "own_fraction": OWN_EXPLAINED}
    shares = [name for name in plan.setup.outputs if name in said]
    lines += [said[name] for name in shares]
    moved = [a for a in plan.axes if len(a.values) > 1 and not is_of_workload(a.path)]
    lines += [MOVES.format(moved[0].label)] if shares and moved else []
    lines.append(f"results: {result.folder / 'results.parquet'}")
    return stack(f"{plan.study.name} on {plan.setup.node.name}", table, *lines)


MOVES = (
    "{} moves the ideal as well, and with it every fraction of it and speedup: compare wall times"
)


def _count(result: SweepResult) -> str:
    total, run = result.table.num_rows, result.table.num_rows - result.finished_before
    words = [f"{total} points"]
    if result.plan.left_out:
        words.append(f"{result.plan.left_out} left out by constraints")
    if result.finished_before:
        words.append(
            "all of them were there" if not run else f"{result.finished_before} of them were there"
        )
    if run and result.seconds > 0:
        words.append(f"{run} run in {result.seconds:.1f} s, {run / result.seconds:.1f} per second")
    return ", ".join(words)


def shown(name: str, value: float | None) -> str:
    """The value of the output *name*, with its unit."""
    if value is None:
        return MISSING
    if name.endswith("_s") and not name.endswith("_per_s"):
        return format_si(value, "s")
    if name.endswith("_j"):
        return format_si(value, "J")
    return figures(value)


def place_of(plan: Plan, row: dict[str, Any]) -> str:
    """The point of a row, by the values that differ among the points."""
    words = [row["scenario"]] if len(plan.scenarios) > 1 else []
    words += [row["strategy"]] if len(plan.strategies) > 1 else []
    for axis in plan.axes:
        if len(axis.values) == 1:
            continue
        value = row[axis.path]
        written = format_si(value, axis.unit) if isinstance(value, float) else str(value)
        words.append(f"{axis.label} {written}")
    return ", ".join(words) or f"point {row['point']}"
