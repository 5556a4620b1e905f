"""Preset p2p: every pair of devices, one direction at a time, then both directions at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..collector import Collector
from .log import DEVICE, Log, cells, copy_task, rate

_BYTES = re.compile(r"Bytes Per Direction[\s,]+(\d+)")
_TITLE = re.compile(
    r"(Unidirectional|Bidirectional) copy peak bandwidth.*\[(Local|Remote) read.*Executor:\s*(\w+)"
)
_ROW = re.compile(r"\s*(CPU|GPU)\s*(\d+)\s+(->|<->|<-)\s*,?(.*)$")
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


def read_p2p(log: Log, collector: Collector) -> int:
    """The number of tables in the log."""
    size, tables = 0, list[_Table]()
    for number, line in enumerate(log.lines, 1):
        if match := _BYTES.search(line):
            size = int(match[1])
        elif match := _TITLE.search(line):
            tables.append(
                _Table(match[1] == "Bidirectional", match[2] == "Remote", match[3] == "DMA", number)
            )
        elif tables and not tables[-1].columns and r"\DST" in line:
            tables[-1].columns = [
                f"{kind} {int(index):02d}" for kind, index in DEVICE.findall(line)
            ]
        elif tables and (match := _ROW.match(line)):
            _read_row(match, number, tables[-1], log, collector)
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


def _read_row(
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
    for (source, _), (line, rates) in table.rows.items():
        for destination, value in zip(table.columns, rates, strict=True):
            if value is None:
                continue
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
                task=_task(table, size, ends, peer, log),
                time=size / value / 1e3,
                line=line,
            )


def _offset(executor: str, other: str, count: int) -> int:
    return (int(other[4:]) - int(executor[4:])) % count


def _task(
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
    for (source, arrow), (line, rates) in table.rows.items():
        for destination, value in zip(table.columns, rates, strict=True):
            if value is None or arrow != "<->":
                continue
            if not (source.startswith("GPU") and destination.startswith("GPU")):
                collector.leave_out("both directions of a CPU and a GPU", _HOST, line)
                continue
            peer = _offset(source, destination, count)
            if 2 * peer != count:
                collector.leave_out("both directions of a pair of GPUs", _PAIR, line)
                continue
            ends = ("peer", "gpu") if table.remote_read else ("gpu", "peer")
            task = {**_task(table, size, ends, peer, log), "gpus": "all"}
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
