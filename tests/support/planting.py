"""A plugin of pytest that keeps every mistake that the tests plant: a command that refuses, with
the files it finds. ``tools/golden.py --collect TESTS`` runs it.

A mistake is known by its content, not by its test: tests may be merged and renamed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from typer.testing import CliRunner

import c3sim
from c3sim.spec.reading import loading, records

MOST_BYTES, MOST_FILES = 300_000, 20
#: Reader of a file -> the command that says the same of it.
READERS = {
    (loading, "load_workload"): "show",
    (loading, "load_hardware"): "show",
    (loading, "load_node"): "show",
    (loading, "load_study"): "show",
    (records, "load_records"): "validate",
}
LEFT_OUT = (["lab"], ["probe", "build"])  # a server; a compiler, where there is one
_folder = Path()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--planted", default="planted", help="folder for the mistakes")


def pytest_configure(config: pytest.Config) -> None:
    global _folder
    _folder = Path(config.getoption("--planted")).resolve()
    _folder.mkdir(exist_ok=True)


def keep(words: Sequence[object], here: Path) -> None:
    """Write a command down, with the files of *here* as it finds them."""
    typed = [str(word) for word in words]
    base = _base_of([here, *map(Path, typed)])
    if base is None or any(typed[: len(words)] == words for words in LEFT_OUT):
        return
    files = _files_of(base)
    if files is None:
        return
    text = _anywhere(json.dumps([typed, files]), base)
    case = hashlib.sha256(text.encode()).hexdigest()[:16]
    (_folder / f"{case}.json").write_text(text, encoding="utf-8")


def _anywhere(text: str, base: Path) -> str:
    """*text* without the places of this computer, as ``golden_mistakes.answer`` fills them in."""
    places = {sys.executable: "{python}", f"{base}/": "", str(base): ".", str(ROOT): "{root}"}
    for old, new in places.items():
        text = text.replace(old, new)
    return text


def _base_of(paths: Sequence[Path]) -> Path | None:
    """The temporary folder of a test that one of *paths* lies in."""
    for path in paths:
        for folder in (path, *path.parents):
            if folder.parent.name.startswith(("pytest-", "popen-")) and folder.is_absolute():
                return folder
    return None


def _files_of(base: Path) -> dict[str, str] | None:
    """Name -> content; None where that is too much."""
    files: dict[str, str] = {}
    for path in sorted(base.rglob("*")):
        if path.is_file() and not path.is_symlink():
            if len(files) == MOST_FILES or path.stat().st_size > MOST_BYTES:
                return None
            data = path.read_bytes()
            files[path.relative_to(base).as_posix()] = data.decode("utf-8", "surrogateescape")
    return files


def _refused(call: Callable[..., Any], words: Callable[..., list[object]]) -> Callable[..., Any]:
    """*call*, which keeps the command in *words* when it raises."""

    def called(*arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except (c3sim.InputError, c3sim.InputErrors):
            keep(words(*arguments, **options), Path.cwd())
            raise

    return called


for (_module, _name), _command in READERS.items():
    setattr(
        _module,
        _name,
        _refused(
            getattr(_module, _name), lambda *paths, _command=_command, **options: [_command, *paths]
        ),
    )

_invoke, _run = CliRunner.invoke, subprocess.run


def _invoked(self: CliRunner, app: Any, args: Any = None, **options: Any) -> Any:
    result = _invoke(self, app, args, **options)
    if result.exit_code == 2 and not isinstance(args, str):
        keep(list(args or ()), Path.cwd())
    return result


def _ran(command: Any, *arguments: Any, **options: Any) -> Any:
    done = _run(command, *arguments, **options)
    if done.returncode == 2 and isinstance(command, list) and "c3sim.cli" in "".join(command[:3]):
        keep(command[3:], Path.cwd())
    return done


CliRunner.invoke = _invoked
subprocess.run = _ran
