"""The table of results as the page's scripts read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from c3sim.errors import InputError
from c3sim.output.page.command import arguments_of
from c3sim.output.page.palette import DIVERGING, RAMP
from c3sim.output.results.choice import objectives, preferred, sampled, varied
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable

FIGURES = 6  # significant figures of an output
#: Cause of an explanation -> what it means.
CAUSES = {
    "order": "waited for room: launch order and queueing before its first workgroup",
    "compute_units": "fewer compute units than alone",
    "cache": "fewer cache hits",
    "hbm": "shared HBM bandwidth",
    "links": "shared links",
    "dma": "shared DMA engines",
    "clock": "a lower clock, from shared power",
    "host": "a host thread busy with other launches",
    "store_queues": "memory requests behind unfinished stores to peers",
    "posts": "packets that workgroups post for engines",
    "ranks": "ranks that begin by themselves, not in step",
    "dependencies": "waited for tasks it depends on",
    "left_over": "interaction of causes: they hide each other, or add up to more than their parts",
}


def page_data(table: ResultTable) -> dict[str, Any]:
    """Everything about the table except runs and commands."""
    return {
        "title": table.name or "results",
        "description": str(table.study.get("description") or ""),
        "node": str(table.about.get("node") or ""),
        "hash": str(table.about.get("hash") or ""),
        "points": list(table.points),
        "errors": {str(row): error for row, error in enumerate(table.errors) if error},
        "columns": [_column(column) for column in table.columns.values()],
        "start": _start(table),
        "causes": CAUSES,
        "ramp": RAMP,
        "diverging": DIVERGING,
    }


def _column(column: Column) -> dict[str, Any]:
    display = column.display()
    data: dict[str, Any] = {
        "name": column.name,
        "label": column.label,
        "role": column.role,
        "unit": display.unit,
        "factor": display.factor,
        "log": display.log,
        "better": column.better,
        "numeric": column.numeric,
        "middle": column.middle,
    }
    if column.role == "output" and column.numeric:
        return {**data, "numbers": [_short(value) for value in column.values]}
    values = column.distinct()
    place = {value: number for number, value in enumerate(values)}
    data |= {"values": values, "codes": [place.get(value, -1) for value in column.values]}
    if column.role == "axis":
        data["arguments"] = arguments_of(column)
    return data


def _short(value: Any) -> float | int | None:
    if value is None:
        return None
    short = float(f"{value:.{FIGURES}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _start(table: ResultTable) -> dict[str, Any]:
    """Initial state of each view; a view without data is left out."""
    try:
        output = preferred(table).name
    except InputError:  # every point failed
        return {"view": "scatter", "views": {}}
    columns = varied(table)
    axes = [column.name for column in columns]
    numeric = [column.name for column in columns if column.numeric]
    series = next(
        (name for name in ("strategy", "scenario") if name in axes), axes[-1] if axes else output
    )
    goals = [column.name for column in objectives(table)]
    scatter = {"x": axes[0] if axes else output, "y": output, "colour": series}
    views = {"scatter": scatter}
    if len(goals) > 1:
        upward = next(
            (name for name in goals[:2] if table.columns[name].better == "higher"), goals[1]
        )
        # a cost goes along x
        scatter |= {"x": next(name for name in goals if name != upward), "y": upward}
    if numeric:
        views["lines"] = {"x": numeric[0], "y": output, "colour": series}
    if len(axes) > 1:
        views["heatmap"] = {"x": axes[0], "y": _second(axes, series), "colour": output}
    view = "lines" if len(numeric) == 1 else "heatmap"
    if len(goals) > 1 or not numeric or sampled(table):
        view = "scatter"
    return {"view": view, "views": views, "output": output}


def _second(axes: Sequence[str], series: str) -> str:
    """The side of a heat map: another axis rather than the strategies, where there is one."""
    return next((name for name in axes[1:] if name != series), axes[1])
