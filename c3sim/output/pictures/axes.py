"""Ticks, scale and label of an axis that shows a column; one panel for each value of a column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.kit.text import short
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 9  # values that are all written at an axis
DECADE = 10.0  # the least span of a logarithmic axis; a shorter one would have no tick to label
# Series differ in marker and dashes too, not in colour alone.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def shown(column: Column, values: Iterable[float]) -> list[float]:
    """*values* in the unit that the column is shown in."""
    factor = column.display().factor
    return [value / factor for value in values]


def places(column: Column) -> dict[Any, float]:
    """The place of each value on an axis: a number's own value, as shown; words in their order."""
    values = column.distinct()
    at = shown(column, values) if column.numeric else range(len(values))
    return dict(zip(values, at, strict=True))


def dress(axes: Axes, column: Column, side: str, *, direction: bool = False) -> None:
    """Label the *side* ("x" or "y") that shows *column*; *direction*: say which way is better."""
    from matplotlib import ticker

    axis: Any = axes.xaxis if side == "x" else axes.yaxis
    better = f"\n{column.better} is better" if direction and column.better else ""
    axis.set_label_text(column.title + better)
    if not column.numeric:
        words = column.distinct()
        axis.set_ticks(range(len(words)), words)
        (axes.set_xlim if side == "x" else axes.set_ylim)(-0.5, len(words) - 0.5)
        if side == "x" and sum(map(len, words)) > 50:
            axes.tick_params(axis="x", labelrotation=30)
            for label in axes.get_xticklabels():
                label.set_horizontalalignment("right")
        return
    values = shown(column, column.distinct())
    few = column.role == "axis" and len(values) <= FEW
    low, high = axis.get_data_interval()
    log = column.display().log and (few or high >= DECADE * low)
    if log:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    if few:
        axis.set_major_locator(ticker.FixedLocator(_apart(values, log)))
        axis.set_minor_locator(ticker.NullLocator())
    elif log:  # over two decades the powers of ten are enough
        subs = (1.0,) if high >= DECADE**2 * low else (1.0, 2.0, 5.0)
        axis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(ticker.NullFormatter())


def _apart(values: Sequence[float], log: bool) -> list[float]:
    """Ascending *values* whose labels do not overlap the label before."""
    at = [math.log(value) for value in values] if log else list(values)
    gap = 0.05 * (at[-1] - at[0])
    kept = [0]
    for number in range(1, len(at)):
        if at[number] - at[kept[-1]] >= gap:
            kept.append(number)
    return [values[number] for number in kept]


MOST = 12  # panels that can still be read
HEADER = 0.95  # inches above the panels, for title and subtitle


def splits(table: ResultTable, by: Column | None, taken: Sequence[str]) -> list[Column]:
    """*by*, and other columns that vary and are not *taken*, groups first, up to MOST panels."""
    chosen = [by] if by else []
    free = table.varied((*taken, by.name if by else ""))
    for column in sorted(free, key=lambda column: column.role != "group"):
        if math.prod(len(each.distinct()) for each in (*chosen, column)) <= MOST:
            chosen.append(column)
    return chosen


def parts(table: ResultTable, split: Sequence[Column]) -> list[tuple[str, ResultTable]]:
    """The table cut by the values of *split*, each part with its title. Raises InputError."""
    if not split:
        return [("", table)]
    cut = []
    for title, part in _cut(table, split[0]):
        for more, inner in parts(part, split[1:]):
            cut.append((", ".join(filter(None, (title, more))), inner))
    return cut


def _cut(table: ResultTable, by: Column) -> list[tuple[str, ResultTable]]:
    values = by.distinct()
    if len(values) > MOST:
        message = f"{by.name} has {len(values)} values, a picture at most {MOST} panels"
        raise InputError(f"{message}; pick some with --where", "--by")
    named = by.label if by.numeric else ""
    cut = [(value, table.keep(table.frame[by.name] == value)) for value in values]
    return [(f"{named} {by.text(value)}".strip(), part) for value, part in cut if len(part)]


def grid(
    count: int, width: float, height: float, *, share: bool = False
) -> tuple[Figure, Sequence[Axes]]:
    """A figure of *count* panels of that size [inches], at most four side by side.

    *share*: one y scale for all.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = 1 if count == 1 else 2 if count in (2, 4) else 3 if count < 10 else 4
    rows = -(-count // columns)
    size = (max(columns * width, 6.4), rows * height + HEADER)
    below_header = (0.005, 0.005, 0.99, 1 - HEADER / size[1])
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(rect=below_header))
    every = figure.subplots(rows, columns, squeeze=False, sharey=share).flatten()
    for spare in every[count:]:
        spare.set_visible(False)
    return figure, list(every[:count])
