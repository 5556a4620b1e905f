"""Which share of what is long a run takes: another with each commit, all of it in so many."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    import pytest

LONG = 30  # commits in a row that have every test that is marked long
MARKED = re.compile(r"^pytestmark = .*\bturns\((\d+)\)", re.MULTILINE)  # a file as a whole
IMPORTED = re.compile(r"^(?:from|import) (c3sim[\w.]*)(?: import (.*))?", re.MULTILINE)


def _git(*words: str) -> str:
    """What Git says; nothing where there is none."""
    command = ["git", "-C", str(Path(__file__).parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@cache
def commits() -> int:
    """The commits up to this one; 0 without Git."""
    return int(_git("rev-list", "--count", "HEAD") or 0)


@cache
def changed() -> frozenset[str]:
    """The files that the last commit changes, or what is not committed yet, from the root."""
    return frozenset(_git("diff", "--name-only", "HEAD~1").splitlines())


@cache
def is_about_changes(file: Path, root: Path) -> bool:
    """True if one of them is *file*, a module that it imports, or a study or workload whose name it
    has in quotes.
    """
    if not (names := changed()):
        return False
    text = file.read_text("utf-8")
    found = {file.relative_to(root).as_posix()}
    for package, imported in IMPORTED.findall(text):
        place = package.replace(".", "/").replace("c3sim/validation", "validation", 1)
        found |= {f"{place}.py", *(f"{place}/{name}.py" for name in re.findall(r"\w+", imported))}
    given = (Path(name).stem for name in names if name.startswith("workloads/"))
    return bool(names & found) or any(f'"{name}"' in text for name in given)


def turn_of_commit(turns: int) -> int:
    """The number of the commit modulo *turns*: so many commits in a row have every turn."""
    return commits() % turns


def has_turn(name: str, turn: int, turns: int) -> bool:
    """True if *name* belongs to that share, whatever else there is."""
    return crc32(name.encode()) % turns == turn


def waits(file: Path, root: Path) -> bool:
    """True if *file* below *root* is marked ``turns(n)`` as a whole, and another commit has it: it
    is not about what this one changes.
    """
    found = MARKED.search(file.read_text("utf-8"))
    turns = int(found[1]) if found else 1
    if has_turn(file.relative_to(root).as_posix(), turn_of_commit(turns), turns):
        return False
    return not is_about_changes(file, root)


def why_left_out(item: pytest.Item, named: Collection[Path]) -> str:
    """The reason that another commit has *item*: the turn of its mark, ``long`` or ``turns(n)``.
    Empty if it runs. A file that is marked has its turn as a whole, and runs where it is *named*,
    on the command line or by what this commit changes.
    """
    marks = [(node, mark) for node, mark in item.iter_markers_with_node("long")]
    if item.path not in named:
        marks += item.iter_markers_with_node("turns")
    for node, mark in marks:
        turns = mark.args[0] if mark.args else LONG
        turn = turn_of_commit(turns)
        if not has_turn(node.nodeid, turn, turns):
            return f"{mark.name}: not in share {turn} of {turns}; --every-case has it"
    return ""
