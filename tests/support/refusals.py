"""Texts of c3sim about mistakes made from Python, compared while the tests run: the text of every
error of its own that a test expects with ``pytest.raises`` is kept by the test's name, in the order
in which it came, in ``tests/golden/refusals.json``.

A test that hears another text, one fewer or one more fails, and says which; a test that is gone is
missed by ``tests/test_golden_refusals.py``. Each process of xdist looks after its own tests.
``tools/golden.py --collect TESTS`` writes the file: it runs TESTS with ``--refusals-to FOLDER``.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from c3sim.errors import C3simError

FILE = ROOT / "tests" / "golden" / "refusals.json"

#: Parts that differ from run to run, or with every line of a file of ours -> what is kept instead.
ELSEWHERE = {
    rf"{re.escape(tempfile.gettempdir())}/[^\s:'\"]*": "{tmp}",
    r"\b(inproc|tcp|http)://[\d.:/]+": r"\1://{address}",
    r"\bport \d+": "port {port}",
    r"\.building-\w+": ".building",
    r"\b[0-9a-f]{16}\b": "{id}",
    r"\b(bounds|suites|mi300x)\.yaml:\d+": r"\1.yaml:{line}",
}

CUT, MOST_APART = " ... ", 60  # as short() marks it; characters of two paths of temporary folders

Texts = Mapping[str, list[str]]  # test -> what it heard


class Refusals:
    """A plugin of pytest: hears, compares with *file*, or leaves what it heard in *folder*."""

    def __init__(self, file: Path = FILE, folder: Path | None = None) -> None:
        self.file, self.folder = file, folder
        self.collected: set[str] = set()
        self.heard: dict[str, list[str]] = {}
        self._now: list[str] = []
        self._listen()

    @cached_property
    def known(self) -> Texts:
        return read(self.file)

    def _listen(self) -> None:
        """Hear every error that ``pytest.raises`` expected, and got."""
        expected: Any = type(pytest.raises(C3simError))
        leave = expected.__exit__

        def left(this: Any, kind: Any, error: Any, *rest: Any) -> Any:
            caught = leave(this, kind, error, *rest)
            if caught and isinstance(error, C3simError):
                self._now.append(str(error))
            return caught

        expected.__exit__ = left

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Before ``-k`` and ``-m`` leave any out."""
        self.collected = {item.nodeid for item in items}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._now.clear()
        result = yield
        texts = [_anywhere(text, getattr(item, "funcargs", {})) for text in self._now]
        if self.folder:
            self.heard.update({item.nodeid: texts} if texts else {})
        elif _moved(kept := self.known.get(item.nodeid, []), texts):
            pytest.fail(difference(kept, texts), pytrace=False)
        return result

    def pytest_sessionfinish(self) -> None:
        if self.folder and self.collected:
            found = {"collected": sorted(self.collected), "heard": self.heard}
            path = self.folder / f"refusals-{os.getpid()}"
            path.write_text(json.dumps(found), encoding="utf-8")


def read(file: Path = FILE) -> dict[str, list[str]]:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def difference(kept: list[str], heard: list[str]) -> str:
    """Lines that name each text of a test that moved, was lost or is new."""
    lines = ["what this test hears is not what tests/golden/refusals.json has:"]
    for old, new in _moved(kept, heard):
        lines += [f"- {old}"] if old is not None else []
        lines += [f"+ {new}"] if new is not None else []
    return "\n".join([*lines, "where it is meant: python tools/golden.py --collect TESTS"])


def _moved(kept: list[str], heard: list[str]) -> list[tuple[str | None, str | None]]:
    """Pairs of texts that differ; None: the test has one more now, or one fewer."""
    pairs = zip_longest(kept, heard)
    return [(old, new) for old, new in pairs if old is None or new is None or not _alike(old, new)]


def _alike(old: str, new: str) -> bool:
    """True if both are one text. A line with a place of this computer is cut in its middle
    (``c3sim.errors.short``) by some characters more or less, as that place is long or short.
    """
    if old == new:
        return True
    if not all("{tmp}" in text and text.count(CUT) == 1 for text in (old, new)):
        return False
    (begin, end), (other, rest) = old.split(CUT), new.split(CUT)
    begins = begin.startswith(other) or other.startswith(begin)
    ends = end.endswith(rest) or rest.endswith(end)
    return begins and ends and abs(len(old) - len(new)) <= MOST_APART


def lost(known: Iterable[str], collected: set[str]) -> list[str]:
    """Tests that were *known* and are gone, of files that were *collected* or are gone too."""
    there = {name.partition("::")[0] for name in collected}
    files = {name: name.partition("::")[0] for name in known}
    return [
        name
        for name, file in files.items()
        if name not in collected and (file in there or not (ROOT / file).exists())
    ]


def take_in(folder: Path, file: Path = FILE) -> list[str]:
    """Write what a run left in *folder* into *file*; the tests whose texts moved."""
    known, collected, heard = read(file), set(), {}
    for path in folder.glob("refusals-*"):
        found = json.loads(path.read_text(encoding="utf-8"))
        collected |= set(found["collected"])
        heard |= found["heard"]
    new = {name: texts for name, texts in known.items() if name not in collected} | heard
    for name in lost(known, collected):
        del new[name]
    text = json.dumps(dict(sorted(new.items())), indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
    return sorted(name for name in known.keys() | new if known.get(name) != new.get(name))


def _anywhere(text: str, arguments: Mapping[str, Any]) -> str:
    """*text* without the places of this computer."""
    for name in ("tmp_path", "tmpdir"):
        if name in arguments:
            text = text.replace(str(arguments[name]), "{tmp}")
    text = text.replace(str(ROOT), "{root}").replace(sys.executable, "{python}")
    for pattern, instead in ELSEWHERE.items():
        text = re.sub(pattern, instead, text)
    return text
