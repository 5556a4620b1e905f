"""Default columns of a table of results, and its best points."""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.errors import InputError
from c3sim.experiments.search import pareto_front
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable
from c3sim.spec.reading.paths import is_of_workload

TORNADO = ("parameter", "low", "high", "output", "at_low", "at_high", "base")  # its columns
PREFERRED = ("fraction_of_ideal", "speedup", "wall_s")  # the first that a file has is shown
#: The same along an axis of the hardware, which moves the ideal too: faster links shorten the
#: wall time, and the isolated times that a fraction of ideal is measured by even more.
ALONG_HARDWARE = ("wall_s", *PREFERRED)
SIDE = 100  # values along a side of a heat map


def is_tornado(table: ResultTable) -> bool:
    """True if the table is that of a sensitivity study."""
    return set(TORNADO) <= set(table.columns)


def objectives(table: ResultTable) -> list[Column]:
    """Columns that a search was told to improve."""
    names = table.about.get("objectives") or ()
    return [table.columns[name] for name in names if name in table.columns]


def preferred(table: ResultTable) -> Column:
    """The output to show: times where hardware varies, whose shares have a yardstick that moves.
    Raises InputError where the table has none with numbers.
    """
    outputs = [column for column in table.having("output") if column.numeric]
    if not outputs:
        failed = next((error for error in table.errors if error), None)
        reason = f"every point failed, the first with: {failed}"
        raise InputError(reason if failed else "none has a value here", "outputs")
    wanted = ALONG_HARDWARE if along_hardware(table) else PREFERRED
    known = (table.columns[name] for name in wanted if table.columns.get(name) in outputs)
    return next(known, outputs[0])


def along_hardware(table: ResultTable) -> bool:
    """True if a number of the node varies."""
    axes = (column.name for column in table.varied() if column.role == "axis")
    return any(not is_of_workload(name) for name in axes)


def varied(table: ResultTable, *taken: Column | None) -> list[Column]:
    """Columns that vary and are not *taken*: numbers first, then words, groups last."""
    columns = table.varied([column.name for column in taken if column])
    return sorted(columns, key=lambda column: (column.role == "group", not column.numeric))


def sampled(table: ResultTable) -> bool:
    """True if values were drawn at random: an axis has about as many values as there are points."""
    numeric = [column for column in table.varied() if column.role == "axis" and column.numeric]
    most = max(len(table), SIDE)
    return len(numeric) > 1 and any(2 * len(column.distinct()) > most for column in numeric)


def front(
    xs: Sequence[float | None], ys: Sequence[float | None], *, x_higher: bool, y_higher: bool
) -> list[int]:
    """Positions of the points that no other equals or beats in both values, by ascending x.

    *x_higher*, *y_higher*: whether more is better. Of equal points the first counts.
    """
    costs = [
        None if x is None or y is None else (-x if x_higher else x, -y if y_higher else y)
        for x, y in zip(xs, ys, strict=True)
    ]
    positions = pareto_front(costs)
    return positions[::-1] if x_higher else positions
