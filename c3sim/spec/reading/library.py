"""Finds the files shipped with c3sim by name, and anybody's files by path.

A name is a file name without ``.yaml``: ``mi300x`` (a GPU), ``mi300x-8`` (a node). A text that has
a suffix or a folder in it, or that names a file, is a path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

from c3sim.errors import InputError
from c3sim.spec.words import unknown, with_article

Kind = Literal["node", "gpu", "workload", "iteration", "study", "model"]

#: Package and folders (below it) of each kind.
_FOLDERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "gpu": ("c3sim.hwmodels", (".",)),
    "node": ("c3sim.hwmodels", ("nodes",)),
    "workload": ("c3sim.workloads", ("micro", "layers", "studies")),
    "iteration": ("c3sim.workloads", ("iterations",)),
    "study": ("c3sim.workloads", ("studies",)),
    "model": ("c3sim.workloads", ("models",)),
}
_STUDY_KEY = re.compile(r"^(scenarios|axes|table|linked|search|pieces|machines)\s*:", re.MULTILINE)
_LISTS = {
    "node": "nodes",
    "gpu": "gpus",
    "workload": "workloads",
    "iteration": "iterations",
    "study": "studies",
    "model": "models",
}


def names(kind: Kind) -> tuple[str, ...]:
    """Sorted names of the packaged files of *kind*. Raises InputError if c3sim is not installed."""
    return tuple(sorted(path.stem for path in _packaged(kind)))


def find(kind: Kind, name_or_path: str | Path) -> Path:
    """The file of that name or path. Raises InputError, with the nearest name, if there is none."""
    if kind not in get_args(Kind):
        raise InputError(unknown("kind of file", kind, get_args(Kind)))
    text = os.fspath(name_or_path)
    if isinstance(name_or_path, Path) or _is_path(text):
        path = Path(text)
        if path.is_file():
            return path
        if path.exists():
            raise InputError(f"{text!r} is not a file; give the path of a {kind} file, or a name")
        raise InputError(
            f"{kind} file {text!r} does not exist; give the path of a file, or a name{_hint(kind)}"
        )
    for path in _packaged(kind):
        if path.stem == text:
            return path
    other = next((each for each in get_args(Kind) if text in names(each)), None)
    known = (*names(kind), *(names("iteration") if kind == "workload" else ()))
    wrong = unknown(kind, text, known)
    if other is not None:
        wrong = wrong.replace(
            f"unknown {kind} {text!r}", f"{text!r} is {with_article(other)}, no {kind}"
        )
    raise InputError(wrong + _hint(kind))


def _is_path(text: str) -> bool:
    return (
        text.endswith((".yaml", ".yml", ".json"))
        or "/" in text
        or os.sep in text
        or Path(text).is_file()
    )


def _hint(kind: str) -> str:
    return f" ('c3sim list {_LISTS[kind]}' shows them)" if kind in _LISTS else ""


def _packaged(kind: str) -> Iterator[Path]:
    package, folders = _FOLDERS[kind]
    try:
        root = Path(str(files(package)))
    except ModuleNotFoundError:
        raise InputError(
            f"package {package} is not installed; in a checkout run: pip install -e ."
        ) from None
    for folder in folders:
        for path in sorted((root / folder).glob("*.yaml")):
            if folder != "studies" or (kind == "study") == _is_study(path):
                yield path


def _is_study(path: Path) -> bool:
    """Studies and the workloads made for them share a folder; studies list scenarios or such."""
    return bool(_STUDY_KEY.search(path.read_text(encoding="utf-8")))
