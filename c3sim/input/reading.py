"""Text of files and the trees in them, and the paths of files as errors print them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from c3sim.errors import InputError, InputErrors, reason_of
from c3sim.input.yaml_nodes import Item, read_yaml

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


def read_text(path: Path) -> str:
    """The file as text. Raises InputError when it cannot be read or is not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"cannot be read ({reason_of(error)}); must be a readable file"
        raise InputErrors([InputError(message, "", display(path))]) from None
    if (files := _record.get()) is not None:
        files[path] = data
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


def read_tree(path: Path) -> Item:
    """The YAML in *path*. Raises InputErrors."""
    errors: list[InputError] = []
    root = read_yaml(read_text(path), display(path), errors)
    if root is None or errors:
        raise InputErrors(errors)
    return root
