"""Runs that may be called off while they go on, by whoever asked for them in the same thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OFTEN = 64  # events of a run between two questions, some milliseconds

Ask = Callable[[], None]


def _go_on() -> None:
    """Nobody calls it off."""


_ask: ContextVar[Ask] = ContextVar("ask", default=_go_on)


@contextmanager
def may_be_called_off(ask: Ask) -> Iterator[None]:
    """Every run in here calls *ask* now and then; what that raises ends the run, and is not caught
    on its way here.
    """
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


def asked() -> Ask:
    """What a run that begins now has to call now and then."""
    return _ask.get()
