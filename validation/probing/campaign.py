"""The steps of a plan in order: one that fails does not stop the others, an interrupt ends the
running one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from c3sim.errors import InputError

from .plan import Step
from .step import Outcome, Setting, run_step, written_by


class Watcher(Protocol):
    """Shows the progress of a campaign."""

    def begin(self, number: int, total: int, step: Step) -> None: ...

    def tell(self, records: int, last: str) -> None: ...

    def end(self, number: int, total: int, outcome: Outcome) -> None: ...


def prepare(steps: Sequence[Step], out: Path, replace: bool) -> None:
    """Create the folder.

    Raises InputError: it cannot be created, or records of an earlier run would be lost.
    """
    files = (written_by(step, out)[kind] for step in steps for kind in ("jsonl", "part"))
    there = [path for path in files if path.exists()]
    if there and not replace:
        raise InputError(
            (
                f"holds records of an earlier run ({there[0].name}); give another folder "
                "for a repeat, or --replace"
            ),
            file=str(out),
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot be created: {reason}; must be a folder to write to", "--out", str(out)
        ) from None


def run_steps(
    steps: Sequence[Step], setting: Setting, gpus: int | None, watcher: Watcher
) -> list[Outcome]:
    """An outcome for each step. *gpus*: how many there are, None where it is not known. Raises
    InputError (files).
    """
    done: list[Outcome] = []
    with _terminable():
        for number, step in enumerate(steps, 1):
            watcher.begin(number, len(steps), step)
            if done and done[-1].interrupted:
                outcome = Outcome(
                    step=step, result="not run", message="interrupted before", interrupted=True
                )
            elif gpus is not None and step.gpus > gpus:
                outcome = Outcome(
                    step=step, result="skipped", message=f"needs {step.gpus} GPUs, there are {gpus}"
                )
            else:
                outcome = run_step(step, setting, watcher.tell)
            done.append(outcome)
            watcher.end(number, len(steps), outcome)
    return done


def to_dict(outcome: Outcome) -> dict[str, Any]:
    """Plain data for ``--json``."""
    step = outcome.step
    return {
        "step": step.name,
        "suite": step.suite_name,
        "role": step.role,
        "result": outcome.result,
        "records": outcome.records,
        "rejected": outcome.rejected,
        "seconds": round(outcome.seconds, 3),
        "exit_code": outcome.code,
        "message": outcome.message,
        "files": list(outcome.files),
    }


@contextmanager
def _terminable() -> Iterator[None]:
    """A request to end (SIGTERM) is an interrupt: no process of the probe is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
