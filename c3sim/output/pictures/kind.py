"""Which kind of picture suits a table of results, and what goes on its axes."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable

KINDS = ("heatmap", "pareto", "lines", "tornado")
#: What is shown when nothing is asked for: the first of these that the file has.
PREFERRED = ("fraction_of_ideal", "speedup", "wall_s")
#: The same for a Pareto picture, which needs two.
TRADED = ("fraction_of_ideal", "energy_j", "speedup", "wall_s")


SIDE = 100  # values along a side of a heat map


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """*x* and *y* of the picture; *value*: the colour of a heat map; *by*: what tells series, or
    panels, apart.
    """

    kind: str
    x: Column
    y: Column
    value: Column | None = None
    by: Column | None = None


def plan(
    table: ResultTable,
    kind: str | None = None,
    x: str | None = None,
    y: str | None = None,
    value: str | None = None,
    by: str | None = None,
) -> Plan:
    """What to draw. Left out, *kind* follows from the axes that vary, one: lines, two or more: a
    heat map, unless the columns asked for, the study's objectives or values drawn at random say
    otherwise. Raises InputError for what does not fit together.
    """
    asked = {"x": x, "y": y, "value": value, "by": by}
    given = {name: table.column(name, f"--{option}") for option, name in asked.items() if name}
    group = given.get(by) if by else None
    if kind is None:
        kind = _kind(table, given.get(x or ""), given.get(y or ""), value)
    elif kind not in KINDS:
        raise InputError(unknown("kind", kind, KINDS), "--kind")
    if kind == "tornado":
        raise InputError(
            "a tornado needs a file of 'c3sim sensitivity'; this one has points", "--kind"
        )
    if value and kind != "heatmap":
        raise InputError(f"{kind} has no value; only a heat map has, name it with --y", "--value")
    if kind == "heatmap":
        return _heatmap(
            table, given.get(x or ""), given.get(y or ""), given.get(value or ""), group
        )
    if kind == "pareto":
        return _pareto(table, given.get(x or ""), given.get(y or ""), group)
    return _lines(table, given.get(x or ""), given.get(y or ""), group)


def objectives(table: ResultTable) -> list[Column]:
    """Columns that a search was told to improve."""
    return [
        table.columns[name] for name in table.about.get("objectives") or () if name in table.columns
    ]


def preferred(table: ResultTable) -> Column:
    """The output to show. Raises InputError where the table has none with numbers."""
    outputs = [column for column in table.having("output") if column.numeric]
    if not outputs:
        failed = next((error for error in table.errors if error), None)
        raise InputError(
            f"every point failed, the first with: {failed}"
            if failed
            else "no output has any value here"
        )
    return next(
        (table.columns[name] for name in PREFERRED if table.columns.get(name) in outputs),
        outputs[0],
    )


def _kind(table: ResultTable, x: Column | None, y: Column | None, value: str | None) -> str:
    if value:
        return "heatmap"
    if x and x.role == "output":
        return "pareto"
    if y:
        return "lines" if y.role == "output" else "heatmap"
    if x:
        return "lines"
    if len(objectives(table)) > 1:
        return "pareto"
    if sampled(table):
        return "pareto"
    numeric = [column for column in table.varied() if column.role == "axis"]
    return "heatmap" if len(numeric) > 1 else "lines"


def sampled(table: ResultTable) -> bool:
    """Whether values were drawn at random rather than crossed: an axis with almost as many values
    as there are points.
    """
    numeric = [column for column in table.varied() if column.role == "axis" and column.numeric]
    return len(numeric) > 1 and any(
        2 * len(column.distinct()) > max(len(table), SIDE) for column in numeric
    )


def _free(table: ResultTable, *taken: Column | None) -> list[Column]:
    """Columns that vary and stand nowhere yet: numbers first, then words, groups last."""
    varied = table.varied([column.name for column in taken if column])
    return sorted(varied, key=lambda column: (column.role == "group", not column.numeric))


def _heatmap(
    table: ResultTable, x: Column | None, y: Column | None, value: Column | None, by: Column | None
) -> Plan:
    for column, option in ((x, "--x"), (y, "--y")):
        if column and column.role == "output":
            raise InputError(
                f"{column.name} is an output; the sides of a heat map are axes", option
            )
    free = _free(table, x, y, by)
    while (x is None or y is None) and free:
        x, y = (free.pop(0), y) if x is None else (x, free.pop(0))
    for column, option in ((x, "--x"), (y, "--y")):
        if column and len(column.distinct()) > SIDE:
            text = f"{column.name} has {len(column.distinct())} values; a side of a heat map has at most {SIDE}"
            raise InputError(text, option)
    if x is None or y is None:
        raise InputError("a heat map needs two axes that vary; draw lines", "--kind")
    return Plan(
        kind="heatmap",
        x=x,
        y=y,
        value=_output(table, value, "--value"),
        by=by or _series(table, x, y),
    )


def _pareto(table: ResultTable, x: Column | None, y: Column | None, by: Column | None) -> Plan:
    for column, option in ((x, "--x"), (y, "--y")):
        if column:
            _output(table, column, option)
    taken = {column.name for column in (x, y) if column}
    known = [table.columns[name] for name in TRADED if name in table.columns]
    every = [
        *objectives(table),
        *known,
        *(column for column in table.having("output") if column.better),
    ]
    free = [column for column in every if column.numeric and column.name not in taken]
    if y is None and free:  # what is to be kept low goes along x
        y = next((column for column in free[:2] if column.better == "higher"), free[0])
    if x is None:
        x = next((column for column in free if y and column.name != y.name), None)
    if x is None or y is None:
        raise InputError("a Pareto picture needs two outputs; name them with --x and --y", "--kind")
    return Plan(kind="pareto", x=x, y=y, by=by or _series(table))


def _lines(table: ResultTable, x: Column | None, y: Column | None, by: Column | None) -> Plan:
    free = _free(table, y, by)
    x = x or (free[0] if free else None)
    if x is None:
        raise InputError(
            "nothing varies here; lines need an axis with two values or more", "--kind"
        )
    return Plan(
        kind="lines", x=x, y=_output(table, y, "--y"), by=by or _series(table, x, several=True)
    )


def _output(table: ResultTable, column: Column | None, option: str) -> Column:
    if column is None:
        return preferred(table)
    if column.role != "output" or not column.numeric:
        names = ", ".join(each.name for each in table.having("output") if each.numeric)
        raise InputError(f"{column.name} is no output with numbers; allowed: {names}", option)
    return column


def _series(table: ResultTable, *taken: Column, several: bool = False) -> Column | None:
    """What tells series apart: the strategy where it varies, else the scenario, else (for lines) a
    further axis.
    """
    free = _free(table, *taken)
    groups = [column for name in ("strategy", "scenario") for column in free if column.name == name]
    return next(iter([*groups, *(free if several else ())]), None)
