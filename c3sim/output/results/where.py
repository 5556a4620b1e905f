"""Rows picked by conditions: ``strategy=sp,conccl``, ``gpu.hbm.bandwidth>=5 TB/s``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from c3sim.errors import InputError
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable
from c3sim.spec.units import parse_quantity

OPTION = "--where"
_CONDITION = re.compile(r"\s*([^=<>!]+?)\s*(!=|<=|>=|=|<|>)\s*(.+?)\s*")
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NEAR = 1e-9  # relative: numbers are compared as they are written


def select(table: ResultTable, conditions: Iterable[str]) -> ResultTable:
    """The rows that meet all *conditions*. Raises InputError: a wrong condition, no row left."""
    for text in conditions:
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise InputError(
                f"{text!r} is not a condition; write COLUMN=VALUE, as in strategy=sp", OPTION
            )
        name, sign, wanted = found.groups()
        column = table.column(name, OPTION)
        test = _test(column, sign, [part.strip() for part in wanted.split(",")])
        rows = [
            row
            for row, value in enumerate(column.values)
            if (sign == "!=" or value is not None) and test(value)
        ]
        if not rows:
            raise InputError(f"{text!r} leaves no points; {column.name} has {_has(column)}", OPTION)
        table = table.keep(rows)
    return table


def _test(column: Column, sign: str, wanted: list[str]) -> Callable[[Any], bool]:
    values: list[Any] = (
        [_value(column, text) for text in wanted] if column.numeric else list(wanted)
    )
    if sign in ("=", "!="):
        return lambda value: any(_equal(value, each) for each in values) == (sign == "=")
    if not column.numeric or len(values) != 1:
        raise InputError(f"{sign} compares one number; {column.name} has {_has(column)}", OPTION)
    return lambda value: _ORDER[sign](value, values[0])


def _value(column: Column, text: str) -> float:
    """A number in SI, or with a unit."""
    try:
        return float(text)
    except ValueError:
        pass
    if text.endswith("%") and column.display().unit == "%":
        return _value(column, text[:-1]) / 100
    if column.unit in ("", "1", "x"):
        raise InputError(f"{text!r} is not a number; {column.name} has {_has(column)}", OPTION)
    try:
        return parse_quantity(text, column.unit)
    except InputError as error:
        raise InputError(f"{column.name}: {error.message}", OPTION) from None


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, int | float) and isinstance(wanted, float):
        return abs(value - wanted) <= _NEAR * max(abs(value), abs(wanted))
    return bool(value == wanted)


def _has(column: Column) -> str:
    """The values of *column* in a few words."""
    values = column.distinct()
    if not values:
        return "no values"
    if column.numeric and len(values) > 6:
        return f"{column.text(values[0])} to {column.text(values[-1])}"
    shown = ", ".join(column.text(value) for value in values[:8])
    return shown + (f" and {len(values) - 8} more" if len(values) > 8 else "")
