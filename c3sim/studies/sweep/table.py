"""The table of a study of kind ``sweep``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import MISSING, figures
from c3sim.studies.plain import to_plain
from c3sim.studies.sweep.study import SweepResult

if TYPE_CHECKING:
    from rich.console import RenderableType


def tables(study: SweepResult) -> list[RenderableType]:
    """One table: a row per case and strategy, words on the left, numbers on the right."""
    rows = [to_plain(row) for row in study.rows]
    columns = list(rows[0]) if rows else []
    words = [name for name in columns if any(isinstance(row[name], str) for row in rows)]
    numbers = [name for name in columns if name not in words]
    table = make_table(words, numbers)
    for row in rows:
        texts = (str(row[name]) for name in words)
        add_row(table, *texts, *(_number(row[name]) for name in numbers))
    return [stack(study.title, table, "_s: seconds; _j: joules")]


def _number(value: object) -> str:
    if isinstance(value, int | float):
        return figures(value, 4)
    return MISSING if value is None else str(value)
