"""The table of results as the page's scripts read it, and the points that are simulated again: all
of a small sweep, the best and worst of a large one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.output.page.command import arguments_of
from c3sim.output.page.palette import DIVERGING, RAMP
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable, front, objectives, preferred, sampled, varied

if TYPE_CHECKING:
    import pandas as pd

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
    "queue": "waited in its hardware queue behind a kernel that waits",
    "awaited_tiles": "its workgroups held their places until tiles of other kernels ended",
    "left_over": "interaction of causes: they hide each other, or add up to more than their parts",
}


def page_data(table: ResultTable) -> dict[str, Any]:
    """Everything about the table except runs and commands."""
    return {
        "title": table.name or "results",
        "description": str(table.study.get("description") or ""),
        "node": str(table.about.get("node") or ""),
        "hash": str(table.about.get("hash") or ""),
        "points": table.frame["point"].tolist(),
        "errors": {str(row): error for row, error in table.frame["error"].dropna().items()},
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


def _short(value: float) -> float | int | None:
    if math.isnan(value):
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


ENDS = 5  # best, and worst, of each scenario and strategy


def picked(table: ResultTable, most: int) -> list[int]:
    """Positions of at most *most* points that did not fail.

    First the best and the worst of each scenario and strategy by the preferred output, then the
    Pareto fronts of the objectives (or of time against energy), then points spread evenly over the
    rest.
    """
    ran = table.frame["error"].isna()
    good = table.frame.index[ran].tolist()
    if len(good) <= most:
        return good
    chosen = dict.fromkeys([*_ends(table, ran), *_fronts(table.keep(ran), good)])
    rest = [row for row in good if row not in chosen]
    free = max(most - len(chosen), 0)
    spread = [rest[number * len(rest) // free] for number in range(min(free, len(rest)))]
    return [*chosen, *spread][:most]


def _ends(table: ResultTable, ran: pd.Series[bool]) -> Iterator[int]:
    """The best and the worst of every group, then the second best and worst of every group, ..."""
    output = preferred(table)
    names = [column.name for column in table.having("group")]
    known = table.frame[ran & output.values.notna()]
    lower = output.better == "lower"
    ordered = [
        group[output.name].sort_values(ascending=lower, kind="stable").index.tolist()
        for _, group in known.groupby(names or (lambda _row: ""), sort=False, dropna=False)
    ]
    for place in range(ENDS):
        for rows in ordered:
            if place < len(rows):
                yield rows[place]
                yield rows[-1 - place]


def _fronts(table: ResultTable, rows: Sequence[int]) -> Iterator[int]:
    """Points on a front; *table* holds the points *rows* of the whole table."""
    named = objectives(table) or [
        table.columns[name] for name in ("wall_s", "energy_j") if name in table.columns
    ]
    for x, y in combinations(named, 2):
        yield from (rows[place] for place in front(x, y))
