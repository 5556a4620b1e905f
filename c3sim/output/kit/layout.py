"""The parts that every terminal table is made of. rich is imported when one is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

WIDE = 160  # characters of a line in a file or pipe


def show(renderable: Any, console: Console | None = None) -> None:
    """Print *renderable* to *console*, or standard output; a file or pipe gets wide lines."""
    from rich.console import Console

    fits = console is not None or sys.stdout.isatty() or "COLUMNS" in os.environ
    (console or Console(width=None if fits else WIDE)).print(renderable)


def make_table(texts: Iterable[str], numbers: Iterable[str]) -> Table:
    """An empty table with left-aligned columns *texts*, then right-aligned columns *numbers*."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for header in texts:
        table.add_column(Text(header), overflow="fold")
    for header in numbers:
        table.add_column(Text(header, justify="right"), justify="right", overflow="fold")
    return table


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
