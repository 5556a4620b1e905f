"""One process: its lines as they come, its time limit, and an end that leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

GRACE = 5.0  # seconds between the polite signal and the one that cannot be refused
TICK = 0.05  # seconds between looks at a running process
DRAIN = 5.0  # seconds to wait for the end of its output when the process itself is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a process ended: *code* is negative for a signal, None where it could not be started."""

    code: int | None
    seconds: float
    timed_out: bool = False
    interrupted: bool = False
    reason: str = ""  # why it could not be started
    lost: str = ""  # why some of its output could not be taken

    @property
    def words(self) -> str:
        """The end in words, without what the process said; empty when all went well."""
        if self.reason:
            return f"could not be started: {self.reason}"
        if self.interrupted:
            return "interrupted"
        if self.timed_out:
            return f"timed out after {self.seconds:.0f} s"
        if self.code is not None and self.code < 0 and not self.lost:
            return f"ended by signal {_signal_name(-self.code)}"
        if self.lost:
            return f"its output could not be kept ({self.lost})"
        return f"exit code {self.code}" if self.code else ""


def run_process(
    command: Sequence[str],
    timeout: float,
    out: Callable[[bytes], None],
    err: Callable[[bytes], None],
    tick: Callable[[], None] = lambda: None,
) -> End:
    """Run *command*, every piece of its output handed on as it comes, each stream from a thread of
    its own.

    The command and whatever it started are ended after *timeout* seconds, and by an interrupt,
    which is not passed on: the End says it. *tick* is called a few times a second.
    """
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        reason = str((isinstance(error, OSError) and error.strerror) or error).lower()
        return End(code=None, seconds=0.0, reason=reason)
    assert process.stdout is not None and process.stderr is not None  # both are pipes
    lost: list[str] = []
    readers = [
        threading.Thread(target=_read, args=(stream, take, lost), daemon=True)
        for stream, take in ((process.stdout, out), (process.stderr, err))
    ]
    timed_out = interrupted = False
    try:
        for reader in readers:
            reader.start()
        while process.poll() is None:
            if time.monotonic() - began > timeout:
                timed_out = True
                break
            tick()
            time.sleep(TICK)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        _end(process)
    for reader in readers:
        reader.join(DRAIN)
    seconds = time.monotonic() - began
    return End(
        code=process.returncode,
        seconds=seconds,
        timed_out=timed_out,
        interrupted=interrupted,
        lost="; ".join(lost),
    )


def _end_with_parent() -> None:
    """In the child: Linux kills it when the thread that started it is gone, however it went."""
    import ctypes

    set_death_signal = 1  # PR_SET_PDEATHSIG of linux/prctl.h
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def _read(stream: IO[bytes], take: Callable[[bytes], None], lost: list[str]) -> None:
    try:
        with stream:
            while piece := stream.read(1 << 16):
                take(piece)
    except (
        Exception
    ) as error:  # said at the end, by the thread that waits; this one has nobody to tell
        lost.append(str((isinstance(error, OSError) and error.strerror) or error).lower())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the group of the process: politely while it lives, then for good, and whatever it left
    behind.
    """
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # the group is empty already
        os.killpg(process.pid, number)


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
