"""Small multiples: one panel for each value of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    rows: dict[Any, list[int]] = {value: [] for value in values}
    for row, value in enumerate(table.columns[by.name].values):
        if value is not None:
            rows[value].append(row)
    named = by.label if by.numeric else ""
    filled = ((value, found) for value, found in rows.items() if found)
    return [(f"{named} {by.text(value)}".strip(), table.keep(found)) for value, found in filled]


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
