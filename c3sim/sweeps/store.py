"""The folder of a sweep: parts as they come, each written whole or not at all, and one sorted file
at the end.

    DIR/sweep.json        what is being run, so that a later start knows whether it may go on
    DIR/parts/part-N      the rows of some points, N the first of them; gone when the sweep is complete
    DIR/results.parquet   all rows, sorted by point
    DIR/timing.json       how long it took; apart, so that equal sweeps give equal bytes

A point is finished when its part is there: whoever is killed loses what was still being worked on, no more.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.output.kit.files import write_bytes, write_text

if TYPE_CHECKING:
    import pyarrow as pa

_SECONDS = "seconds"  # of parts only


def results_schema(
    words: Mapping[str, bool], outputs: Sequence[str], metadata: Mapping[str, Any]
) -> pa.Schema:
    """Columns of a file of results. *words*: path of an axis -> whether its values are numbers."""
    import pyarrow as pa

    fields = [
        pa.field("point", pa.int64(), nullable=False),
        *(
            pa.field(path, pa.float64() if numeric else pa.string())
            for path, numeric in words.items()
        ),
        pa.field("scenario", pa.string(), nullable=False),
        pa.field("strategy", pa.string(), nullable=False),
        *(pa.field(name, pa.float64()) for name in outputs),
        pa.field("error", pa.string()),
    ]
    return pa.schema(fields, metadata={b"c3sim": json.dumps(metadata).encode()})


def write_table(table: pa.Table, path: Path) -> None:
    """Write *table* whole or not at all. Raises InputError when it cannot be written."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    write_bytes(path, buffer.getvalue())


class Store:
    """Results of one sweep in *folder*, with the columns of *schema*."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder, self.schema = folder, schema
        self.parts, self.results, self.about = (
            folder / "parts",
            folder / "results.parquet",
            folder / "sweep.json",
        )

    def open(self, hashes: Mapping[str, str], points: int, *, fresh: bool) -> list[int]:
        """Ready the folder; the points that are finished already. Raises InputError if it holds
        another sweep.
        """
        if fresh:
            self._clear()
        before = self._before()
        if before is not None:
            self._same(before, hashes)
        elif self.results.exists() or self.parts.exists():
            raise InputError(
                "holds results, but not what they are of (sweep.json); choose another folder, or --fresh to start over",
                "--out",
                str(self.folder),
            )
        self.parts.mkdir(exist_ok=True)
        if before is None:
            write_text(
                self.about,
                json.dumps({"version": 1, "points": points, "hashes": dict(hashes)}, indent=2)
                + "\n",
            )
        if self.results.exists():
            self._drop_parts()
            return list(range(points))
        for rest in self.parts.glob(".c3sim-*.part"):
            rest.unlink()  # of a write that was cut short
        return sorted(
            point
            for part in self._part_files()
            for point in self._read(part, ["point"]).column("point").to_pylist()
        )

    def _before(self) -> dict[str, Any] | None:
        if not self.about.exists():
            return None
        try:
            found: dict[str, Any] = json.loads(self.about.read_text(encoding="utf-8"))
            return found if isinstance(found["hashes"], dict) else None
        except (OSError, ValueError, KeyError, TypeError):
            message = "cannot be read; --fresh starts over, or choose another folder with --out"
            raise InputError(message, "", str(self.about)) from None

    def _same(self, before: Mapping[str, Any], hashes: Mapping[str, str]) -> None:
        changed = [
            name for name in hashes if name != "all" and before["hashes"].get(name) != hashes[name]
        ]
        if changed:
            message = (
                f"{' and '.join(_CHANGED[name] for name in changed)} changed since this sweep was started; "
                "--fresh starts over, or choose another folder with --out"
            )
            raise InputError(message, "", str(self.folder))

    def _clear(self) -> None:
        """Removes what a sweep writes, and nothing else."""
        self._drop_parts()
        for path in (self.results, self.folder / "timing.json", self.about):
            with suppress(FileNotFoundError):
                path.unlink()

    def _drop_parts(self) -> None:
        for path in (*self._part_files(), *self.parts.glob(".c3sim-*.part")):
            path.unlink()
        with suppress(OSError):
            self.parts.rmdir()

    def _part_files(self) -> list[Path]:
        return sorted(self.parts.glob("part-*.parquet"))

    def _read(self, path: Path, columns: list[str] | None = None) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_table(path, columns=columns)
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(
                f"is no whole part of a sweep ({error}); remove it and its points are run again",
                "",
                str(path),
            ) from None

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep *rows*, which have ``seconds`` as well."""
        import pyarrow as pa

        seconds = pa.field(_SECONDS, pa.float64())
        table = pa.Table.from_pylist(
            list(rows), schema=self.schema.append(seconds).remove_metadata()
        )
        write_table(table, self.parts / f"part-{rows[0]['point']:08d}.parquet")

    def finish(self, timing: Mapping[str, Any]) -> pa.Table:
        """All parts as one file, sorted by point; then the parts go. Returns its table."""
        import numpy as np
        import pyarrow as pa

        whole = pa.concat_tables([self._read(part) for part in self._part_files()]).sort_by("point")
        seconds = whole.column(_SECONDS).to_numpy()
        spent = {
            "points": len(seconds),
            "seconds_of_points": float(np.sum(seconds)),
            "median_s": float(np.median(seconds)),
            "p95_s": float(np.quantile(seconds, 0.95)),
            "longest_s": float(np.max(seconds)),
            "longest_point": int(np.argmax(seconds)),
        }
        write_text(self.folder / "timing.json", json.dumps({**timing, **spent}, indent=2) + "\n")
        table = whole.drop_columns([_SECONDS]).cast(self.schema.remove_metadata()).combine_chunks()
        table = table.replace_schema_metadata(self.schema.metadata)
        write_table(table, self.results)
        self._drop_parts()
        return table

    def load(self) -> pa.Table:
        """The table of a complete sweep."""
        return self._read(self.results)


_CHANGED = {
    "study": "the study",
    "node": "the node",
    "workloads": "a workload",
    "code": "the code of c3sim",
}


def missing(points: int, done: Iterable[int]) -> list[int]:
    """Points that are still to be run, in order."""
    finished = set(done)
    return [point for point in range(points) if point not in finished]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Within it, no other process runs a sweep in *folder*, which is made. Raises InputError:
    another one does, or no folder.

    The lock ends with the process, however that ends.
    """
    if folder.exists() and not folder.is_dir():
        message = "is not a folder; allowed: a folder, or a path where one can be made"
        raise InputError(message, "--out", str(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR)
    except OSError as error:
        message = f"cannot be written: {(error.strerror or str(error)).lower()}"
        raise InputError(message, "--out", str(folder)) from None
    try:
        _hold(handle, folder)
        yield
        (folder / ".lock").unlink()
    finally:
        os.close(handle)


def _hold(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this system: nobody watches
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        message = "another process is running a sweep here; wait for it, or choose another folder with --out"
        raise InputError(message, "", str(folder)) from None
