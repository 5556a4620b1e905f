"""Finds and loads record files: the packaged ones, files, or every ``*.jsonl`` below a folder."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from c3sim.errors import InputError
from c3sim.spec.reading.records import load_records
from c3sim.spec.record import Record

from .loops import measured_loop

PACKAGED = Path(__file__).parent.parent / "data"


def record_files(paths: Sequence[str | Path] = ()) -> list[Path]:
    """The files of *paths*, each once; without paths the packaged ones.

    Raises InputError for a path that does not exist and a folder without record files.
    """
    files: dict[Path, Path] = {}
    for path in map(Path, paths or [PACKAGED]):
        if path.is_dir():
            inside = sorted(path.rglob("*.jsonl"))
            if not inside:
                raise InputError(
                    "the folder holds no *.jsonl file; needs at least one record file",
                    file=str(path),
                )
        elif path.exists():
            inside = [path]
        else:
            raise InputError(
                "does not exist; must be a record file or a folder of *.jsonl files", file=str(path)
            )
        for file in inside:
            files.setdefault(file.resolve(), file)
    return list(files.values())


def are_packaged(paths: Sequence[str | Path]) -> bool:
    """True if all of *paths* lie in the packaged folder; so do none."""
    return all(Path(path).resolve().is_relative_to(PACKAGED.resolve()) for path in paths)


def load(paths: Sequence[str | Path] = ()) -> list[Record]:
    """Every record of *paths* (see :func:`record_files`). Raises InputError or InputErrors."""
    files, read = record_files(paths), _others if paths else _packaged
    stats = [file.stat() for file in files]
    return list(read(tuple(files), tuple((each.st_mtime_ns, each.st_size) for each in stats)))


def _read(files: tuple[Path, ...], changed: tuple[tuple[int, int], ...]) -> tuple[Record, ...]:
    """The records of *files*, read once while their times of change and sizes stay *changed*."""
    return tuple(load_records(*files))


_packaged = functools.lru_cache(maxsize=1)(_read)  # seconds of reading, which no others replace
_others = functools.lru_cache(maxsize=2)(_read)


def data_hash(records: Iterable[Record]) -> str:
    """First 16 hex digits of the SHA-256 of conditions and figures, whatever the records' order."""
    lines = sorted(
        f"{record.id} {record.role} {record.measured.model_dump_json()}"
        f"{measured_loop(record) or ''}"
        for record in records
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
