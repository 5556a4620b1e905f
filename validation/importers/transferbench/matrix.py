"""The summary matrix of preset a2a, for output (CSV) that does not list the transfers."""

from __future__ import annotations

import re

from ..collector import Collector
from .copies import Transfer, add_test
from .log import DEVICE, Log, cells, rate

_TITLE = re.compile(r"GPU-(\w+) All-To-All benchmark")
_BYTES = re.compile(r"Copying (\d+) bytes .*using (\d+) CUs")
_ROW = re.compile(r"\s*GPU\s*(\d+)\s*[,\s]\s*(.*)$")


def read_matrix(log: Log, collector: Collector) -> int:
    """1 when the matrix is there, else 0."""
    text = "\n".join(log.lines)
    title, copied = _TITLE.search(text), _BYTES.search(text)
    start = next((i for i, line in enumerate(log.lines) if line.strip().startswith(r"SRC\DST")), -1)
    if title is None or start < 0:
        return 0
    if copied is None:
        message = "expected '- Copying N bytes between ... using K CUs' above the matrix"
        collector.broken(message, start + 1)
        return 1
    columns = [int(index) for _, index in DEVICE.findall(log.lines[start])]
    rows = _rows(log, collector, start, columns)
    transfers = [
        Transfer(
            value,
            int(copied[1]),
            f"G{i}",
            title[1].replace("GFX", "GPU"),
            i,
            int(copied[2]),
            f"G{j}",
            line,
        )
        for i, (line, rates) in rows.items()
        for j, value in zip(columns, rates, strict=True)
        if value is not None
    ]
    if missing := sorted(set(columns) - set(rows)):
        collector.broken(
            f"the matrix lacks the rows of GPU {', '.join(map(str, missing))}", start + 1
        )
    elif transfers:
        add_test(log, collector, "all to all", "a2a", transfers, {})
    return 1


def _rows(
    log: Log, collector: Collector, start: int, columns: list[int]
) -> dict[int, tuple[int, list[float | None]]]:
    """GPU -> line and rates."""
    rows: dict[int, tuple[int, list[float | None]]] = {}
    for number, line in enumerate(log.lines[start + 1 :], start + 2):
        if not (match := _ROW.match(line)):
            continue
        try:
            rates = [rate(value) for value in cells(match[2])[: len(columns)]]
        except ValueError as error:
            collector.broken(f"{error}; expected {len(columns)} rates, or N/A", number)
            continue
        if len(rates) != len(columns):
            collector.broken(
                f"got {len(rates)} rates; expected {len(columns)}, one per GPU", number
            )
            continue
        rows[int(match[1])] = number, rates
    return rows
