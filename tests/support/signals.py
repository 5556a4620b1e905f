"""Signals in processes that tests start."""

from __future__ import annotations

import signal
import sys

import pytest

with_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def hear_interrupts() -> None:
    """For ``preexec_fn``: Ctrl-C is heard even where whoever runs the tests has it ignored, as
    shells do for what runs in the background.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
