"""What was read from files, kept while the files are the same to the byte.

A loop of runs reads each file once. What is kept is shared, so it is for callers that change
nothing in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from c3sim.input.reading import recorded

Loaded = TypeVar("Loaded")
MOST = 64  # the oldest goes first

_kept: dict[tuple[object, ...], tuple[Any, dict[Path, bytes]]] = {}


def kept(load: Callable[[str | Path], Loaded], name_or_path: str | Path) -> Loaded:
    """*load(name_or_path)*, or what it gave before where no file that it read has changed since.

    Raises what *load* raises.
    """
    key = (load, type(name_or_path), os.fspath(name_or_path), os.getcwd())
    if key in _kept:
        loaded, files = _kept[key]
        if all(_bytes(path) == data for path, data in files.items()):
            return loaded  # type: ignore[no-any-return]  # what this *load* gave
        del _kept[key]
    with recorded() as files:
        loaded = load(name_or_path)
    if len(_kept) >= MOST:
        del _kept[next(iter(_kept))]
    if files:  # else nothing tells when it is no longer so
        _kept[key] = loaded, {path.resolve(): data for path, data in files.items()}
    return loaded


def _bytes(path: Path) -> bytes | None:
    with suppress(OSError):
        return path.read_bytes()
    return None
