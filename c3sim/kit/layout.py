"""The parts that every terminal table is made of. rich is imported when one is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderResult
    from rich.table import Column, Table

WIDE = 160  # characters of a line that leaves nothing out, in a file
PIPE = 80  # characters of a line in a pipe
NARROW, LINES = 20, 8  # a column narrower than its words, or cells of more lines, are left out


def show(renderable: Any, console: Console | None = None, piped: int = PIPE) -> None:
    """Print *renderable* to *console*, or standard output, whose lines in a pipe have *piped*
    characters unless ``COLUMNS`` says otherwise.
    """
    from rich.console import Console

    fits = console is not None or sys.stdout.isatty() or "COLUMNS" in os.environ
    (console or Console(width=None if fits else piped)).print(renderable)


def make_table(texts: Iterable[str], numbers: Iterable[str]) -> Table:
    """An empty table with left-aligned columns *texts*, then right-aligned columns *numbers*. On
    lines below ``WIDE`` it leaves out last columns, numbers first, and says which.
    """
    from rich import box
    from rich.text import Text

    table = _fitted()(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for header in texts:
        table.add_column(Text(header), overflow="fold")
    for header in numbers:
        table.add_column(Text(header, justify="right"), justify="right", overflow="fold")
    return table


@cache
def _fitted() -> type[Table]:
    """The class of tables that fit their lines."""
    from rich.table import Table
    from rich.text import Text

    class Fitted(Table):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            if options.max_width >= WIDE or not self.columns:
                yield from super().__rich_console__(console, options)
                return
            kept, widths = _fit(self.columns, options.max_width)
            table = Table(box=self.box, padding=self.padding, show_edge=False)
            table.columns = [
                replace(column, width=width) for column, width in zip(kept, widths, strict=True)
            ]
            table.rows = self.rows
            yield table
            if out := [str(each.header).split() for each in self.columns if each not in kept]:
                names = ", ".join(" ".join(words) for words in out)
                more = f"in a wider terminal, by COLUMNS={WIDE} or by --json"
                yield Text(f"left out at {options.max_width} characters: {names}; {more}")

    return Fitted


def _fit(columns: Sequence[Column], room: int) -> tuple[list[Column], list[int]]:
    """The columns that fit *room* characters, in order, and their widths."""
    wide = {id(each): _longest(each, "\n") for each in columns}
    least = {id(each): _least(each, wide[id(each)]) for each in columns}
    least[id(columns[0])] = min(wide[id(columns[0])], room // 2)
    kept = list(columns)
    while len(kept) > 2 and sum(least[id(each)] + 2 for each in kept) - 1 > room:
        right = [each for each in kept[1:] if each.justify == "right"]
        kept.remove((right or kept)[-1])
    widths = [wide[id(each)] for each in kept]
    floors = [least[id(each)] for each in kept]
    while sum(width + 2 for width in widths) - 1 > room and max(widths) > 1:
        most = max(range(len(kept)), key=lambda i: (widths[i] > floors[i], widths[i]))
        widths[most] -= 1
    return kept, widths


def _least(column: Column, wide: int) -> int:
    """Characters that *column*, whose longest line has *wide*, needs at least."""
    if column.justify == "right":
        return min(wide, NARROW)
    return max(min(_longest(column, None), NARROW), wide // LINES)


def _longest(column: Column, sign: str | None) -> int:
    """Characters of the longest line of *column*, or word where *sign* is None."""
    cells = (str(cell) for cell in (column.header, *column.cells))
    return max((len(part) for cell in cells for part in cell.split(sign)), default=1) or 1


def add_row(table: Table, *cells: str) -> None:
    """Add a row of plain texts: brackets in a name are no markup."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells))


def stack(title: str, *parts: Any) -> Group:
    """A bold *title* over *parts*, texts and tables, each from a new line."""
    from rich.console import Group
    from rich.text import Text

    plain = (Text(part) if isinstance(part, str) else part for part in parts)
    return Group(Text(title, style="bold"), *plain)
