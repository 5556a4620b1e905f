"""The kind of picture that suits a table of results, and its axes."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.output.results.columns import Column
from c3sim.output.results.table import SIDE, ResultTable, objectives, preferred, sampled, varied
from c3sim.spec.words import unknown

KINDS = ("heatmap", "pareto", "lines", "tornado")
#: Outputs that a Pareto picture shows when nothing is asked for: the first two that a file has.
TRADED = ("fraction_of_ideal", "energy_j", "speedup", "wall_s")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """*x*, *y*; *value*: the colour of a heat map; *by*: tells series or panels apart."""

    kind: str
    x: Column
    y: Column
    value: Column | None = None
    by: Column | None = None


def plan_picture(
    table: ResultTable,
    kind: str | None = None,
    x: str | None = None,
    y: str | None = None,
    value: str | None = None,
    by: str | None = None,
) -> Plan:
    """Plan of the picture of *table*. Raises InputError for columns that do not suit the kind.

    Left out, *kind* follows from the columns asked for, the study's objectives, and the axes that
    vary: lines for one, a heat map for more, a Pareto picture for values drawn at random.
    """
    asked = {"x": x, "y": y, "value": value, "by": by}
    columns = {key: table.column(name, f"--{key}") if name else None for key, name in asked.items()}
    if kind is None:
        kind = _kind(table, columns["x"], columns["y"], columns["value"])
    elif kind not in KINDS:
        raise InputError(unknown("kind", kind, KINDS), "--kind")
    if kind == "tornado":
        message = "a tornado needs a file of 'c3sim sensitivity'; this one has points"
        raise InputError(message, "--kind")
    if kind == "heatmap":
        return _heatmap(table, **columns)
    if value:
        raise InputError(f"{kind} has no value; only a heat map has, name it with --y", "--value")
    del columns["value"]
    return _pareto(table, **columns) if kind == "pareto" else _lines(table, **columns)


def _kind(table: ResultTable, x: Column | None, y: Column | None, value: Column | None) -> str:
    if value:
        return "heatmap"
    if x and x.role == "output":
        return "pareto"
    if y:
        return "lines" if y.role == "output" else "heatmap"
    if x:
        return "lines"
    if len(objectives(table)) > 1 or sampled(table):
        return "pareto"
    axes = [column for column in table.varied() if column.role == "axis"]
    return "heatmap" if len(axes) > 1 else "lines"


def _heatmap(
    table: ResultTable, x: Column | None, y: Column | None, value: Column | None, by: Column | None
) -> Plan:
    for column, option in ((x, "--x"), (y, "--y")):
        if column and column.role == "output":
            message = f"{column.name} is an output; the sides of a heat map are axes"
            raise InputError(message, option)
    free = varied(table, x, y, by)
    while (x is None or y is None) and free:
        x, y = (free.pop(0), y) if x is None else (x, free.pop(0))
    for column, option in ((x, "--x"), (y, "--y")):
        if column and len(column.distinct()) > SIDE:
            count = len(column.distinct())
            message = f"{column.name} has {count} values; a side of a heat map has at most {SIDE}"
            raise InputError(message, option)
    if x is None or y is None:
        raise InputError("a heat map needs two axes that vary; draw lines", "--kind")
    shown = _output(table, value, "--value")
    return Plan(kind="heatmap", x=x, y=y, value=shown, by=by or _series(table, x, y))


def _pareto(table: ResultTable, x: Column | None, y: Column | None, by: Column | None) -> Plan:
    for column, option in ((x, "--x"), (y, "--y")):
        if column:
            _output(table, column, option)
    taken = {column.name for column in (x, y) if column}
    known = [table.columns[name] for name in TRADED if name in table.columns]
    judged = [column for column in table.having("output") if column.better]
    every = [*objectives(table), *known, *judged]
    free = [column for column in every if column.numeric and column.name not in taken]
    if y is None and free:  # what is to be kept low goes along x
        y = next((column for column in free[:2] if column.better == "higher"), free[0])
    if x is None:
        x = next((column for column in free if y and column.name != y.name), None)
    if x is None or y is None:
        raise InputError("a Pareto picture needs two outputs; name them with --x and --y", "--kind")
    return Plan(kind="pareto", x=x, y=y, by=by or _series(table))


def _lines(table: ResultTable, x: Column | None, y: Column | None, by: Column | None) -> Plan:
    free = varied(table, y, by)
    x = x or (free[0] if free else None)
    if x is None:
        message = "nothing varies here; lines need an axis with two values or more"
        raise InputError(message, "--kind")
    series = by or _series(table, x, several=True)
    return Plan(kind="lines", x=x, y=_output(table, y, "--y"), by=series)


def _output(table: ResultTable, column: Column | None, option: str) -> Column:
    if column is None:
        return preferred(table)
    if column.role != "output" or not column.numeric:
        names = ", ".join(each.name for each in table.having("output") if each.numeric)
        raise InputError(f"{column.name} is no output with numbers; allowed: {names}", option)
    return column


def _series(table: ResultTable, *taken: Column, several: bool = False) -> Column | None:
    """Column that separates series: the strategy, else the scenario, else (*several*) another
    axis.
    """
    free = varied(table, *taken)
    groups = [column for name in ("strategy", "scenario") for column in free if column.name == name]
    return next(iter([*groups, *(free if several else ())]), None)
