"""What a sweep prints: how many points, and of each output the lowest, middle and highest value and
where they are.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from c3sim.input.units import format_si
from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures

if TYPE_CHECKING:
    from c3sim.sweeps.sweep import SweepResult


def sweep_summary(swept: SweepResult) -> dict[str, Any]:
    """The sweep in a few numbers, as plain data."""
    return {
        "study": swept.plan.study.name,
        "node": swept.plan.setup.node.name,
        "results": str(swept.folder / "results.parquet"),
        "points": swept.table.num_rows,
        "failed": swept.failed,
        "left_out": swept.plan.left_out,
        "found_there": swept.finished_before,
        "seconds": swept.seconds,
    }


def sweep_table(swept: SweepResult) -> Any:
    """The sweep for people."""
    rows, plan = swept.table.to_pylist(), swept.plan
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
        add_row(
            table,
            name,
            *(shown(name, value) for value in values),
            place_of(plan, low),
            place_of(plan, high),
        )
    lines = [_count(swept)]
    failed = [row for row in rows if row["error"] is not None]
    if failed:
        lines.append(
            f"{len(failed)} failed; the first, {place_of(plan, failed[0])}: {failed[0]['error']}"
        )
    lines.append(f"results: {swept.folder / 'results.parquet'}")
    return stack(f"{plan.study.name} on {plan.setup.node.name}", table, *lines)


def _count(swept: SweepResult) -> str:
    total, run = swept.table.num_rows, swept.table.num_rows - swept.finished_before
    words = [f"{total} points"]
    if swept.plan.left_out:
        words.append(f"{swept.plan.left_out} left out by constraints")
    if swept.finished_before:
        words.append(
            "all of them were there" if not run else f"{swept.finished_before} of them were there"
        )
    if run and swept.seconds > 0:
        words.append(f"{run} run in {swept.seconds:.1f} s, {run / swept.seconds:.1f} per second")
    return ", ".join(words)


def shown(name: str, value: float) -> str:
    """The value of an output as people write it."""
    if name.endswith("_s"):
        return format_si(value, "s")
    if name.endswith("_j"):
        return format_si(value, "J")
    return figures(value)


def place_of(plan: Any, row: dict[str, Any]) -> str:
    """Which point a row is: what differs among the points."""
    words = [row["scenario"]] if len(plan.scenarios) > 1 else []
    words += [row["strategy"]] if len(plan.strategies) > 1 else []
    for axis in plan.axes:
        if len(axis.values) == 1:
            continue
        value = row[axis.path]
        written = format_si(value, axis.unit) if isinstance(value, float) else str(value)
        words.append(f"{axis.label} {written}")
    return ", ".join(words) or f"point {row['point']}"
