"""The table of what sharing costs a whole run: its wall time, exposed communication, classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from c3sim.output.kit.layout import add_row, make_table
from c3sim.output.kit.text import time_unit

if TYPE_CHECKING:
    from rich.table import Table

EXPLAINED = (
    "nothing shared: every task has everything to itself and only waits for others. Each kind of"
    " sharing adds its column.\nwall is the whole run, exposed the time in which communication runs"
    " or is waited for and nothing is computed,\nthe others the time in which an operator class"
    " runs"
)


def parts_lines(parts: Mapping[str, Mapping[str, Any]]) -> tuple[Table, str]:
    """The table of :func:`parts_rows`, and what its columns mean."""
    heads, rows = parts_rows(parts)
    table = make_table(heads[:1], heads[1:])
    for row in rows:
        add_row(table, *row)
    return table, EXPLAINED


def parts_rows(parts: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads, and a row per part, from what it takes where nothing is shared to what it takes.
    Causes that add nothing to any part have no column.
    """
    unit, length = time_unit(max((part["time_s"] for part in parts.values()), default=0.0))
    causes = dict.fromkeys(cause for part in parts.values() for cause in part["causes_s"])
    names = [f"+ {cause.replace('_', ' ')}" for cause in causes]
    heads = ["part", f"nothing shared\n({unit})", *names, f"= together\n({unit})"]
    rows = []
    for name, part in parts.items():
        shares = [part["causes_s"].get(cause, 0.0) / length for cause in causes]
        values = [part["unshared_s"] / length, *shares, part["time_s"] / length]
        rows.append([name, *(f"{value:z.3f}" for value in values)])
    return heads, rows
