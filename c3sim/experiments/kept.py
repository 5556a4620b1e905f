"""The part of long work that was done before an interrupt is kept; the same command goes on from
there.

Within ``resuming`` every piece of work that ends is noted. Ctrl-C writes all of them to the user's
own cache folder, one file for each list of work, named by a hash of the work, its items and the
code. A process that works for another one gets no Ctrl-C and ends with it, so it writes the pieces
of its own lists as they come, every EVERY seconds. The next start of the same work takes what is
there. Work that ends leaves no file.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, time
from typing import Any

from c3sim.experiments.setup import code_hash

HELD = "c3sim: interrupted; {done} pieces of work are kept, the same command goes on"
BEGUN = "c3sim: interrupted; parts of the first pieces of work are kept, the same command goes on"
NOTHING = "c3sim: interrupted; nothing was done yet"
EVERY = 1.0  # seconds between two writes of one list
LARGEST = 0.05  # share of the time that writes may take


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a line that says what is kept."""


class Written(dict[Any, Any]):
    """Results of a list of work that are written to *path* as they come."""

    def __init__(self, path: Path) -> None:
        super().__init__(_read(path))
        self.path, self.due = path, perf_counter() + EVERY

    def update(self, *more: Any, **named: Any) -> None:
        super().update(*more, **named)
        begun = perf_counter()
        if begun >= self.due:
            _write(self.path, dict(self))
            ended = perf_counter()
            self.due = ended + max(EVERY, (ended - begun) / LARGEST)


class Works:
    """The lists of work of one command, as far as they are done; of a process that works *for
    another* written as they come.
    """

    def __init__(self, for_another: bool = False) -> None:
        self.found: dict[Path, dict[Any, Any]] = {}
        self.total = 0  # items of all lists
        self.results = Written if for_another else _read
        self.begun = time()

    def of(self, work: Any, items: Sequence[Any]) -> dict[Any, Any]:
        """Results by number of the item, from an earlier start or none; the caller adds to them."""
        from joblib import hash as hash_of  # the same in every process, also of sets

        path = folder() / f"{hash_of((code_hash(), work, list(items)))}.pickle"
        if path not in self.found:
            self.found[path] = self.results(path)
            self.total += len(items)
        return self.found[path]

    def keep(self) -> str:
        """Write everything; returns the line that says so."""
        done = sum(map(len, self.found.values()))
        for path, found in self.found.items():
            if found:
                _write(path, found)
        if done:
            return HELD.format(done=f"{done} of {self.total}" if self.total else done)
        since = (path.stat().st_mtime for path in folder().glob("*.pickle"))
        return BEGUN if any(each >= self.begun for each in since) else NOTHING

    def forget(self) -> None:
        for path in self.found:
            path.unlink(missing_ok=True)


_now: list[Works] = []  # of the command that runs, if it can go on


@contextmanager
def resuming() -> Iterator[None]:
    """Within it, work that is interrupted is kept. Raises Interrupted instead of
    KeyboardInterrupt.
    """
    works = Works()
    _now.append(works)
    try:
        yield
        works.forget()
    except KeyboardInterrupt:
        raise Interrupted(works.keep()) from None
    finally:
        _now.remove(works)


def goes_on() -> bool:
    """True within ``resuming``."""
    return bool(_now)


@contextmanager
def for_another(resumes: bool) -> Iterator[None]:
    """Within it lists of work are written as they come, if the caller of this process *resumes*."""
    if not resumes:
        yield
        return
    works = Works(for_another=True)
    _now.append(works)
    try:
        yield
        works.forget()
    finally:
        _now.remove(works)


def kept_of(work: Any, items: Sequence[Any]) -> dict[int, Any]:
    """Results of *work* on those of *items* that were done before, by number; outside of
    ``resuming`` nothing.
    """
    return _now[-1].of(work, items) if _now and len(items) > 1 else {}


def kept_calls(work: Any) -> dict[Any, Any]:
    """Results of *work*, by its arguments, where nobody knows beforehand how often it is called;
    the caller adds to them. Outside of ``resuming`` none are kept.
    """
    return _now[-1].of(work, ()) if _now else {}


def folder() -> Path:
    """The user's own cache folder: what lies there is read back as Python objects."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "c3sim" / "interrupted"


def _write(path: Path, found: dict[Any, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(found))
    part.replace(path)


def _read(path: Path) -> dict[Any, Any]:
    with suppress(Exception):  # a damaged file costs the work that it has
        return dict(pickle.loads(path.read_bytes()))
    return {}
