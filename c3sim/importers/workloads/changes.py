"""Two iterations of traces, before and after: change by cause.

wall      = computation + exposed communication + idle
a class   = its kernels as alone + contention, which the replay of the trace tells
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from c3sim.errors import InputError
from c3sim.evaluation.differences import (
    ALONE,
    CONTENTION,
    KERNEL,
    NUMBER,
    WALL,
    Difference,
    Differences,
)
from c3sim.importers.workloads.imported import Imported
from c3sim.importers.workloads.parts import Kernels, Parts, parts_of

NONE = Kernels()
LISTED = 12  # kernels whose time changed most


def of_traces(before: Imported, after: Imported) -> Differences:
    """Two iterations of traces, each replayed on its node: wall time, classes, and the kernels
    whose time changed most (``kernel NAME``).
    """
    was, now = parts_of(before), parts_of(after)
    times = {WALL: _wall(was, now), **_groups(was.classes, now.classes)}
    kernels = _groups(was.kernels, now.kernels)
    most = sorted(kernels, key=lambda name: -abs(_moved(kernels[name])))[:LISTED]
    return Differences(
        about=f"{before.built.iteration} -> {after.built.iteration}, contention by their replays",
        times=times | {f"{KERNEL}{name}": kernels[name] for name in most},
    )


def _wall(was: Parts, now: Parts) -> Difference:
    parts = {
        "computation": now.computation - was.computation,
        "exposed communication": now.exposed - was.exposed,
        "idle": now.idle - was.idle,
    }
    return Difference(before=was.wall, after=now.wall, parts=parts)


def _groups(was: Mapping[str, Kernels], now: Mapping[str, Kernels]) -> dict[str, Difference]:
    """Each class or kernel: time that it ran, 0 where it did not, and why it changed."""
    found = {}
    for name in dict.fromkeys((*now, *was)):
        old, new = was.get(name, NONE), now.get(name, NONE)
        slower = new.contention - old.contention
        each = old if old.count else new
        more = (new.count - old.count) * (each.busy - each.contention) / each.count
        parts = {NUMBER: more, ALONE: new.busy - old.busy - slower - more, CONTENTION: slower}
        found[name] = Difference(before=old.busy, after=new.busy, parts=parts)
    return found


def imported(
    paths: Sequence[Path],
    node: str | None,
    iteration: int | None = None,
    *,
    translate: str | None = None,
) -> Imported:
    """An iteration of traces, as ``c3sim import --as workload`` reads it. Raises InputError: no
    *node* is given and the trace does not tell it.
    """
    from c3sim.importers import fitting_nodes, import_iteration
    from c3sim.importers.workloads.imported import trace_files
    from c3sim.spec.reading.loading import load_node

    files = trace_files(paths)
    fitting = [] if node else fitting_nodes(files[0], "auto")
    fitting = [name for name in fitting if load_node(name).gpus >= len(files)]
    if not node and len(fitting) != 1:
        hint = f"it may be {' or '.join(fitting)}" if fitting else "'c3sim list' has the packaged"
        message = f"{files[0].name} does not tell its node; give it: {hint}"
        raise InputError(message, "--node")
    other = None if translate is None else load_node(translate)
    return import_iteration(files, load_node(node or fitting[0]), iteration, other=other)


def _moved(each: Difference) -> float:
    return (each.after or 0.0) - (each.before or 0.0)
