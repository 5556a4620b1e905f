"""A Pareto picture: every point by two outputs, and the front of the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from c3sim.kit import look
from c3sim.output.pictures.axes import dress, grid, shown
from c3sim.output.pictures.kind import Plan
from c3sim.output.pictures.lines import SERIES, series_of, series_style
from c3sim.output.results.table import ResultTable, front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED_BY = 2  # columns in the name of a point of the front
CHARACTER = 0.062  # inches of a name


def draw_pareto(table: ResultTable, plan: Plan) -> tuple[Figure, str]:
    """The figure, and a remark for its subtitle."""
    figure, (axes,) = grid(1, 8.4, 5.0)
    look.panel(axes, "", "")
    by = plan.by
    names = by.distinct() if by else [None]
    for number, name in enumerate(names):
        _cloud(axes, table, plan, name, number)
    best = _front(axes, plan)
    dress(axes, plan.x, "x", direction=True)
    dress(axes, plan.y, "y", direction=True)
    axes.margins(0.08, 0.12)
    _name(figure, axes, table, plan, best)
    axes.legend(title=by.label if by else None, fontsize=9, title_fontsize=9, framealpha=0.85)
    return figure, f"{len(best)} of {len(table)} points are on the front"


def _cloud(axes: Axes, table: ResultTable, plan: Plan, name: Any, number: int) -> None:
    rows = series_of(table, plan, name)
    style = series_style(number) | {"linestyle": "none"}
    where = (shown(c, rows[c.name]) for c in (plan.x, plan.y))
    label = "points" if plan.by is None else plan.by.text(name)
    if number >= SERIES:
        label = ""  # its colour is that of another one
    axes.plot(*where, label=label or "_", markersize=5.5, alpha=0.75, markeredgewidth=0, **style)


def _front(axes: Axes, plan: Plan) -> list[int]:
    """Draw the front as steps through its points, each with a ring; return the points."""
    best = front(plan.x, plan.y)
    at = [shown(c, c.values[best]) for c in (plan.x, plan.y)]
    steps = "steps-pre" if plan.x.better == "higher" else "steps-post"
    axes.plot(*at, color=look.INK, linewidth=1.2, drawstyle=steps, zorder=1.9, label="Pareto front")
    axes.plot(*at, "o", markersize=9.5, mfc="none", mec=look.INK, mew=1.1)
    return best


def _name(figure: Figure, axes: Axes, table: ResultTable, plan: Plan, best: list[int]) -> None:
    """Write the values of its columns beside the ends and the knee of the front."""
    by = plan.by.name if plan.by else ""
    columns = [column for column in table.varied() if column.name != by][:NAMED_BY]
    figure.draw_without_rendering()
    places = list(zip(*(shown(c, c.values[best]) for c in (plan.x, plan.y)), strict=True))
    spots = [tuple(axes.transData.transform(place)) for place in places]
    for number in sorted({0, knee(spots), len(best) - 1} if best else ()):
        row, where, x = best[number], places[number], spots[number][0]
        text = "\n".join(f"{column.label} {column.text(column.values[row])}" for column in columns)
        # beyond the front, where no point lies, or the other way where that has no room
        width = CHARACTER * max(map(len, text.splitlines())) * figure.dpi
        left, up = plan.x.better != "higher", plan.y.better == "higher"
        if (x - axes.bbox.x0 if left else axes.bbox.x1 - x) < width:
            left, up = not left, not up
        offset = (-9 if left else 9, 4 if up else -4)
        style: dict[str, Any] = {"color": "#444444", "ha": "right" if left else "left", "zorder": 5}
        style["va"] = "bottom" if up else "top"
        style["bbox"] = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1.0}
        axes.annotate(text, where, offset, textcoords="offset points", fontsize=8, **style)


def knee(spots: Sequence[tuple[float, float]]) -> int:
    """Index of the point of a front furthest from the line between its ends; 0 of one or two."""
    (x0, y0), (x1, y1) = spots[0], spots[-1]

    def apart(number: int) -> float:
        x, y = spots[number]
        return abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0))

    return max(range(len(spots)), key=apart) if len(spots) > 2 else 0
