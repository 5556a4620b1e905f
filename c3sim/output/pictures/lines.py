"""Lines: an output against one axis; a line for each series, a panel for each scenario."""

from __future__ import annotations

from statistics import median_low
from typing import TYPE_CHECKING, Any

from c3sim.kit import look
from c3sim.output.pictures.axes import MARKERS, dress, grid, parts, places, shown, splits
from c3sim.output.pictures.kind import Plan
from c3sim.output.results.table import ResultTable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = ("-", "--", "-.", ":")
SERIES = len(look.PALETTE)  # lines that can be told apart in one panel


def draw_lines(table: ResultTable, plan: Plan) -> tuple[Figure, str]:
    """The figure, and a remark for its subtitle."""
    by = plan.by
    panels = parts(table, splits(table, None, (plan.x.name, by.name if by else "")))
    size = (7.0, 4.2) if len(panels) == 1 else (4.6, 3.1)
    # ratios of different scenarios can be compared, their times hardly
    ratio = plan.y.unit in ("", "1", "x")
    figure, every = grid(len(panels), *size, share=ratio)
    names = by.distinct() if by else [None]
    most = 1
    for axes, (title, part) in zip(every, panels, strict=True):
        look.panel(axes, title, "")
        for number, name in enumerate(names[:SERIES]):
            label = "" if by is None else by.text(name)
            most = max(most, _line(axes, part, plan, name, label, number))
        dress(axes, plan.x, "x")
        dress(axes, plan.y, "y", direction=True)
        if not axes.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            axes.set_ylabel("")
    if by is not None:
        every[0].legend(title=by.label, fontsize=9, title_fontsize=9, framealpha=0.85)
    remarks = [f"lines: median of up to {most} points, shaded: all of them"] if most > 1 else []
    if len(names) > SERIES and by is not None:
        remarks.append(f"the first {SERIES} of {len(names)} values of {by.label}")
    return figure, "; ".join(remarks)


def series_style(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of the series of that number."""
    return {
        "color": look.PALETTE[number % len(look.PALETTE)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number % len(DASHES)],
    }


def _line(axes: Axes, table: ResultTable, plan: Plan, name: Any, label: str, number: int) -> int:
    """Draw one series; return how many points its fullest place has."""
    x, y = plan.x.name, plan.y.name
    rows = series_of(table, plan, name).dropna(subset=[x, y])
    if rows.empty:
        return 0
    held = rows.groupby(rows[x].map(places(plan.x)))[y].agg(["min", median_low, "max", "size"])
    at = held.index
    low, middle, high = (shown(plan.y, held[name]) for name in held.columns[:3])
    style = series_style(number)
    if not plan.x.numeric:
        style |= {"linestyle": "none"}
    size = 0 if len(at) > 40 else 8.5 - 0.7 * number
    axes.plot(at, middle, label=label, markersize=size, linewidth=1.8, **style)
    most = int(held["size"].max())
    if most > 1:
        axes.fill_between(at, low, high, color=style["color"], alpha=0.15, linewidth=0)
    return most


def series_of(table: ResultTable, plan: Plan, name: Any) -> pd.DataFrame:
    """Points of the series *name*, of all where there is but one."""
    return table.frame if plan.by is None else table.frame[table.frame[plan.by.name] == name]
