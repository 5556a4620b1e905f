"""Kernel-trace CSV of rocprofv3 (``--kernel-trace``). It has names, queues and times [ns], but no
sizes: those of one GEMM kernel and one collective kernel can be given (``--assume m=8192 ...``);
the overlap needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from c3sim.importers.collector import Collector
from c3sim.importers.result import Format, Given, ImportResult, text_with
from c3sim.importers.trace_records import Origin, add_trace
from c3sim.importers.traces import Kernel, Sizes, classify
from c3sim.importers.values import as_int, cells_of

_NEEDED = ("Kernel_Name", "Start_Timestamp", "End_Timestamp")


def read(text: str, given: Given) -> ImportResult:
    """Every kernel of the trace."""
    collector = Collector("rocprofv3 kernel trace", given)
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if "Kernel_Name" in line), -1)
    if start < 0:
        collector.broken(f"no line of column names; expected {', '.join(_NEEDED)} among them", 1)
        return collector.result()
    columns = [name.strip() for name in cells_of(lines[start])]
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        collector.broken(f"no column {', '.join(missing)}; a kernel trace has them", start + 1)
        return collector.result()
    sizes, kernels = Sizes(collector), list[Kernel]()
    rows = list(_rows(lines, start + 1, columns, collector))
    queue = _queue_column([row for _, row in rows])
    base = next(
        (as_int(row["Start_Timestamp"]) for _, row in rows if row["Start_Timestamp"].isdigit()), 0
    )
    for number, row in rows:
        if row.get("Kind", "KERNEL_DISPATCH") not in ("KERNEL_DISPATCH", ""):
            continue
        try:
            kernels.append(_kernel(row, queue, base, sizes))
        except (ValueError, KeyError) as error:
            expected = "expected start and end in whole nanoseconds, the end after the start"
            collector.broken(f"{error}; {expected}", number)
    if not kernels:
        collector.broken("no kernel below the line of column names", start + 1)
        return collector.result()
    origin = Origin(suite="rocprofv3", software="rocprofv3", facts="")
    add_trace(collector, sizes.settle(kernels), origin)
    return collector.result()


def _rows(
    lines: Sequence[str], start: int, columns: Sequence[str], collector: Collector
) -> Iterator[tuple[int, dict[str, str]]]:
    """Number and values of each line from index *start* on."""
    for number, line in enumerate(lines[start:], start + 1):
        fields = cells_of(line) if line.strip() else []
        if len(fields) == len(columns):
            yield number, dict(zip(columns, fields, strict=True))
        elif fields:
            cut = "; the line is cut off" if number == len(lines) else ""
            collector.broken(f"got {len(fields)} values; expected {len(columns)}{cut}", number)


def _queue_column(rows: Sequence[Mapping[str, str]]) -> str:
    """HIP streams where they were recorded, else hardware queues."""
    streams = {row.get("Stream_Id", "0") for row in rows}
    return "Stream_Id" if len(streams) > 1 else "Queue_Id"


def _kernel(row: Mapping[str, str], queue: str, base: int, sizes: Sizes) -> Kernel:
    name = row["Kernel_Name"]
    start, end = as_int(row["Start_Timestamp"]), as_int(row["End_Timestamp"])
    if end <= start:
        raise ValueError(f"start {start} and end {end}")
    kind = classify(name)
    if kind.kind != "other":
        seen = _channels(row) if kind.kind == "collective" else {}
        sizes.missing(name, kind.kind, "a kernel trace has no sizes", **seen)
    return Kernel(
        name=name,
        kind=kind.kind,
        start=(start - base) / 1e3,
        duration=(end - start) / 1e3,
        device=row.get("Agent_Id", "0"),
        stream=row.get(queue, "0"),
        key=sizes.key(name, None),
    )


def _channels(row: Mapping[str, str]) -> dict[str, object]:
    """Library and workgroups of a collective; RCCL's kernels have the names of NCCL's."""
    grid, group = row.get("Grid_Size_X", ""), row.get("Workgroup_Size_X", "")
    known: dict[str, object] = {"backend": "rccl"}
    if grid.isdigit() and group.isdigit() and int(group) and int(grid) >= int(group):
        known["channels"] = int(grid) // int(group)
    return known


FORMATS = (Format("rocprofv3", 70, text_with(r"\bKernel_Name\b.*\bStart_Timestamp\b"), read),)
