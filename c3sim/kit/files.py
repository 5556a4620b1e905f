"""Writes a file whole or not at all: into a temporary file beside it, then renamed over it."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from c3sim.errors import InputError, reason_of

AnyPath = str | os.PathLike[str]
# RuntimeError: a loop of links; ValueError: a zero byte in the name
UNUSABLE = (OSError, RuntimeError, ValueError)


def check_writable(path: AnyPath, suffixes: Collection[str] = ()) -> Path:
    """Return *path* if a file can be written there; the file itself is not touched.

    Without *suffixes* every suffix is allowed. Raises InputError: a folder that is missing or not
    writable, a path that is no plain file, a suffix that is not allowed.
    """
    target = Path(path)
    if suffixes and target.suffix.lower() not in suffixes:
        given = f"unknown suffix {target.suffix!r}" if target.suffix else "no suffix"
        raise InputError(f"{given}; allowed: {', '.join(suffixes)}", file=str(target))
    try:
        temporary = _create_beside(target)
    except UNUSABLE as error:
        raise _unwritable(target, error) from error
    temporary.unlink()
    return target


def check_folder(path: AnyPath, option: str = "--out") -> None:
    """Raises InputError, naming *option*, where *path* is something other than a folder."""
    if Path(path).exists() and not Path(path).is_dir():
        message = "is not a folder; allowed: a folder, or a path where one can be made"
        raise InputError(message, option, str(path))


def make_folder(path: AnyPath, option: str = "--out") -> Path:
    """The folder *path*, made if it is not there. Raises InputError, naming *option*."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {reason_of(error)}", option, str(folder)) from None
    return folder


def write_bytes(path: AnyPath, data: bytes) -> None:
    """Write *data* to *path*, replacing a file there. Raises InputError if it cannot."""
    target = Path(path)
    temporary: Path | None = None
    try:
        temporary = _create_beside(target)
        temporary.write_bytes(data)
        os.replace(temporary, target.resolve())
    except UNUSABLE as error:
        raise _unwritable(target, error) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()  # gone already after a successful replace


def write_text(path: AnyPath, text: str) -> None:
    """Write *text* to *path* as UTF-8, as `write_bytes` does."""
    write_bytes(path, text.encode())


def _create_beside(target: Path) -> Path:
    """An empty new file in the folder of *target*, with the permissions that ``open`` gives."""
    real = target.resolve()  # through links
    if real.is_dir():
        raise IsADirectoryError("is a folder")
    if real.exists() and not real.is_file():
        raise OSError("is not a plain file")
    temporary = real.with_name(f".c3sim-{token_hex(6)}.part")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return temporary


def _unwritable(target: Path, error: Exception) -> InputError:
    message = f"cannot write: {reason_of(error)}; allowed: a file in an existing, writable folder"
    return InputError(message, file=str(target))
