"""Two runs, traces, iterations or result files, told apart: before, after, change by cause.

Of runs and iterations the causes are those of :mod:`c3sim.evaluation.differences`. Of two traces:

    wall      = computation + exposed communication + idle
    a class   = its kernels as alone + contention, which the replay of the trace tells

Of two result files rows that have the same axes are held against each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

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
from c3sim.importers.workloads.parts import Kernels

if TYPE_CHECKING:
    import pandas as pd

    from c3sim.importers.workloads.imported import Imported
    from c3sim.importers.workloads.parts import Parts

Kind = Literal["run", "trace", "results", "model"]
NONE = Kernels()
LISTED = 12  # kernels whose time changed most


def kind_of(name: str) -> Kind:
    """The kind of a file, of a folder, or of the name of a workload or an iteration: by content.
    Raises InputError: JSON of another kind.
    """
    path = Path(name)
    if path.is_dir():
        return "results" if any(path.glob("*.parquet")) else "trace"
    if name.endswith((".json.gz", ".et")):
        return "trace"
    if name.endswith((".parquet",)):
        return "results"
    if not name.endswith(".json"):
        return "model"
    return _kind_of_json(path)


def _kind_of_json(path: Path) -> Kind:
    from c3sim.spec.reading.files import LARGEST_DATA, read_bytes

    data = read_bytes(path, LARGEST_DATA)
    if b'"traceEvents"' in data:
        return "trace"
    try:
        content = json.loads(data)
    except ValueError:
        raise InputError("is not JSON", file=str(path)) from None
    if isinstance(content, Mapping) and {"wall_s", "tasks"} <= content.keys():
        return "run"
    if isinstance(content, Mapping) and "rows" in content:
        return "results"
    raise InputError(
        "is neither a saved run, a result file nor a trace; 'c3sim run', 'study' and 'sweep' write"
        " them with --json",
        file=str(path),
    )


def of_traces(before: Imported, after: Imported) -> Differences:
    """Two iterations of traces, each replayed on its node: wall time, classes, and the kernels
    whose time changed most (``kernel NAME``).
    """
    from c3sim.importers.workloads.parts import parts_of

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
    from c3sim.spec.reading.loading import load_hardware

    files = trace_files(paths)
    fitting = [] if node else fitting_nodes(files[0], "auto")
    fitting = [name for name in fitting if load_hardware(name).node.gpus >= len(files)]
    if not node and len(fitting) != 1:
        hint = f"it may be {' or '.join(fitting)}" if fitting else "'c3sim list' has the packaged"
        message = f"{files[0].name} does not tell its node; give it: {hint}"
        raise InputError(message, "--node")
    other = None if translate is None else load_hardware(translate).node
    return import_iteration(files, load_hardware(node or fitting[0]).node, iteration, other=other)


def _moved(each: Difference) -> float:
    return (each.after or 0.0) - (each.before or 0.0)


def of_results(before: str, after: str, column: str | None = None) -> pd.DataFrame:
    """Rows of two result files with the same axes, scenario and strategy: ``before``, ``after`` and
    ``change`` (relative) of *column*; left out: wall time, else the first output that both have.
    Sorted by the size of the change. Raises InputError: no column or no row in common.
    """
    import pandas as pd

    from c3sim.output.results.table import read_results

    tables = [read_results(path) for path in (before, after)]
    frames = []
    for table in tables:
        outputs = [each.name for each in table.having("output") if each.numeric]
        keys = [each.name for each in table.having("axis", "group")]
        data = {name: table.columns[name].values for name in (*keys, *outputs)}
        frames.append((pd.DataFrame(data), keys, outputs))
    (old, keys, outputs), (new, new_keys, new_outputs) = frames
    shared = [name for name in outputs if name in new_outputs]
    wanted = column or next((name for name in (WALL_S, *shared) if name in shared), None)
    if wanted is None or wanted not in shared:
        has = ", ".join(shared[:8]) or "nothing"
        raise InputError(f"no column {wanted or WALL_S!r} in both files; both have {has}")
    on = [name for name in keys if name in new_keys]
    both = old[[*on, wanted]].merge(new[[*on, wanted]], on=on, suffixes=(" before", " after"))
    if both.empty:
        raise InputError("no row has the same axes, scenario and strategy in both files")
    both.columns = [*on, "before", "after"]
    both["change"] = both["after"] / both["before"] - 1
    both.attrs["columns"] = {name: tables[0].columns[name] for name in (*on, wanted)}
    return both.sort_values("change", key=abs, ascending=False, ignore_index=True)


WALL_S = "wall_s"
