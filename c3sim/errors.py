"""The exceptions of c3sim.

    C3simError
    +-- InputError      something the user wrote is wrong: file, line, path, value, what is allowed
    +-- InputErrors     several of them, found in one pass
    +-- DeadlockError   a run that can never finish: which task waits for what
    +-- WorkerError     a process that does a part of the work was ended, or made a mistake

Each can be rebuilt from ``args`` (SimPy re-raises a failed process as ``type(exc)(*exc.args)``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

__all__ = [
    "C3simError",
    "DeadlockError",
    "InputError",
    "InputErrors",
    "WorkerError",
    "not_json",
    "reason_of",
    "short",
]

LONGEST = 290  # characters of a line
MOST = 10  # mistakes that are printed one by one


def short(text: str, longest: int = LONGEST) -> str:
    """*text* on one line, its middle left out where it is longer than *longest*."""
    text = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 5]} ... {text[-end:]}"


class C3simError(Exception):
    """Base of everything c3sim raises on purpose. ``str()`` is what the command line prints."""


class InputError(C3simError):
    """One mistake in the input; *message*: what is wrong, with the value, and what is allowed."""

    def __init__(self, message: str, path: str = "", file: str = "", line: int = 0):
        super().__init__(message, path, file, line)
        self.message, self.path, self.file, self.line = message, path, file, line

    def __str__(self) -> str:
        where = self.file + (f":{self.line}" if self.file and self.line else "")
        where, path = short(where, 120), short(self.path, 50)
        message = short(self.message, LONGEST - len(where) - len(path))
        return ": ".join(part for part in (where, path, message) if part)


def reason_of(error: Exception) -> str:
    """The system's reason to refuse, as a message ends: ``permission denied``."""
    return str(getattr(error, "strerror", None) or error).lower()


def not_json(error: Exception) -> str:
    """Message of the *error* that a text which is no JSON raised."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg.lower()
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a number of too many digits"


class InputErrors(C3simError):
    """Every mistake found in one pass over the input, in file order. As text: one line each, the
    first ten and a count.
    """

    def __init__(self, errors: Iterable[InputError]):
        self.errors = tuple(errors)
        super().__init__(self.errors)

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors[:MOST]]
        more = len(self.errors) - len(lines)
        return "\n".join([*lines, *([f"and {more} more mistakes"] if more else [])])


class DeadlockError(C3simError):
    """Tasks are unfinished and nothing can happen: *waiting* maps each to what it waits for. *file*
    (and line) has what they do not fit into, if it is known.
    """

    def __init__(self, waiting: dict[str, str], file: str = ""):
        super().__init__(waiting, file)
        self.waiting, self.file = waiting, file

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file else ""
        return f"{place}deadlock: " + "; ".join(
            f"task {name!r} waits for {what}" for name, what in self.waiting.items()
        )


class WorkerError(C3simError):
    """A process that does a part of the work was ended, or made a mistake of its own."""

    @classmethod
    def of_ended(cls, code: int | None) -> WorkerError:
        """Of one that ended with exit *code*, which is less than 0 where a signal did it."""
        how = "ended" if code is None else f"ended with code {code}"
        if code is not None and code < 0:
            how = f"was ended by signal {-code}"
        memory = ", as happens where memory is short" if code in (None, -9) else ""
        what = f"a process that does a part of the work {how}{memory}"
        return cls(f"c3sim: {what}; --jobs 1 needs none")

    @classmethod
    def of_mistake(cls, error: Exception) -> WorkerError:
        """Of one in which *error* was raised by mistake."""
        trace, where = error.__traceback__, ""
        while trace is not None:
            code = trace.tb_frame.f_code
            where = f" (in {code.co_qualname}, {code.co_filename.rpartition('/')[2]})"
            trace = trace.tb_next
        what = short(f"{type(error).__name__}: {error}", 120)
        return cls(f"c3sim: a process that does a part of the work failed: {what}{where}")
