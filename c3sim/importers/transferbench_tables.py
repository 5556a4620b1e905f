"""The summary matrix of preset a2a, for output (CSV) that does not list the transfers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from c3sim.importers.collector import Collector
from c3sim.importers.transferbench_log import (
    DEVICE,
    NO_GPUS,
    Log,
    Transfer,
    add_test,
    cells,
    copy_task,
    rate,
)

_MATRIX_TITLE = re.compile(r"GPU-(\w+) All-To-All benchmark")
_MATRIX_BYTES = re.compile(r"Copying (\d+) bytes .*using (\d+) CUs")
_MATRIX_ROW = re.compile(r"\s*GPU\s*(\d+)\s*[,\s]\s*(.*)$")


def read_matrix(log: Log, collector: Collector) -> int:
    """1 when the matrix is there, else 0."""
    text = "\n".join(log.lines)
    title, copied = _MATRIX_TITLE.search(text), _MATRIX_BYTES.search(text)
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
        if not (match := _MATRIX_ROW.match(line)):
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


# Preset p2p: every pair of devices, one direction at a time, then both directions at once.


_P2P_BYTES = re.compile(r"Bytes Per Direction[\s,]+(\d+)")
_P2P_TITLE = re.compile(
    r"(Unidirectional|Bidirectional) copy peak bandwidth.*\[(Local|Remote) read.*Executor:\s*(\w+)"
)
_P2P_ROW = re.compile(r"\s*(CPU|GPU)\s*(\d+)\s+(->|<->|<-)\s*,?(.*)$")
_HOST = "the schema has no copy run by the CPU"
_PAIR = (
    "both directions of one pair are a workload only where every GPU has such a partner"
    " (offset of half the GPUs)"
)
_ALL = "written as every GPU copying to its peer at offset {0}: pairs like this one, all at once"


@dataclass
class _Table:
    """One of the two matrices while it is read."""

    both_ways: bool
    remote_read: bool
    dma: bool
    line: int
    columns: list[str] = field(default_factory=list)
    #: Device and arrow -> line and rates.
    rows: dict[tuple[str, str], tuple[int, list[float | None]]] = field(default_factory=dict)

    @property
    def gpus(self) -> list[str]:
        return [name for name in self.columns if name.startswith("GPU")]

    def cells(self) -> Iterator[tuple[str, str, str, float, int]]:
        """Source, arrow, destination, GB/s and line of each cell that has a rate."""
        for (source, arrow), (line, rates) in self.rows.items():
            for destination, value in zip(self.columns, rates, strict=True):
                if value is not None:
                    yield source, arrow, destination, value, line


def read_p2p(log: Log, collector: Collector) -> int:
    """The number of tables in the log."""
    size, tables = 0, list[_Table]()
    for number, line in enumerate(log.lines, 1):
        if match := _P2P_BYTES.search(line):
            size = int(match[1])
        elif match := _P2P_TITLE.search(line):
            tables.append(
                _Table(match[1] == "Bidirectional", match[2] == "Remote", match[3] == "DMA", number)
            )
        elif tables and not tables[-1].columns and r"\DST" in line:
            tables[-1].columns = [
                f"{kind} {int(index):02d}" for kind, index in DEVICE.findall(line)
            ]
        elif tables and (match := _P2P_ROW.match(line)):
            _read_p2p_row(match, number, tables[-1], log, collector)
    if tables and not size:
        collector.broken(
            "no line 'Bytes Per Direction'; without it rates are no times", tables[0].line
        )
        return len(tables)
    for table in tables:
        _check_complete(table, log, collector)
        (_add_both_ways if table.both_ways else _add_one_way)(table, size, log, collector)
    if tables and log.settings.get("P2P_MODE", 1) == 0 and not tables[-1].both_ways:
        collector.broken(
            "no bidirectional table, though P2P_MODE is 0; the file is cut", len(log.lines)
        )
    return len(tables)


def _read_p2p_row(
    match: re.Match[str], line: int, table: _Table, log: Log, collector: Collector
) -> None:
    values = cells(match[4])
    wanted = len(table.columns)
    try:
        rates = [rate(value) for value in values]
    except ValueError as error:
        collector.broken(f"{error}; expected {wanted} rates, or N/A", line)
        return
    if len(rates) != wanted or (line == len(log.lines) and not log.ended):
        collector.broken(
            f"got {len(rates)} rates; expected {wanted}, one per device; the line may be cut off",
            line,
        )
        return
    table.rows[f"{match[1]} {int(match[2]):02d}", match[3]] = line, rates


def _check_complete(table: _Table, log: Log, collector: Collector) -> None:
    arrow = "<->" if table.both_ways else "->"
    missing = [name for name in table.gpus if (name, arrow) not in table.rows]
    which = "bidirectional" if table.both_ways else "unidirectional"
    if missing:
        collector.broken(f"the {which} table lacks the rows of {', '.join(missing)}", table.line)
    elif not table.columns:
        collector.broken(f"the {which} table has no names of columns", table.line)


def _add_one_way(table: _Table, size: int, log: Log, collector: Collector) -> None:
    count = log.gpus or len(table.gpus)
    for source, _, destination, value, line in table.cells():
        executor = destination if table.remote_read else source
        if not executor.startswith("GPU"):
            collector.leave_out("copy from CPU", _HOST, line)
            continue
        other = source if table.remote_read else destination
        side = "host" if other.startswith("CPU") else "gpu" if other == executor else "peer"
        peer = _offset(executor, other, count) if side == "peer" else None
        ends = (side, "gpu") if table.remote_read else ("gpu", side)
        name = f"copy {source} to {destination}"
        if side == "gpu":
            name = f"local copy on {executor}"
        log.add_copy(
            collector,
            preset="p2p_uni",
            name=f"{name.replace(' 0', '').replace('GPU ', 'GPU')}{_by(table)}",
            task=_copy(table, size, ends, peer, log),
            time=size / value / 1e3,
            line=line,
        )


def _offset(executor: str, other: str, count: int) -> int:
    return (int(other[4:]) - int(executor[4:])) % count


def _copy(
    table: _Table, size: int, ends: tuple[str, str], peer: int | None, log: Log
) -> dict[str, Any]:
    (source, destination), groups = ends, log.settings.get("NUM_GPU_SE")
    return copy_task(
        size=size,
        source=source,
        destination=destination,
        peer=peer,
        dma=table.dma,
        workgroups=groups,
    )


def _by(table: _Table) -> str:
    reader = ", read by the destination" if table.remote_read else ""
    return (", DMA" if table.dma else "") + reader


def _add_both_ways(table: _Table, size: int, log: Log, collector: Collector) -> None:
    count = log.gpus or len(table.gpus)
    for source, arrow, destination, value, line in table.cells():
        if arrow != "<->":
            continue
        if not (source.startswith("GPU") and destination.startswith("GPU")):
            collector.leave_out("both directions of a CPU and a GPU", _HOST, line)
            continue
        peer = _offset(source, destination, count)
        if 2 * peer != count:
            collector.leave_out("both directions of a pair of GPUs", _PAIR, line)
            continue
        ends = ("peer", "gpu") if table.remote_read else ("gpu", "peer")
        task = {**_copy(table, size, ends, peer, log), "gpus": "all"}
        name = f"p2p GPU{int(source[4:])} to GPU{int(destination[4:])} and back{_by(table)}"
        note = f"{value:g} GB/s summed over both directions; {_ALL.format(peer)}"
        log.add_copy(
            collector,
            preset="p2p_bidir",
            name=name,
            task=task,
            time=2 * size / value / 1e3,
            line=line,
            note=note,
        )


# Preset scaling: one GPU copies to every device with 1, 2, 3, ... compute units.


_SCALING_TITLE = re.compile(r"GPU-(\w+) Scaling benchmark")
_SCALING_BYTES = re.compile(r"Copying (\d+) bytes from GPU (\d+)")
_SCALING_ROW = re.compile(r"\s*(\d+)\s*[,\s]\s*(\S.*)$")


def read_scaling(log: Log, collector: Collector) -> int:
    """1 when the table is there, else 0."""
    title = next(
        ((i, match) for i, line in enumerate(log.lines) if (match := _SCALING_TITLE.search(line))),
        None,
    )
    if title is None:
        return 0
    begin, dma = title[0], title[1][1] == "DMA"
    size = origin = 0
    columns: list[str] = []
    best = False
    for number, line in enumerate(log.lines[begin:], begin + 1):
        if match := _SCALING_BYTES.search(line):
            size, origin = int(match[1]), int(match[2])
        elif line.startswith("NumCUs"):
            columns = [f"{kind}{int(index):02d}" for kind, index in DEVICE.findall(line)]
        elif columns and (match := _SCALING_ROW.match(line)):
            complete = log.ended or number < len(log.lines)
            _read_scaling_row(match, number, columns, (size, origin, dma, complete), log, collector)
        best = best or line.strip().startswith("Best")
    if not size or not columns:
        lines = "'- Copying N bytes from GPU 0' and a line 'NumCUs CPU00 GPU00 ...'"
        collector.broken(f"expected {lines}", begin + 1)
    elif not best:
        message = "the scaling table has no last line 'Best'; the file is cut"
        collector.broken(message, len(log.lines))
    return 1


def _read_scaling_row(
    match: re.Match[str],
    line: int,
    columns: list[str],
    head: tuple[int, int, bool, bool],
    log: Log,
    collector: Collector,
) -> None:
    size, origin, dma, complete = head
    values, workgroups = cells(match[2]), int(match[1])
    try:
        rates = [rate(value) for value in values]
    except ValueError as error:
        collector.broken(f"{error}; expected {len(columns)} rates", line)
        return
    if len(rates) != len(columns) or not complete or not size:
        expected = f"expected {len(columns)}, one per device; the line may be cut off"
        collector.broken(f"got {len(rates)} rates; {expected}", line)
        return
    for column, value in zip(columns, rates, strict=True):
        if value is None:
            continue
        index, host = int(column[3:]), column.startswith("CPU")
        side = "host" if host else "gpu" if index == origin else "peer"
        where = f"host memory {column}" if host else f"GPU{index}"
        if side == "peer" and log.gpus is None and origin:
            collector.leave_out("copy to a peer", NO_GPUS, line)
            continue
        peer = (index - origin) % (log.gpus or index + 1) if side == "peer" else None
        name = f"local copy on GPU{origin}" if side == "gpu" else f"copy GPU{origin} to {where}"
        log.add_copy(
            collector,
            preset="scaling",
            name=f"{name}, {'DMA' if dma else f'{workgroups} CUs'}",
            task=copy_task(
                size=size, source="gpu", destination=side, peer=peer, dma=dma, workgroups=workgroups
            ),
            time=size / value / 1e3,
            line=line,
        )
