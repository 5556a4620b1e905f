"""Text output of nccl-tests and rccl-tests, ``-A 1`` columns too; several runs in a file."""

from __future__ import annotations

import re

from ..collector import Collector
from ..result import Given, ImportResult
from .columns import column_name, place_names, row_of
from .header import name_collective, read_header
from .rows import add_row
from .run import Run

_DEFAULT = [*["size", "count", "type", "redop", "root"], *["time", "algbw", "busbw", "wrong"] * 2]
_COLUMNS = re.compile(r"#\s+size\s+count\s+type\b")
_ROW = re.compile(r"\s*\d+\s+\d+\s")
_FAILURE = re.compile(
    r"Test (?:NCCL|RCCL|CUDA|HIP)?\s*failure|unhandled \w+ error|Segmentation fault"
)
_WRONG = re.compile(r"# Out of bounds values\s*:\s*(\d+) FAILED")
_FOOTER = ("# Out of bounds values", "# Avg bus bandwidth")


def read(text: str, given: Given) -> ImportResult:
    """Every row of every run in *text*; out-of-place and in-place times become a record each."""
    collector = Collector("nccl-tests", given)
    run, columns = Run(line=1), list[str]()
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        following = read_header(line, number, run)
        if following is not run:
            _finish(run, collector, number - 1)
            run, columns = following, []
        if _COLUMNS.match(line):
            columns = _columns(line, number, collector)
        elif _ROW.match(line):
            name_collective(run, collector, given, number)
            if not columns:
                message = "rows without the line of column names; the usual 13 columns are taken"
                collector.warn(message, number)
                columns = _DEFAULT
            last = number == len(lines)  # no line end: cut off
            _read_row(line, number, columns, run, collector, last)
        elif match := _WRONG.search(line):
            message = "rows with wrong results are left out"
            collector.warn(f"the run had {match[1]} wrong values; {message}", number)
        elif _FAILURE.search(line):
            collector.broken(f"the run reports a failure: {line.strip(' #')}", number)
        run.finished = run.finished or line.startswith(_FOOTER)
    _finish(run, collector, len(lines))
    result = collector.result()
    if not result.records and not result.remarks:
        collector.broken(
            "no rows; expected lines of sizes and times below '# size count type ...'", 1
        )
    return collector.result()


def _columns(line: str, number: int, collector: Collector) -> list[str]:
    """The names of the columns; of a damaged line, the usual ones."""
    columns = [column_name(name) for name in line.split()[1:]]
    counts = {columns.count(name) for name in ("time", "algbw", "busbw")}
    if {"size", "type"} <= set(columns) and len(counts) == 1 and counts <= {1, 2}:
        return columns
    collector.broken(f"expected names of columns: {' '.join(_DEFAULT)}; these are taken", number)
    return _DEFAULT


def _read_row(
    line: str, number: int, columns: list[str], run: Run, collector: Collector, last: bool
) -> None:
    fields = line.split()
    if (
        len(fields) == len(columns) + 3
        and fields[-1].isdigit()
        and not fields[-2].isdigit()
        and "algo" not in columns
    ):
        columns = [*columns, "algo", "proto", "channels"]  # -A 1, without names in the header
    if len(fields) != len(columns):
        cut = "; the line is cut off" if last else ""
        message = f"got {len(fields)} columns; expected {len(columns)}: {' '.join(columns)}{cut}"
        run.rows += 1
        collector.broken(message, number)
        return
    try:
        row = row_of(dict(zip(place_names(columns), fields, strict=True)), number)
    except ValueError as error:
        run.rows += 1
        collector.broken(f"{error}; expected numbers in columns {' '.join(columns)}", number)
        return
    add_row(collector, run, row)


def _finish(run: Run, collector: Collector, line: int) -> None:
    if run.rows and not run.finished:
        reason = "the run did not finish or the file is cut"
        collector.broken(f"the log ends without '# Out of bounds values'; {reason}", line)
    elif not run.rows and run.executable and not run.finished:
        expected = "expected lines of sizes and times"
        collector.broken(f"{run.executable}: a header without rows; {expected}", line)
