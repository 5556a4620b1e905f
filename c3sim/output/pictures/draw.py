"""``c3sim plot``: a result file as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from c3sim.errors import InputError
from c3sim.kit import look
from c3sim.kit.files import AnyPath
from c3sim.output.pictures.axes import HEADER
from c3sim.output.pictures.heatmap import draw_heatmap
from c3sim.output.pictures.kind import Plan, plan_picture
from c3sim.output.pictures.lines import draw_lines
from c3sim.output.pictures.pareto import draw_pareto
from c3sim.output.pictures.tornado import draw_tornado
from c3sim.output.results.table import ResultTable, is_tornado
from c3sim.spec.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAW = {"heatmap": draw_heatmap, "lines": draw_lines, "pareto": draw_pareto}
#: Entry points for pictures in anybody's package: each (table, columns) -> figure, remark.
GROUP = "c3sim.figures"
WORDS = 3  # columns with one value that the subtitle names


def draw_results(
    table: ResultTable,
    path: AnyPath | None = None,
    *,
    kind: str | None = None,
    **columns: str | None,
) -> Figure:
    """The picture of *table*, written to *path* (.png, .svg, .pdf) if given.

    *columns*: names of ``x``, ``y``, ``value`` and ``by``; what is left out is chosen from the
    data. Raises InputError: an unknown kind or column, a kind that the data cannot fill, an unknown
    suffix, a place that cannot be written.
    """
    return look.picture(lambda: _draw(table, kind, columns), path)


def _draw(table: ResultTable, kind: str | None, columns: Mapping[str, str | None]) -> Figure:
    tornado = is_tornado(table)
    if tornado and kind in (None, "tornado"):
        if any(columns.get(option) for option in ("x", "y", "by")):
            raise InputError("a tornado takes --value alone, the output to show", "--kind")
        figure, remark = draw_tornado(table, columns.get("value"))
        title = f"What moves {table.name or 'the result'}"
    elif found := entry_points(group=GROUP, name=kind or ""):
        (own,) = found
        figure, remark = own.load()(table, columns)
        title = table.name or str(kind)
    else:
        plan = plan_picture(table, kind, **columns)
        figure, remark = DRAW[plan.kind](table, plan)
        title = _title(table, plan)
    subtitle = _subtitle(table, points=not tornado)
    _header(figure, title, "; ".join(filter(None, [subtitle, remark])))
    return figure


def _title(table: ResultTable, plan: Plan) -> str:
    output = plan.value or plan.y
    other = f" and {plan.x.label}" if plan.kind == "pareto" else ""
    words = f"{output.label}{other}"
    return f"{table.name}: {words}" if table.name else words[:1].upper() + words[1:]


def _subtitle(table: ResultTable, *, points: bool) -> str:
    """The node, the values that did not vary, the number of points and of failed ones."""
    fixed = [column for column in table.having("group") if len(column.distinct()) == 1]
    parts = [f"on {table.about['node']}"] if table.about.get("node") else []
    parts += [f"{column.label} {column.text(column.distinct()[0])}" for column in fixed[:WORDS]]
    failed = table.frame["error"].count()
    if points:
        parts.append(counted(len(table), "point") + (f", {failed} failed" if failed else ""))
    return ", ".join(parts)


def _header(figure: Figure, title: str, subtitle: str) -> None:
    """Title and subtitle, placed in inches from the top; long ones get smaller type."""
    width, height = figure.get_size_inches()
    size = min(14.0, 14.0 * width / (0.125 * len(title) + 0.4))
    small = min(10.5, 10.5 * width / (0.078 * len(subtitle) + 0.4))
    left = 0.12 / width
    figure.text(left, 1 - 0.36 / height, title, fontsize=size, fontweight="bold")
    figure.text(left, 1 - (HEADER - 0.3) / height, subtitle, fontsize=small)
