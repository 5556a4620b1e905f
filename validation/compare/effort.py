"""Time and memory of comparing, fitting and scaling, before records are read or predicted.

Rates were measured on the packaged records (12,867 lines, 5,589 measurements) and one core. Records
that are packaged are not counted: their number is known, and nobody adds to them by mistake.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from c3sim.errors import InputErrors
from c3sim.evaluation.effort import RUNS, Effort, effort_of
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.workload import Workload

from .measurements import Measurement
from .record_files import are_packaged, record_files

READ_S, READ_BYTES = 0.75e-3, 16e3  # of a line
PREDICT_S = 5e-3  # of a measurement, in the mean; fits, of tasks alone: FIT_S
FIT_S = 1e-3
_BLOCK = 2**20


def own_files(paths: Sequence[str | Path]) -> list[Path]:
    """The record files among *paths* that are not packaged ones. Raises InputError."""
    return [file for file in record_files(paths) if not are_packaged([file])]


def effort_of_lines(files: Iterable[Path], predicted: float, jobs: int) -> Effort:
    """Reading the records in *files*, and *predicted* s for each on so many processes."""
    lines = sum(map(_lines, files))
    return Effort(lines * (READ_S + predicted / cores(jobs)), lines * READ_BYTES)


def effort_of_measurements(
    measurements: Iterable[Measurement], nodes: Mapping[str, Node], jobs: int
) -> Effort:
    """Predicting each once; one with much more than the usual work takes as much longer. Those that
    cannot run are left out: their prediction says why.
    """
    records = [one.record for one in measurements if one.record.node in nodes]
    efforts = [
        effort_of(each.workload, nodes[each.node])
        for each in records
        if _runs(each.workload, nodes[each.node])
    ]
    seconds = sum(max(PREDICT_S, effort.seconds / RUNS) for effort in efforts)
    most = max((effort.bytes for effort in efforts), default=0.0)
    return Effort(seconds / cores(jobs), len(records) * READ_BYTES + most * cores(jobs))


def _runs(workload: Workload, node: Node) -> bool:
    try:
        check_on_node(workload, node)
    except InputErrors:
        return False
    return True


def cores(jobs: int) -> int:
    """Processes that *jobs* asks for; 0: as many as there are cores."""
    return jobs or os.cpu_count() or 1


def _lines(file: Path) -> int:
    """Lines of *file*; 0 where it cannot be read, which is said when it is."""
    try:
        with file.open("rb") as opened:
            return 1 + sum(part.count(b"\n") for part in iter(lambda: opened.read(_BLOCK), b""))
    except OSError:
        return 0
