"""How well tasks overlapped, against how well they could have: pure arithmetic on times.

    serial = sum of the isolated times      ideal speedup = serial / least time
    speedup = serial / wall                 fraction of ideal = (speedup - 1) / (ideal speedup - 1)

The least time is the longest chain of tasks that wait for each other, or all that one resource has
to do (simulation/critical_path.py); of a pair, its longer task. The caller says which isolated
times are meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NOTHING_TO_GAIN = 1e-9  # relative: an ideal speedup this close to 1 is 1


@dataclass(frozen=True, slots=True)
class Overlap:
    """*fraction* is None where nothing can overlap: one task, or an ideal speedup of 1."""

    serial: float
    least: float
    ideal_speedup: float
    speedup: float
    fraction: float | None


def overlap(isolated: Sequence[float], wall: float, least: float | None = None) -> Overlap:
    """From the *isolated* times of the tasks, the *wall* time of them together and the *least* one
    [s]; without it, of a pair whose tasks wait for nothing.
    """
    serial = sum(isolated)
    least = max(isolated) if least is None else least
    ideal, speedup = serial / least, serial / wall
    fraction = (speedup - 1) / (ideal - 1) if ideal - 1 > NOTHING_TO_GAIN else None
    return Overlap(serial, least, ideal, speedup, fraction)
