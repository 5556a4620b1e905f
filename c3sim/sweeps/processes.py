"""Processes side by side on this computer, by joblib: an interrupt is their parent's alone, and
they end with it, however it ends.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import resource_tracker
from time import sleep
from typing import Any

_LOOK = 0.5  # seconds between looks at the parent


def side_by_side(
    tasks: Iterable[Any], jobs: int, *, ordered: bool = True
) -> Generator[Any, None, None]:
    """Results of joblib's ``delayed`` *tasks* from *jobs* processes, -1 for as many as cores."""
    from joblib import Parallel

    how = "generator" if ordered else "generator_unordered"
    parallel: Any = Parallel(
        n_jobs=jobs, return_as=how, batch_size=1, initializer=begin, initargs=(os.getpid(),)
    )
    with _interrupts_wait():
        outputs: Generator[Any, None, None] = parallel(tasks)
    return outputs


def begin(parent: int) -> None:
    """What a process does first: it leaves Ctrl-C to its *parent*, and ends with it."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)


@cache
def end_with(parent: int) -> None:
    """End this process soon after *parent* has ended, even while it waits for work."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Within it Ctrl-C waits, and processes that it starts never see one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Its start would end the waiting (until Python 3.13), so it is started before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
