"""The cost of a call in steps: counts that do not depend on the machine or on what runs beside."""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile


def steps(work: Callable[[], object]) -> int:
    """The number of functions that *work* calls, those of libraries included."""
    profile = Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())
