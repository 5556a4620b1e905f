"""How much of a trace is communication that nothing hides."""

from __future__ import annotations

from collections.abc import Iterable

from c3sim.simulation.exposure import uncovered

from .trace import Work


def exposed(works: Iterable[Work]) -> float:
    """Time [us] in which a collective runs and no other work of the GPU does."""
    found = list(works)
    return uncovered(
        ((work.start, work.end) for work in found if work.is_collective),
        by=((work.start, work.end) for work in found if not work.is_collective),
    )
