"""Preset scaling: one GPU copies to every device with 1, 2, 3, ... compute units."""

from __future__ import annotations

import re

from ..collector import Collector
from .log import DEVICE, NO_GPUS, Log, cells, copy_task, rate

_TITLE = re.compile(r"GPU-(\w+) Scaling benchmark")
_BYTES = re.compile(r"Copying (\d+) bytes from GPU (\d+)")
_ROW = re.compile(r"\s*(\d+)\s*[,\s]\s*(\S.*)$")


def read_scaling(log: Log, collector: Collector) -> int:
    """1 when the table is there, else 0."""
    title = next(
        ((i, match) for i, line in enumerate(log.lines) if (match := _TITLE.search(line))), None
    )
    if title is None:
        return 0
    begin, dma = title[0], title[1][1] == "DMA"
    size = origin = 0
    columns: list[str] = []
    best = False
    for number, line in enumerate(log.lines[begin:], begin + 1):
        if match := _BYTES.search(line):
            size, origin = int(match[1]), int(match[2])
        elif line.startswith("NumCUs"):
            columns = [f"{kind}{int(index):02d}" for kind, index in DEVICE.findall(line)]
        elif columns and (match := _ROW.match(line)):
            complete = log.ended or number < len(log.lines)
            _read_row(match, number, columns, (size, origin, dma, complete), log, collector)
        best = best or line.strip().startswith("Best")
    if not size or not columns:
        lines = "'- Copying N bytes from GPU 0' and a line 'NumCUs CPU00 GPU00 ...'"
        collector.broken(f"expected {lines}", begin + 1)
    elif not best:
        message = "the scaling table has no last line 'Best'; the file is cut"
        collector.broken(message, len(log.lines))
    return 1


def _read_row(
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
