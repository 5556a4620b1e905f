"""How well tasks overlapped, against how well they could have: pure arithmetic on times.

    serial = sum of the isolated times      ideal speedup = serial / longest isolated time
    speedup = serial / wall                 fraction of ideal = (speedup - 1) / (ideal speedup - 1)

The caller says which isolated times are meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NOTHING_TO_GAIN = 1e-9  # relative: an ideal speedup this close to 1 is 1


@dataclass(frozen=True, slots=True)
class Overlap:
    """*fraction* is None where nothing can overlap: one task, or an ideal speedup of 1."""

    serial: float
    ideal_speedup: float
    speedup: float
    fraction: float | None


def overlap(isolated: Sequence[float], wall: float) -> Overlap:
    """From the *isolated* times of the tasks and the *wall* time of them together [s]."""
    serial = sum(isolated)
    ideal, speedup = serial / max(isolated), serial / wall
    return Overlap(
        serial, ideal, speedup, (speedup - 1) / (ideal - 1) if ideal - 1 > NOTHING_TO_GAIN else None
    )
