"""Text output of nccl-tests and rccl-tests, with ``-A 1`` columns where they are there; several
runs in one file too.
"""

from __future__ import annotations

import re

from ..collector import Collector
from ..numbers import as_float, as_int
from ..result import Given, ImportResult
from .columns import column_name
from .header import check_ranks, name_collective, read_header
from .rows import add_row
from .run import Row, Run, Timing

_DEFAULT = [
    "size",
    "count",
    "type",
    "redop",
    "root",
    "time",
    "algbw",
    "busbw",
    "wrong",
    "time",
    "algbw",
    "busbw",
    "wrong",
]
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
                collector.warn(
                    "rows without the line of column names; the usual 13 columns are taken", number
                )
                columns = _DEFAULT
            last = number == len(lines)  # no line end: cut off
            _read_row(line, number, columns, run, collector, last)
        elif match := _WRONG.search(line):
            collector.warn(
                f"the run had {match[1]} wrong values; rows with wrong results are left out", number
            )
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
        row = _row(fields, columns, number)
    except ValueError as error:
        run.rows += 1
        collector.broken(f"{error}; expected numbers in columns {' '.join(columns)}", number)
        return
    for timing in row.timings[:1]:
        check_ranks(run, timing.algbw, timing.busbw, collector, number)
    add_row(collector, run, row)


def _row(fields: list[str], columns: list[str], number: int) -> Row:
    """Columns that occur twice are out-of-place first, in-place second. Raises ValueError."""
    values: dict[str, list[str]] = {}
    for column, text in zip(columns, fields, strict=True):
        values.setdefault(column, []).append(text)
    channels = values.get("channels", [""])[0]
    return Row(
        size=as_int(values["size"][0]),
        dtype=values["type"][0],
        line=number,
        redop=values.get("redop", [""])[0],
        timings=tuple(_timing(values, i) for i, time in enumerate(values["time"]) if time != "N/A"),
        algorithm=_known(values.get("algo", [""])[0]),
        protocol=_known(values.get("proto", [""])[0]),
        channels=int(channels) if channels.isdigit() and int(channels) else None,
    )


def _known(text: str) -> str:
    return "" if text.upper() in ("N/A", "UNKNOWN", "-", "-1") else text


def _timing(values: dict[str, list[str]], index: int) -> Timing:
    wrong = values["wrong"][index] if len(values.get("wrong", [])) > index else "N/A"
    if wrong.upper() != "N/A":
        as_float(wrong)
    algbw, busbw = (as_float(values[key][index]) for key in ("algbw", "busbw"))
    return Timing(as_float(values["time"][index]), algbw, busbw, wrong, in_place=index == 1)


def _finish(run: Run, collector: Collector, line: int) -> None:
    if run.rows and not run.finished:
        collector.broken(
            "the log ends without '# Out of bounds values'; the run did not finish or the file is cut",
            line,
        )
    elif not run.rows and run.executable and not run.finished:
        collector.broken(
            f"{run.executable}: a header without rows; expected lines of sizes and times", line
        )
