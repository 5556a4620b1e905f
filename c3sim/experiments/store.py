"""The folder of a sweep.

    DIR/_sweep.json       hashes of what is run: a later start continues only the same sweep
    DIR/parts/part-N      the rows of some points, N the first of them; removed at the end
    DIR/results.parquet   all rows, sorted by point
    DIR/_timing.json      how long it took; a file of its own, so that equal sweeps give equal bytes
    DIR/*.damaged         a file that could not be read when the sweep went on; its points ran again

Readers of Parquet pass files over whose names begin with an underscore: the folder is a data set.
Every file is written whole or not at all. A point is finished when its part is there, so a kill
loses only the points that were being run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError, reason_of
from c3sim.experiments.result_files import write_table
from c3sim.kit.files import check_folder, make_folder, write_text

if TYPE_CHECKING:
    import pyarrow as pa

_SECONDS = "seconds"  # a column of parts only
_HASHED = {
    "study": "the study",
    "node": "the node",
    "workloads": "a workload",
    "code": "the code of c3sim",
}


class Store:
    """Results of one sweep in *folder*, with the columns of *schema*."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder, self.schema = folder, schema
        self.parts = folder / "parts"
        self.results = folder / "results.parquet"
        self.identity = folder / "_sweep.json"
        self.timing = folder / "_timing.json"
        self.set_aside: list[Path] = []

    def open(self, hashes: Mapping[str, str], points: int, *, fresh: bool) -> list[int]:
        """Prepare the folder; return the finished points. Raises InputError for another sweep.

        Files that are damaged are renamed, and named in ``set_aside``: their points are missing.
        """
        for path in (self.identity, self.timing):  # folders of earlier versions
            if (old := path.with_name(path.name[1:])).exists():
                old.replace(path)
        if fresh:
            self._remove_parts()
            for path in (self.results, self.timing, self.identity):
                path.unlink(missing_ok=True)
        if self.identity.exists():
            self._check_same(hashes)
        elif self.results.exists() or self.parts.exists():
            message = "holds results, but not what they are of (_sweep.json)"
            hint = "choose another folder, or --fresh to start over"
            raise InputError(f"{message}; {hint}", "--out", str(self.folder))
        else:
            identity = {"version": 1, "points": points, "hashes": dict(hashes)}
            write_text(self.identity, json.dumps(identity, indent=2) + "\n")
        self.parts.mkdir(exist_ok=True)
        if self._is_whole(self.results, self.schema.names):
            self._remove_parts()
            return list(range(points))
        self._remove_unfinished()
        names = [*self.schema.names, _SECONDS]
        whole = [part for part in self._part_files() if self._is_whole(part, names)]
        return sorted(
            point for part in whole for point in self._read(part).column("point").to_pylist()
        )

    def _is_whole(self, path: Path, names: Sequence[str]) -> bool:
        """True if *path* is there and has these columns; a damaged file is renamed."""
        if not path.exists():
            return False
        with suppress(InputError):
            if self._read(path).column_names == list(names):
                return True
        self.set_aside.append(path.rename(path.with_suffix(".damaged")))
        return False

    def _check_same(self, hashes: Mapping[str, str]) -> None:
        try:
            before = dict(json.loads(self.identity.read_text(encoding="utf-8"))["hashes"])
        except (OSError, ValueError, KeyError, TypeError):
            message = "cannot be read; --fresh starts over, or choose another folder with --out"
            raise InputError(message, "", str(self.identity)) from None
        changed = [text for name, text in _HASHED.items() if before.get(name) != hashes[name]]
        if changed:
            message = (
                f"{' and '.join(changed)} changed since this sweep was started; "
                "--fresh starts over, or choose another folder with --out"
            )
            raise InputError(message, "", str(self.folder))

    def _remove_parts(self) -> None:
        self._remove_unfinished()
        for path in self._part_files():
            path.unlink()
        with suppress(OSError):
            self.parts.rmdir()

    def _remove_unfinished(self) -> None:
        """Remove what a killed write left behind."""
        for path in self.parts.glob(".c3sim-*.part"):
            path.unlink()

    def _part_files(self) -> list[Path]:
        return sorted(self.parts.glob("part-*.parquet"))

    def _read(self, path: Path) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            message = f"is no whole part of a sweep ({error})"
            raise InputError(message, "", str(path)) from None

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep *rows*, which have the column ``seconds`` as well."""
        import pyarrow as pa

        schema = self.schema.append(pa.field(_SECONDS, pa.float64())).remove_metadata()
        table = pa.Table.from_pylist(list(rows), schema=schema)
        write_table(table, self.parts / f"part-{rows[0]['point']:08d}.parquet")

    def finish(self, timing: Mapping[str, Any]) -> None:
        """Merge all parts into one table, sorted by point."""
        import numpy as np
        import pyarrow as pa

        rows = pa.concat_tables([self._read(part) for part in self._part_files()]).sort_by("point")
        seconds = rows.column(_SECONDS).to_numpy()
        spent = {
            "points": len(seconds),
            "seconds_of_points": float(np.sum(seconds)),
            "median_s": float(np.median(seconds)),
            "p95_s": float(np.quantile(seconds, 0.95)),
            "longest_s": float(np.max(seconds)),
            "longest_point": int(np.argmax(seconds)),
        }
        write_text(self.timing, json.dumps({**timing, **spent}, indent=2) + "\n")
        table = rows.drop_columns([_SECONDS]).cast(self.schema.remove_metadata()).combine_chunks()
        table = table.replace_schema_metadata(self.schema.metadata)
        write_table(table, self.results)
        self._remove_parts()

    def load(self) -> pa.Table:
        """The table of a complete sweep."""
        return self._read(self.results)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Within it, no other process runs a sweep in *folder*, which is made where it is missing.

    The lock ends with the process. Raises InputError: another sweep runs there, or no such folder
    can be made.
    """
    check_folder(folder)
    lock = make_folder(folder) / ".lock"
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR)
    except OSError as error:
        message = f"cannot be written: {reason_of(error)}"
        raise InputError(message, "--out", str(folder)) from None
    try:
        _lock(handle, folder)
        yield
        lock.unlink()
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # this system has no such lock
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        hint = "wait for it, or choose another folder with --out"
        message = f"another process is running a sweep here; {hint}"
        raise InputError(message, "", str(folder)) from None
