"""Text of files and the trees in them, and the paths of files as errors print them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from c3sim.errors import InputError, InputErrors, reason_of
from c3sim.input.documents import Document, read_yaml

MIB = 2**20
LARGEST_SPEC = 4 * MIB  # bytes of a YAML file; read in ten seconds and half a GiB
LARGEST_DATA = 64 * MIB  # bytes of a file of records or results

_record: ContextVar[dict[Path, bytes] | None] = ContextVar("_record", default=None)


@contextmanager
def recorded() -> Iterator[dict[Path, bytes]]:
    """Within it, the bytes of every file that is read as text are noted in what it gives."""
    files: dict[Path, bytes] = {}
    token = _record.set(files)
    try:
        yield files
    finally:
        _record.reset(token)


def read_bytes(path: Path, largest: int) -> bytes:
    """The file, read no further than *largest* bytes. Raises InputErrors when it cannot be read, or
    is larger.
    """
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        message = f"cannot be read ({reason_of(error)}); must be a readable file"
        raise InputErrors([InputError(message, "", display(path))]) from None
    if len(data) > largest:
        message = f"is larger than {largest // MIB} MiB, the most that such a file may have"
        raise InputErrors([InputError(message, "", display(path))])
    if (files := _record.get()) is not None:
        files[path] = data
    return data


def read_text(path: Path, largest: int = LARGEST_SPEC) -> str:
    """The file as text. Raises InputErrors when it cannot be read, is too large or not UTF-8."""
    data = read_bytes(path, largest)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise InputErrors([InputError(message, "", display(path), line)]) from None


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
