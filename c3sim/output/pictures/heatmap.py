"""A heat map: two axes of a sweep, one output as colour and as a number in each cell."""

from __future__ import annotations

from statistics import median_low
from typing import TYPE_CHECKING, Any

from c3sim.kit import look
from c3sim.kit.text import short
from c3sim.output.pictures.axes import dress, grid, parts, splits
from c3sim.output.pictures.kind import Plan
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = "cividis"  # made to look alike to readers with and without colour-blindness
DIVERGING = "PuOr"  # the same, of values on both sides of a middle
NUMBERED = 15  # cells along a side up to which each shows its number
FAILED = "x"


def draw_heatmap(table: ResultTable, plan: Plan) -> tuple[Figure, str]:
    """The figure, and a remark for its subtitle."""
    assert plan.value is not None
    panels = parts(table, splits(table, plan.by, (plan.x.name, plan.y.name)))
    columns, rows = len(plan.x.distinct()), len(plan.y.distinct())
    width = min(max(0.62 * columns, 3.4), 9.0) + 1.2
    figure, every = grid(len(panels), width, min(max(0.42 * rows, 2.2), 7.0) + 0.9)
    values = [each / plan.value.display().factor for each in plan.value.distinct()]
    limits: dict[str, Any] = {"vmin": values[0], "vmax": values[-1], "cmap": COLOURS}
    if plan.value.diverges():  # as far to either side, so that the middle of both is one
        middle = plan.value.middle / plan.value.display().factor
        reach = max(middle - values[0], values[-1] - middle)
        limits = {"vmin": middle - reach, "vmax": middle + reach, "cmap": DIVERGING}
    image, most = None, 1
    for axes, (title, part) in zip(every, panels, strict=True):
        image, held = _panel(axes, part, plan, limits)
        most = max(most, held)
        look.panel_title(axes, title)
    for axes in every[1:]:
        if not axes.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            axes.set_ylabel("")
    assert image is not None  # there is a panel at least
    figure.colorbar(image, ax=list(every), label=plan.value.title, fraction=0.05, pad=0.02)
    return figure, f"each cell: the median of up to {most} points that share it" if most > 1 else ""


def _panel(axes: Axes, table: ResultTable, plan: Plan, limits: dict[str, Any]) -> tuple[Any, int]:
    """Draw one heat map; return it, and how many points its fullest cell has."""
    assert plan.value is not None
    along, up = ({value: n for n, value in enumerate(c.distinct())} for c in (plan.x, plan.y))
    cells = table.frame.groupby([plan.y.name, plan.x.name], sort=False)[plan.value.name]
    factor = plan.value.display().factor
    colours = [[float("nan")] * len(along) for _ in up]
    numbered = len(along) <= NUMBERED and len(up) <= NUMBERED
    for (y, x), held in cells:
        row, column, found = up[y], along[x], held.dropna()
        if len(found):
            colours[row][column] = median_low(found) / factor
        if numbered or found.empty:
            _write(axes, column, row, colours[row][column] if len(found) else None, limits)
    image = axes.imshow(colours, aspect="auto", origin="lower", **limits)
    axes.spines[:].set_visible(False)
    for column_, side in ((plan.x, "x"), (plan.y, "y")):
        _ticks(axes, column_, side)
    return image, int(cells.size().max())


def _write(axes: Axes, column: int, row: int, value: float | None, limits: dict[str, Any]) -> None:
    """Write the number of a cell in a legible colour, or a cross where the point failed."""
    share = (
        0.0 if value is None else (value - limits["vmin"]) / (limits["vmax"] - limits["vmin"] or 1)
    )
    dark = value is not None and (
        share < 0.5 if limits["cmap"] == COLOURS else abs(share - 0.5) > 0.3
    )
    text = FAILED if value is None else short(float(f"{value:.3g}"))
    colour = "white" if dark else look.INK
    axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)


def _ticks(axes: Axes, column: Column, side: str) -> None:
    """Label the cells, which are equally wide, with their values."""
    values = column.distinct()
    if not column.numeric:
        dress(axes, column, side)
    else:
        step = -(-len(values) // 16)
        axis: Any = axes.xaxis if side == "x" else axes.yaxis
        texts = [short(value / column.display().factor) for value in values]
        axis.set_ticks(range(0, len(values), step), texts[::step])
        axis.set_label_text(column.title)
    axes.tick_params(length=0)
