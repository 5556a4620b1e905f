"""CSV output of rccl-tests (``-Z csv``), and tables of the text output with commas."""

from __future__ import annotations

import re

from ..collector import Collector
from ..numbers import cells_of
from ..result import Given, ImportResult
from .columns import column_name, place_names, read_table
from .header import read_header
from .run import Run

_NEEDED = {"size", "type"}


def header_line(text: str) -> int:
    """Index of the line that names the columns; -1 when there is none."""
    for index, line in enumerate(text.split("\n")):
        names = {column_name(cell) for cell in line.split(",")} if "," in line else set()
        if names >= _NEEDED and ("time" in names or "time:0" in names):
            return index
    return -1


def read(text: str, given: Given) -> ImportResult:
    """Every row below the line of column names."""
    collector = Collector("nccl-tests CSV", given)
    lines, start = text.split("\n"), header_line(text)
    if start < 0:
        collector.broken(
            "no line of column names; expected size, type, time, algbw, busbw among them", 1
        )
        return collector.result()
    names = [re.sub(r"\s+", " ", cell.strip()) for cell in lines[start].lstrip("# ").split(",")]
    columns = place_names(names)
    run = Run()
    for number, line in enumerate(lines[:start], 1):
        run = read_header(line, number, run)
    rows, numbers = [], []
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = cells_of(line)
        if len(cells) != len(columns):
            cut = "; the line is cut off" if number == len(lines) else ""
            collector.broken(
                f"got {len(cells)} columns; expected {len(columns)}: {','.join(names)}{cut}", number
            )
            continue
        rows.append(dict(zip(columns, (cell.strip() for cell in cells), strict=True)))
        numbers.append(number)
    read_table(rows, collector, given, numbers, run)
    if not rows:
        collector.broken("no rows below the line of column names", start + 1)
    return collector.result()
