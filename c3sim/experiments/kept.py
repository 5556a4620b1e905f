"""The part of long work that was done before an interrupt is kept; the same command goes on from
there.

Two things are kept within ``resuming``, in the user's own cache folder:

- Pieces of lists of work, as points, draws, records. Ctrl-C writes all that ended, one file for
  each list, named by a hash of the work, its items and the code. A process that works for another
  one gets no Ctrl-C and ends with it, so it writes the pieces of its own lists as they come, every
  EVERY seconds.
- Simulations of a piece that is not done. From LONG seconds on each process writes those that take
  more than WORTH seconds as they come, to a file of its own, named by a hash of the command.

The next start of the same command takes what is there. Work that ends leaves no file, but for
answers that took long and are asked for again, as explanations of steps: they are kept for OLD.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from hashlib import blake2b
from pathlib import Path
from time import perf_counter, process_time, time
from typing import IO, Any, TypeVar

from pydantic import BaseModel

HELD = "c3sim: interrupted; {done} pieces of work are kept, the same command goes on"
BEGUN = "c3sim: interrupted; parts of the first pieces of work are kept, the same command goes on"
NOTHING = "c3sim: interrupted; nothing was done yet"
EVERY = 1.0  # seconds between two writes of one list
FLUSHED = 0.2  # seconds of simulations that a process which ends at once may lose
LARGEST = 0.05  # share of the time that writes may take
LONG = 1.0  # seconds of a command without which its simulations are not worth keeping
WORTH = 0.005  # seconds of the processor in a simulation; a name and a write take 0.3 ms
WAITED = 2.0  # seconds for an answer that is worth keeping
MOST_BYTES = 2**28  # of simulations that one process keeps
OLD = 30 * 86400.0  # seconds until what nobody went on with is removed


Found = TypeVar("Found")


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


class Simulations:
    """Simulations of the command that is called *name*, by their own names."""

    def __init__(self, name: str) -> None:
        self.name, self.begun, self.written = name, perf_counter(), 0
        self.own = folder() / f"{name}-{os.getpid()}.simulations"
        self.file: IO[bytes] | None = None  # it is open from the first write on
        self.flushed = self.begun
        self.found: dict[bytes, bytes] = {}
        for path in self.files():
            with suppress(Exception), path.open("rb") as file:  # the last one may be cut off
                if pickle.load(file) == _code():
                    while True:
                        key, result = pickle.load(file)
                        self.found[key] = result

    def files(self) -> list[Path]:
        return sorted(folder().glob(f"{self.name}-*.simulations"))

    def __call__(self, name: Callable[[], bytes], work: Callable[[], Any]) -> Any:
        """Result of the simulation *work*, which *name* makes a name of, from an earlier start or
        done now.
        """
        if self.found and (result := self.found.get(name())) is not None:
            return pickle.loads(result)
        begun = process_time()
        made = work()
        worth = process_time() - begun > WORTH and perf_counter() - self.begun > LONG
        if worth and self.written < MOST_BYTES:
            with suppress(OSError):  # of a full disk, or a folder that nobody may write
                self._write(name(), pickle.dumps(made))
        return made

    def _write(self, key: bytes, result: bytes) -> None:
        if self.file is None:
            self.own.parent.mkdir(parents=True, exist_ok=True)
            self.file = self.own.open("ab" if self.written else "wb")
            if not self.written:
                pickle.dump(_code(), self.file)
        pickle.dump((key, result), self.file)
        self.written += len(result)
        if (now := perf_counter()) - self.flushed > FLUSHED:  # the process may end at any time
            self.file.flush()
            self.flushed = now

    def close(self) -> None:
        """Have everything in the file."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def forget(self, every: bool) -> None:
        """Remove what was written: *every* file of the command, or that of this process."""
        self.close()
        for path in self.files() if every else (self.own,):
            path.unlink(missing_ok=True)
        self.written = 0


class Works:
    """The lists of work of one command, as far as they are done; of a process that works *for
    another* written as they come.
    """

    def __init__(self, simulations: Simulations, for_another: bool = False) -> None:
        self.simulations, self.for_another = simulations, for_another
        self.found: dict[Path, dict[Any, Any]] = {}
        self.total = 0  # items of all lists
        self.results = Written if for_another else _read
        self.begun = time()

    def of(self, work: Any, items: Sequence[Any]) -> dict[Any, Any]:
        """Results by number of the item, from an earlier start or none; the caller adds to them."""
        from joblib import hash as hash_of  # the same in every process, also of sets

        path = folder() / f"{hash_of((_code(), work, list(items)))}.pickle"
        if path not in self.found:
            self.found[path] = self.results(path)
            self.total += len(items)
        return self.found[path]

    def keep(self) -> str:
        """Write everything; returns the line that says so."""
        self.simulations.close()
        done = sum(map(len, self.found.values()))
        for path in folder().glob("*"):
            if path.stat().st_mtime < self.begun - OLD:
                path.unlink(missing_ok=True)
        for path, found in self.found.items():
            if found:
                _write(path, found)
        if done:
            return HELD.format(done=f"{done} of {self.total}" if self.total else done)
        since = (path.stat().st_mtime for path in folder().glob("*.pickle"))
        begun = self.simulations.files() or any(each >= self.begun for each in since)
        return BEGUN if begun else NOTHING

    def forget(self) -> None:
        for path in self.found:
            path.unlink(missing_ok=True)
        self.simulations.forget(every=not self.for_another)


_now: list[Works] = []  # of the command that runs, if it can go on


@contextmanager
def resuming(command: Sequence[str] = ()) -> Iterator[None]:
    """Within it, work of *command* that is interrupted is kept. Raises Interrupted instead of
    KeyboardInterrupt.
    """
    named = blake2b(repr((*command, os.getcwd())).encode(), digest_size=16).hexdigest()
    try:
        with _keeping(Works(Simulations(named))) as works:
            yield
    except KeyboardInterrupt:
        raise Interrupted(works.keep()) from None


@contextmanager
def _keeping(works: Works) -> Iterator[Works]:
    """Within it *works* are those that run; they are forgotten where all went well."""
    from c3sim.simulation.keeping import kept_by

    _now.append(works)
    try:
        with kept_by(works.simulations):
            yield works
        works.forget()
    finally:
        works.simulations.close()
        _now.remove(works)


def goes_on() -> str:
    """Name of the command that is resumed later, within ``resuming``; else nothing."""
    return _now[-1].simulations.name if _now else ""


_of_others: dict[str, Simulations] = {}  # of commands that this process works for


def for_another(command: str) -> AbstractContextManager[object]:
    """Within it lists of work and simulations are written as they come, if the caller of this
    process works for a *command* that is resumed later.
    """
    if not command:
        return nullcontext()
    if command not in _of_others:
        _of_others[command] = Simulations(command)
    return _keeping(Works(_of_others[command], for_another=True))


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


def answered(asked: Sequence[object], make: Callable[[], Found]) -> Found:
    """Result of *make*, which follows from what is *asked* (models, words) and the code alone: as
    an earlier command found it, or made now, and kept if that takes WAITED. Outside of ``resuming``
    it is made.
    """
    if not _now:
        return make()
    texts = [
        each.model_dump_json() if isinstance(each, BaseModel) else repr(each) for each in asked
    ]
    name = blake2b("\0".join((_code(), *texts)).encode(), digest_size=16).hexdigest()
    path = folder().parent / "answers" / name
    with suppress(Exception):  # a damaged file costs the work that it has
        return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]
    begun = perf_counter()
    found = make()
    if perf_counter() - begun > WAITED:
        with suppress(OSError):
            _write(path, found)
            for each in path.parent.glob("*"):
                if each.stat().st_mtime < time() - OLD:
                    each.unlink(missing_ok=True)
    return found


def folder() -> Path:
    """The user's own cache folder: what lies there is read back as Python objects."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "c3sim" / "interrupted"


def _code() -> str:
    from c3sim.experiments.setup import code_hash  # which imports most of the package

    return code_hash()


def _write(path: Path, found: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(found))
    part.replace(path)


def _read(path: Path) -> dict[Any, Any]:
    with suppress(Exception):  # a damaged file costs the work that it has
        return dict(pickle.loads(path.read_bytes()))
    return {}
