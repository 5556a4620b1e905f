"""Saved files: their kind, by content; and two result files, row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from c3sim.errors import InputError
from c3sim.output.results.columns import Column
from c3sim.output.results.table import ResultTable, read_results
from c3sim.spec.reading.files import LARGEST_DATA, read_bytes

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["run", "trace", "results", "model"]
WALL_S = "wall_s"


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
    data = read_bytes(path, LARGEST_DATA)
    if b'"traceEvents"' in data:
        return "trace"
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
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


def of_results(before: str, after: str, column: str | None = None) -> pd.DataFrame:
    """Rows of two result files with the same axes, scenario and strategy: ``before``, ``after`` and
    ``change`` (relative) of *column*; left out: wall time, else the first output that both have.
    Sorted by the size of the change. ``attrs["left_out"]`` counts rows without a number in one of
    them, as of a point that failed, or with 0 before; ``attrs["alone"]`` those that only *before*
    and only *after* has. Raises InputError: no column, no row.
    """
    tables = [read_results(path) for path in (before, after)]
    shared = _shared(tables, lambda column: column.role == "output" and column.numeric)
    wanted = column or next((name for name in (WALL_S, *shared) if name in shared), None)
    if wanted is None or wanted not in shared:
        has = ", ".join(shared[:8]) or "nothing"
        raise InputError(f"no column {wanted or WALL_S!r} in both files; both have {has}")
    on = _shared(tables, lambda column: column.role != "output")
    old, new = (table.frame[[*on, wanted]].drop_duplicates() for table in tables)
    if old.duplicated(on).any() and new.duplicated(on).any():
        raise InputError("rows of both files share axes, scenario and strategy; none tells which")
    both = old.merge(new, on=on, suffixes=(" before", " after"))
    if both.empty:
        raise InputError("no row has the same axes, scenario and strategy in both files")
    met = len(old.merge(both[on], on=on)), len(new.merge(both[on], on=on))
    both.columns = [*on, "before", "after"]
    was, now, rows = both["before"], both["after"], len(both)
    both["change"] = (now / was - 1).mask(now == was, 0.0)
    both = both[both["change"].abs() < float("inf")]
    both.attrs["left_out"] = rows - len(both)
    both.attrs["alone"] = len(old) - met[0], len(new) - met[1]
    both.attrs["columns"] = {name: tables[0].columns[name] for name in (*on, wanted)}
    return both.sort_values("change", key=abs, ascending=False, ignore_index=True)


def _shared(tables: Sequence[ResultTable], wanted: Callable[[Column], bool]) -> list[str]:
    """Names of *wanted* columns that all *tables* have."""
    old, new = ([c.name for c in table.columns.values() if wanted(c)] for table in tables)
    return [name for name in old if name in new]
