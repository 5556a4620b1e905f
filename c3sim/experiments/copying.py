"""Work by copies of this process, which know all that it knows, and by itself."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from pickle import PicklingError
from typing import Any, TypeVar, cast

from c3sim.errors import C3simError, WorkerError
from c3sim.evaluation.shares import Each
from c3sim.experiments.kept import for_another, goes_on
from c3sim.experiments.starting import begin, interrupts_wait
from c3sim.simulation.later import side_by_side

Output = TypeVar("Output")
GROUP = Path("/sys/fs/cgroup")  # of this process
_WORD, _WORDS = 4, 2**13  # bytes of a number, and numbers that any pipe has room for


def processes(jobs: int | None, most: int = 8) -> int:
    """*jobs*; left out: as many as cores, *most* at most; 1 where a process has no copies: beside
    threads that do work, in one of which this is, they would find locks that nobody opens.
    """
    ours = threading.current_thread() is threading.main_thread()
    if sys.platform != "linux" or multiprocessing.parent_process() is not None or not ours:
        return 1
    if jobs is not None and jobs > 0:
        return jobs
    return cores() if jobs else min(cores(), most)


def cores() -> int:
    """Cores that this process may use, as ``joblib.cpu_count`` has them, whose import takes longer
    than many a step: those that it may run on, and what its control group gets of them.
    """
    count = min(
        len(os.sched_getaffinity(0)), int(os.environ.get("LOKY_MAX_CPU_COUNT", sys.maxsize))
    )
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        with suppress(OSError):
            texts = [(GROUP / file).read_text() for file in files]
            quota, period = " ".join(texts).split()
            if quota.isdigit():  # else "max", -1: no limit
                count = min(count, -(-int(quota) // int(period)))
            break
    return max(count, 1)


def copies(jobs: int | None = None) -> Each:
    """Function that goes through items as ``map`` does, in so many :func:`processes`: this one and
    copies of it, which know all that it knows. For one item, or one process, it is ``map``.
    """
    count = processes(jobs)

    def each(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        if min(count, len(items)) < 2:
            yield from map(function, items)
            return

        def work(number: int) -> tuple[int, Any]:
            return number, function(items[number])

        found: dict[int, Any] = {}
        with closing(with_copies(work, len(items), count)) as answers:
            for number in range(len(items)):
                while number not in found:
                    found.update([next(answers)])
                yield found.pop(number)

    return each


def together_by(
    jobs: int | None, tell: Callable[[int, int], None] | None = None
) -> AbstractContextManager[None]:
    """Within it runs of a step wait for each other, and go side by side in so many processes;
    *tell* as of :func:`side_by_side`.
    """
    return side_by_side(map if jobs == 1 else copies(jobs), tell)


def with_copies(
    work: Callable[[int], Output], count: int, jobs: int
) -> Generator[Output, None, None]:
    """*work* of every number below *count*, in any order, by so many processes: this one, which
    knows more when its next copies begin, and copies of it. Each takes what is next from one pipe.
    Raises what is raised there, and WorkerError where a copy ends before its work does.
    """
    together = -(-count // _WORDS)
    with ExitStack() as stack:
        numbers, written = os.pipe()
        stack.callback(os.close, numbers)
        begins = (begin.to_bytes(_WORD, "little") for begin in range(0, count, together))
        os.write(written, b"".join(begins))
        os.close(written)

        def taken() -> range:
            word = os.read(numbers, _WORD)
            begin = int.from_bytes(word, "little")
            return range(begin, min(begin + together, count)) if word else range(0)

        with interrupts_wait():
            started = [stack.enter_context(_Copy(work, taken)) for _ in range(1, min(jobs, count))]
        busy = {copy.pipe: copy for copy in started}
        while of := taken():
            with named():
                done = [work(number) for number in of]
            yield from done
            yield from _answers(busy, 0.0)
        while busy:
            yield from _answers(busy, None)


def _answers(busy: dict[Connection, _Copy], seconds: float | None) -> Iterator[Any]:
    """What *busy* copies have found, so many *seconds* from now at most; who ends is so no more."""
    for pipe in wait([*busy], seconds):
        copy = busy[cast("Connection", pipe)]
        found = copy.answer()
        if found is None:
            del busy[copy.pipe]
        else:
            yield from found


class _Copy:
    """A copy of this process that does *work* of what it has *taken*; it is ended at the exit."""

    def __init__(self, work: Callable[[int], Any], taken: Callable[[], range]) -> None:
        self.pipe, theirs = get_context("fork").Pipe()
        served = (os.getpid(), theirs, work, taken, goes_on())
        self.process = get_context("fork").Process(target=_serve, args=served, daemon=True)
        self.process.start()
        theirs.close()  # so that the pipe ends with the copy

    def __enter__(self) -> _Copy:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()

    def answer(self) -> list[Any] | None:
        """What the copy found; None: there is no more. Raises what it raised, and WorkerError where
        it has ended.
        """
        try:
            good, found = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            raise WorkerError.of_ended(self.process.exitcode) from None
        if not good:
            raise found
        return found  # type: ignore[no-any-return]


def _serve(
    parent: int,
    pipe: Connection,
    work: Callable[[int], Any],
    taken: Callable[[], range],
    resumes: str,
) -> None:
    """The life of a copy."""
    begin(parent)
    gc.freeze()  # what the parent knows is not looked through, so its pages stay shared
    while of := taken():
        try:
            with for_another(resumes), named():
                answer: tuple[bool, Any] = True, [work(number) for number in of]
        except Exception as error:
            answer = False, error
        try:
            pipe.send(answer)
        except (AttributeError, TypeError, PicklingError) as error:  # of what no pipe carries
            pipe.send((False, WorkerError.of_mistake(error)))
    pipe.send((True, None))


@contextmanager
def named() -> Iterator[None]:
    """Where several processes work: what is raised by mistake inside comes out as a WorkerError
    that names it; what the caller can mend stays what it is.
    """
    try:
        yield
    except (C3simError, OSError):
        raise
    except Exception as error:
        raise WorkerError.of_mistake(error) from error
