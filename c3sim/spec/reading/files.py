"""Text of files and the documents in them, the paths of files as errors print them, and what was
read, kept while the files are the same to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from c3sim.errors import InputError, InputErrors, reason_of
from c3sim.spec.reading.documents import Document, read_yaml

MIB = 2**20
LARGEST_SPEC = 4 * MIB  # bytes of a YAML file; read in ten seconds and half a GiB
LARGEST_DATA = 64 * MIB  # bytes of a file of records or results

_record: ContextVar[dict[Path, bytes] | None] = ContextVar("_record", default=None)


@contextmanager
def recorded() -> Iterator[dict[Path, bytes]]:
    """Within it, the bytes of every file that is read as text are noted in what it gives, and in
    the record around it.
    """
    files: dict[Path, bytes] = {}
    token = _record.set(files)
    try:
        yield files
    finally:
        _record.reset(token)
        _note(files)


def wrong_file(path: Path, message: str, line: int = 0) -> InputErrors:
    """One mistake, of the file at *path* as a whole or in its *line*."""
    return InputErrors([InputError(message, "", display(path), line)])


def _note(files: Mapping[Path, bytes]) -> None:
    if (around := _record.get()) is not None:
        around.update(files)


def read_bytes(path: Path, largest: int) -> bytes:
    """The file, read no further than *largest* bytes. Raises InputErrors when it cannot be read, or
    is larger.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size or largest  # 0: of what is made while read
            data = file.read(min(size, largest) + 1)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        message = f"cannot be read ({reason_of(error)}); must be a readable file"
        raise wrong_file(path, message) from None
    if len(data) > largest:
        message = f"is larger than {largest // MIB} MiB, the most that such a file may have"
        raise wrong_file(path, message)
    _note({path: data})
    return data


def read_text(path: Path, largest: int = LARGEST_SPEC) -> str:
    """The file as text. Raises InputErrors when it cannot be read, is too large or not UTF-8."""
    data = read_bytes(path, largest)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise wrong_file(path, message, line) from None


def display(path: Path) -> str:
    """The path as errors print it: relative where it lies under the working directory."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def read_document(path: Path) -> Document:
    """The YAML in *path*. Raises InputErrors."""
    errors: list[InputError] = []
    root = read_yaml(read_text(path), display(path), errors)
    if root is None or errors:
        raise InputErrors(errors)
    return root


Loaded = TypeVar("Loaded")
MOST = 64  # the oldest goes first

#: What was loaded from which files, by who loads what; and where, if that lies in the working
#: directory or below it.
_kept: dict[tuple[object, ...], tuple[Any, dict[Path, bytes]]] = {}


def kept(load: Callable[[str | Path], Loaded], name_or_path: str | Path) -> Loaded:
    """*load(name_or_path)*, or what it gave before where no file that it read has changed since: it
    is shared, so it is for callers that change nothing in it.

    Raises what *load* raises.
    """
    text, here = os.fspath(name_or_path), os.getcwd()
    asked = (load, type(name_or_path), text)
    for where in (here, "") if not _is_local(text) else (here,):
        loaded, files = _kept.get((*asked, where), (None, {}))
        if files and (where or not _any_below(here, files)):
            if all(_bytes(path) == data for path, data in files.items()):
                _note(files)
                return loaded  # type: ignore[no-any-return]  # what this *load* gave
            del _kept[*asked, where]
    with recorded() as read:
        loaded = load(name_or_path)
    if len(_kept) >= MOST:
        del _kept[next(iter(_kept))]
    files = {path.resolve(): data for path, data in read.items()}
    if files:  # else nothing tells when it is no longer so
        local = _is_local(text) or _any_below(here, files)
        _kept[*asked, here if local else ""] = loaded, files
    return loaded


def _is_local(text: str) -> bool:
    """True if *text* is the path of something in the working directory."""
    return not os.path.isabs(text) and os.path.exists(text)


def _any_below(folder: str, files: Mapping[Path, bytes]) -> bool:
    """True if errors print the path of one of *files* relative to *folder*."""
    return any(path.is_relative_to(folder) for path in files)


def _bytes(path: Path) -> bytes | None:
    with suppress(OSError):
        return path.read_bytes()
    return None
