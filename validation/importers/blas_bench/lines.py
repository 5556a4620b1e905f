"""Logs of hipblaslt-bench and rocblas-bench: a line of column names, lines of values below it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..collector import Collector
from ..numbers import cells_of

# no \s, which spans lines: in a text of blank ones every start would look at all that follow
HEADER = re.compile(r"^[ \t]*(?:\[\d+\][ \t]*:?[ \t]*)?(transA,transB,\S.*)$", re.MULTILINE)
_VALUES = re.compile(r"^\s*(?:\[\d+\]\s*:?\s*)?([NTC],\s*[NTC],.*\S)\s*$")
_COMMAND = re.compile(r"\b(hipblaslt|rocblas)-bench\b(.*)")
_VERSION = re.compile(
    r"\b(hipBLASLt|rocBLAS|hipBLAS|ROCm|HIP)\s+(git )?version\s*:?\s*(\S+)", re.IGNORECASE
)
_DEVICE = re.compile(r"Device ID\s+\d+\s*:\s*(.*?)\s*(?:gfx\w+\S*)?\s*$")
_TILE = re.compile(r"(?:Solution|kernel) name\s*:\s*(\S+)", re.IGNORECASE)
_FAILURE = re.compile(r"\b(error|failed|not supported|NO SOLUTION FOUND)\b", re.IGNORECASE)


@dataclass
class Values:
    """One line of values with its columns, and the command and kernel that belong to it."""

    columns: dict[str, str]
    line: int
    command: str
    kernel: str = ""


@dataclass
class Bench:
    """What the log says outside the tables."""

    versions: list[str] = field(default_factory=list)
    device: str = ""
    rows: list[Values] = field(default_factory=list)


def value_lines(text: str, collector: Collector) -> Bench:
    """Every line of values; where the log names winners among solutions, only the winners."""
    bench, columns, command = Bench(), list[str](), ""
    lines = text.split("\n")
    winners: list[Values] = []
    winning = False
    for number, line in enumerate(lines, 1):
        _facts(line, bench)
        if match := _COMMAND.search(line):
            command, winning = match[2], False
        if line.strip().lower().startswith("winner"):
            winning = True
        elif match := HEADER.match(line):
            columns = [name.strip().lower() for name in match[1].split(",")]
        elif match := _VALUES.match(line):
            row = _values(match[1], number, number == len(lines), columns, command, collector)
            if row is not None:
                bench.rows.append(row)
                winners += [row] if winning else []
        elif (match := _TILE.search(line)) and bench.rows:
            bench.rows[-1].kernel = match[1]
        elif _FAILURE.search(line):
            collector.warn(f"the log reports: {line.strip()}", number)
    if winners:
        beaten = len(bench.rows) - len(winners)
        collector.warn(
            f"{len(winners)} winners are taken; {beaten} lines of solutions that were tried are not"
        )
        bench.rows = winners
    return bench


def _values(
    text: str, line: int, last: bool, columns: list[str], command: str, collector: Collector
) -> Values | None:
    if not columns:
        collector.broken(
            "values without a line of column names; expected 'transA,transB,...' above them", line
        )
        return None
    fields = [value.strip() for value in cells_of(text)]
    if len(fields) != len(columns):
        cut = "; the line is cut off" if last else ""
        collector.broken(
            f"got {len(fields)} values; expected {len(columns)}: {','.join(columns)}{cut}", line
        )
        return None
    return Values(dict(zip(columns, fields, strict=True)), line, command)


def _facts(line: str, bench: Bench) -> None:
    for name, git, version in _VERSION.findall(line):
        text = f"{name} {git}{version}"
        if text not in bench.versions:
            bench.versions.append(text)
    if match := _DEVICE.search(line):
        bench.device = bench.device or match[1]
