"""Finds and loads record files, the packaged ones, files, or every ``*.jsonl`` below a folder; and
the nodes that they ran on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path

from c3sim.errors import InputError
from c3sim.spec.reading.loading import LoadedNode, load_hardware
from c3sim.spec.reading.records import load_records
from c3sim.spec.reading.settings import node_with_settings, settings_of
from c3sim.spec.record import Record
from c3sim.spec.workload import Workload

from .loops import has_figures, measured_loop

HERE = Path(__file__).parent.parent
PACKED = HERE / "records.zip"  # of a wheel; a tree has the folder


def unpacked() -> Path:
    """The folder of the records of :data:`PACKED`, in the user's cache; it is made once for each
    version of the file, by whichever process comes first.
    """
    digest = hashlib.sha256(PACKED.read_bytes()).hexdigest()[:12]
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "c3sim" / f"records-{digest}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(dir=folder.parent))
    except OSError:  # a home that nobody may write to
        begun = folder = Path(tempfile.mkdtemp(prefix="c3sim-records-"))
    with zipfile.ZipFile(PACKED) as packed:
        packed.extractall(begun)
    if begun != folder:
        try:
            begun.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(begun)
    return folder


PACKAGED = HERE / "data" if not PACKED.exists() else unpacked()


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


def load(
    paths: Sequence[str | Path] = (),
    suite: str = "",
    told: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """Every record of *paths* (see :func:`record_files`); of the packaged ones, of *suite* alone if
    it is given and has any. *told* hears of files that are read. Raises InputError or InputErrors.
    """
    files, alone = record_files(paths), suite and not paths
    if alone and not _packaged:
        named = load_records(*files, naming=suite, told=told)
        found = [each for each in named if each.suite == suite]
        if found:
            return found
    stats = ((file, file.stat()) for file in files)
    key = tuple((file, each.st_mtime_ns, each.st_size) for file, each in stats)
    kept, most = (_others, 2) if paths else (_packaged, 1)
    if key not in kept:
        read = load_records(*files, told=told)
        if len(kept) >= most:
            del kept[next(iter(kept))]
        kept[key] = read
    return [each for each in kept[key] if alone and each.suite == suite] or list(kept[key])


#: Files with their times of change and sizes -> their records. Packaged ones take seconds to read,
#: and no others replace them.
_packaged: dict[Hashable, list[Record]] = {}
_others: dict[Hashable, list[Record]] = {}


def data_hash(records: Iterable[Record]) -> str:
    """First 16 hex digits of the SHA-256 of conditions and figures, whatever the records' order."""
    lines = sorted(
        f"{record.id} {record.role} {record.measured.text()}{measured_loop(record) or ''}"
        for record in records
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


# Paths into a node are resolved against this workload where there is no other.
NO_WORKLOAD = Workload.model_validate(
    {"schema": 1, "name": "none", "tasks": {"none": {"kind": "host", "time": 0.0}}}
)


def nodes_for(
    records: Iterable[Record],
    node: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> dict[str, LoadedNode]:
    """The node of each name in *records* that have figures: the packaged one, or *node* for all.

    *settings* (path -> value) change each of them.
    """
    nodes = {}
    for name in dict.fromkeys(record.node for record in records if has_figures(record)):
        loaded = load_hardware(name if node is None else node)
        changes = settings_of(settings)
        nodes[name] = node_with_settings(loaded, changes, NO_WORKLOAD, "set for this comparison")
    return nodes
