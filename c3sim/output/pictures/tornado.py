"""A tornado: how far each parameter alone moves an output, from its low to its high value.

A tornado file has a row for each parameter and output: ``parameter, low, high, output, at_low,
at_high, base``. Values are in SI units; the metadata give units and labels as those of a sweep do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.kit import look
from c3sim.kit.text import short
from c3sim.output.pictures.axes import grid
from c3sim.output.results.columns import Column, column_of
from c3sim.output.results.table import ResultTable
from c3sim.spec.units import format_si
from c3sim.spec.words import unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDS = ("at_low", "at_high")
BARS = 20  # parameters shown, those that move the output most
THICK = 0.66  # of a bar, of the distance between two
LOW, HIGH = look.PALETTE[1], look.PALETTE[0]


def draw_tornado(table: ResultTable, output: str | None = None) -> tuple[Figure, str]:
    """One panel of *output*; left out: the first in the file. Raises InputError if unknown."""
    outputs = table.column("output").distinct()
    if output is not None and output not in outputs:
        raise InputError(unknown("output", output, outputs), "--value")
    name = output or outputs[0]
    every = table.frame[table.frame["output"] == name]
    rows: list[dict[Any, Any]] = every.dropna(subset=[*ENDS, "base"]).to_dict("records")
    if not rows:
        message = f"no parameter was varied for {name}; allowed: {', '.join(outputs)}"
        raise InputError(message, "--value")
    rows.sort(key=lambda row: abs(row["at_high"] - row["at_low"]), reverse=True)
    scale = _scale(table, name, rows)
    figure, (axes,) = grid(1, 8.6, 0.36 * min(len(rows), BARS) + 0.9)
    _bars(axes, rows[:BARS], table.about.get("axes") or {}, scale)
    more = f"; the {BARS} of {len(rows)} parameters that move it most" if len(rows) > BARS else ""
    remark = "each bar: one parameter from its low to its high value, all others as they are"
    return figure, remark + more


def _scale(table: ResultTable, name: str, rows: Sequence[Mapping[str, Any]]) -> Column:
    """The output as a column, so that it is shown as everywhere else."""
    import pandas as pd

    given = (table.about.get("outputs") or {}).get(name) or {}
    ends = [row[end] for row in rows for end in (*ENDS, "base")]
    return column_of(name, pd.Series(ends), given)


def _bars(
    axes: Axes, rows: Sequence[Mapping[str, Any]], units: Mapping[str, Any], scale: Column
) -> None:
    factor, base = scale.display().factor, rows[0]["base"]
    ends = [row[end] / factor for row in rows for end in ENDS]
    reach = max(ends) - min(ends) or abs(base / factor) or 1.0
    for place, row in enumerate(rows):
        unit = (units.get(row["parameter"]) or {}).get("unit", "")
        beside = (row["at_low"] - base) * (row["at_high"] - base) > 0  # both to one side
        height = THICK / 2 if beside else THICK
        for side, colour, hatch, up in (("low", LOW, "", -1), ("high", HIGH, "////", 1)):
            length, at = (row[f"at_{side}"] - base) / factor, place + beside * up * height / 2
            label = f"parameter at its {side} value" if place == 0 else None
            style: dict[str, Any] = {"color": colour, "hatch": hatch, "label": label}
            style |= {"edgecolor": "white", "linewidth": 0}
            axes.barh(at, length, height, left=base / factor, **style)
            # an edge at its end, so that the shortest bar is seen
            end = [row[f"at_{side}"] / factor] * 2
            axes.plot(end, [at - height / 2, at + height / 2], color=colour, linewidth=2.0)
        _ends(axes, place, row, unit, factor)
    axes.axvline(base / factor, color=look.INK, linewidth=1.2)
    where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    top = (base / factor, 1.0)
    axes.annotate(f"base {scale.text(base)}", top, (0, 4), ha="center", fontsize=9, **where)
    axes.set_yticks(range(len(rows)), [row["parameter"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    shown = (*ends, base / factor)
    axes.set_xlim(min(shown) - 0.16 * reach, max(shown) + 0.16 * reach)
    axes.set_xlabel(scale.title + (f", {scale.better} is better" if scale.better else ""))
    axes.xaxis.set_major_formatter(lambda value, _: short(round(value, 9)))
    look.only_x_axis(axes)
    axes.tick_params(axis="y", length=0)
    look.grid(axes, "x")
    figure = axes.get_figure()
    assert figure is not None  # it was drawn in one
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)


def _ends(axes: Axes, place: int, row: Mapping[str, Any], unit: str, factor: float) -> None:
    """Write the parameter's values at the ends of its bars; where both point to one side, that of
    the shorter one on the other side of the base.
    """
    low, high, base = row["at_low"], row["at_high"], row["base"]
    beside = (low - base) * (high - base) > 0
    for side, value, other in (("low", low, high), ("high", high, low)):
        left = value < other or (value == other and side == "low")
        inner = beside and abs(value - base) <= abs(other - base) and left == (value > base)
        anchor: dict[str, Any] = {"ha": "right" if left else "left", "va": "center", "fontsize": 8}
        where = ((base if inner else value) / factor, place)
        text, offset = _quantity(row[side], unit), (-4 if left else 4, 0)
        axes.annotate(text, where, offset, textcoords="offset points", **anchor)


def _quantity(value: Any, unit: str) -> str:
    return (
        str(value) if isinstance(value, str) else format_si(value, unit) if unit else short(value)
    )
