"""The mistakes that tests plant: a command that refuses, and the files it finds.

They are kept with their content in ``planted.parquet``, so that tests can be merged and renamed;
``tests/support/planting.py`` finds them. The golden figure of each is what c3sim says of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

import pandas as pd
from golden_figures import FOLDER, Figures, add

ROOT = Path(__file__).resolve().parent.parent
FILE = FOLDER / "planted.parquet"
PARTS = 20  # in which they are tried, side by side


def planted() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Hash of its content -> a command with a mistake: its words, and the files it finds."""
    if not FILE.exists():
        return {}
    table = pd.read_parquet(FILE)
    found: dict[str, tuple[list[str], dict[str, str]]] = {}
    for case, name, content in zip(table["case"], table["name"], table["content"], strict=True):
        words, files = found.setdefault(case, ([], {}))
        if name:
            files[name] = content.decode("utf-8", "surrogateescape")
        else:
            words += json.loads(content)
    return found


def answer(words: list[str], files: Mapping[str, str]) -> tuple[int, str]:
    """Exit code and standard error of a command in a folder with these files."""
    from c3sim.cli import main as command

    out, said, code = io.StringIO(), io.StringIO(), 0
    with elsewhere() as here, mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        for name, content in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(_placed(content).encode("utf-8", "surrogateescape"))
        typed = ["c3sim", *map(_placed, words)]
        with (
            mock.patch.object(sys, "argv", typed),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(said),
        ):
            try:
                command()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
    return code, said.getvalue().replace(here, "{here}").replace(str(ROOT), "{root}")


def _placed(text: str) -> str:
    """*text* with the places of this computer."""
    return text.replace("{root}", str(ROOT)).replace("{python}", sys.executable)


def messages(part: int) -> Figures:
    """The answers to every fourth planted mistake."""
    found: Figures = {}
    for case, (words, files) in list(planted().items())[part::PARTS]:
        code, said = answer(words, files)
        add(found, case, " ".join(words), f"{code}: {said}")
    return found


@contextlib.contextmanager
def elsewhere() -> Iterator[str]:
    """An empty current folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield folder


def collect(tests: list[str]) -> None:
    """Add the mistakes that *tests* plant to those that are known (tests/support/planting.py);
    what *tests* hear from Python is kept instead of what they heard (tests/support/refusals.py).
    """
    with tempfile.TemporaryDirectory() as folder:
        plugin = ["-p", "planting", "--planted", folder, "-o", "filterwarnings="]
        heard = ["--refusals-to", folder]
        every = "--every-case"  # what is left to another commit keeps its texts
        command = [sys.executable, "-m", "pytest", "-q", every, *plugin, *heard, *tests]
        subprocess.run(command, cwd=ROOT, check=False)
        take_in(Path(folder))
        sys.path.insert(0, str(ROOT / "tests" / "support"))
        import refusals

        moved = refusals.take_in(Path(folder))
        print("\n".join([f"{len(moved)} tests hear other refusals", *moved[:20]]))


def take_in(folder: Path) -> None:
    """Add those of *folder*, as the plugin leaves them, that a command refuses."""
    known, tried = planted(), sorted(folder.glob("*.json"))
    for path in tried:
        words, files = json.loads(path.read_text("utf-8"))
        if path.stem not in known and _is_a_mistake(words, files):
            known[path.stem] = words, files
    keep(known)
    print(f"{len(tried)} mistakes found, {len(known)} known")


def keep(known: Mapping[str, tuple[list[str], dict[str, str]]]) -> None:
    """Write all mistakes down, in an order of their own."""
    rows = [
        (case, name, content.encode("utf-8", "surrogateescape"))
        for case, (words, files) in sorted(known.items())
        for name, content in [("", json.dumps(words)), *files.items()]
    ]
    table = pd.DataFrame(rows, columns=["case", "name", "content"])
    table.to_parquet(FILE, compression="zstd", index=False)


def _is_a_mistake(words: list[str], files: Mapping[str, str]) -> bool:
    """True if the command refuses."""
    try:
        return answer(words, files)[0] == 2
    except Exception as error:  # what a test had replaced is not there
        print(f"left out: {words}: {error!r}")
        return False
