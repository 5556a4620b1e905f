"""Things that several tests look at and that take long: made once, by whichever worker comes to it
first.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

Made = TypeVar("Made")


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[], Made]) -> Made:
    """The result of *make*, kept as *name* for all workers of pytest-xdist; others wait for it."""
    base = factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    kept = folder / f"{name}.pickle"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make()))
        return pickle.loads(kept.read_bytes())
