"""Beginnings of processes that work for this one: they leave Ctrl-C to it, and end with it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import resource_tracker
from time import sleep

_LOOK = 0.5  # seconds between looks at the parent
_DEAL = 0.1  # seconds for loky to deal out first tasks; ended meanwhile, its thread prints a trace


def begin(parent: int) -> None:
    """Begin a process: it leaves Ctrl-C to its *parent*, and ends with it."""
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
def interrupts_wait() -> Iterator[None]:
    """Within it Ctrl-C waits, and processes that it starts never see one."""
    with _handler_waits(), _mask_of_processes():
        yield


@contextmanager
def _handler_waits() -> Iterator[None]:
    """Within it Ctrl-C is kept for its end. Any thread may be given the signal (BLAS has some),
    whatever the mask of this one, but the handler is of the main thread.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            sleep(_DEAL)
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _mask_of_processes() -> Iterator[None]:
    """Within it this thread masks Ctrl-C, and so do the processes that it starts, for good."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Its start would end the mask (until Python 3.13), so it is started before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
