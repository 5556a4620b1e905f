"""How much of a trace is communication that nothing hides."""

from __future__ import annotations

from collections.abc import Iterable

from ..traces.intervals import both, length, union
from .trace import Work


def exposed(works: Iterable[Work]) -> float:
    """Time [us] in which a collective runs and no other work of the GPU does."""
    found = list(works)
    moving = union((work.start, work.end) for work in found if work.is_collective)
    computing = union((work.start, work.end) for work in found if not work.is_collective)
    return length(moving) - length(both(moving, computing))
