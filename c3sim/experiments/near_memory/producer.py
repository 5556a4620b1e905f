"""The GEMM that makes the output: workgroups in stages, each a loop over slices of K.

Workgroups of a cohort do the same at the same time. A tile is a prologue, then slices; a slice of
its operands is asked for so many slices ahead, and computed once it is here; at the end the
workgroups store. They hand their stores over to a buffer, so the next tile of the same place begins
at once unless the buffer is full. Resident workgroups share the matrix units of their compute unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

COHORTS = 4  # groups of workgroups that go on together; more change nothing (a test)
EPSILON = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Gemm:
    """A GEMM of *tiles*; times [s] of one tile alone on a compute unit."""

    tiles: int
    places: int  # workgroups that are resident at a time
    units: int
    body: float
    prologue: float
    slices: int  # of K
    ahead: int  # slices that are asked for before they are needed
    read: float  # bytes of memory of a tile's operands
    stored: float  # bytes of a tile's results
    apart: float  # of workgroups at the start, share of a slice's time
    buffer: float  # bytes of stores on their way that hold no workgroup up


@dataclass(slots=True)
class Cohort:
    """Workgroups *first* to first + *count* - 1, at slice *done* of those *loaded* and *asked*."""

    places: int
    wait: float  # s until it computes
    first: int = 0
    count: int = 0
    done: float = 0.0
    loaded: float = 0.0
    asked: int = 0
    over: float = 0.0  # s since its last slice


class Producer:
    """Progress of a GEMM."""

    def __init__(self, gemm: Gemm) -> None:
        self.gemm, self.next = gemm, 0
        parts = min(COHORTS, gemm.places)
        step = gemm.body / gemm.slices * gemm.apart
        self.cohorts = [
            Cohort(gemm.places * (i + 1) // parts - gemm.places * i // parts, step * i / parts)
            for i in range(parts)
        ]
        self._slice = gemm.read / gemm.slices
        for cohort in self.cohorts:
            self._take(cohort)

    @property
    def over(self) -> bool:
        """True once all tiles are computed and handed over."""
        return self.next >= self.gemm.tiles and not any(c.count for c in self.cohorts)

    @property
    def staged(self) -> int:
        """Stages whose workgroups have all begun."""
        return self.next // self.gemm.places

    def wanted(self) -> float:
        """Bytes of operands that have been asked for and are not here."""
        total = 0.0
        for cohort in self.cohorts:
            if cohort.count:
                ahead = int(cohort.done + EPSILON) + self.gemm.ahead
                cohort.asked = max(cohort.asked, min(self.gemm.slices, ahead))
                total += (cohort.asked - cohort.loaded) * cohort.count
        return total * self._slice

    def advance(self, share: float, time: float) -> None:
        """Go on for *time* [s] with *share* of what was wanted."""
        gemm = self.gemm
        active = sum(cohort.count for cohort in self.cohorts)
        rate = gemm.slices / gemm.body * min(1.0, gemm.units / max(active, 1))
        for cohort in self.cohorts:
            if not cohort.count:
                continue
            cohort.loaded += (cohort.asked - cohort.loaded) * share
            waited = min(cohort.wait, time)
            cohort.wait -= waited
            cohort.over = 0.0
            needed = cohort.done + (time - waited) * rate
            cohort.done = min(needed, cohort.loaded + EPSILON, float(gemm.slices))
            if cohort.done >= gemm.slices - EPSILON:
                cohort.over = max(0.0, (needed - gemm.slices) / rate)

    def finished(self, room: float) -> Iterator[range]:
        """Workgroups whose tiles are computed and whose stores find *room* [bytes]; the next ones
        take their places.
        """
        for cohort in self.cohorts:
            while cohort.count and cohort.done >= self.gemm.slices - EPSILON and room > 0:
                room -= cohort.count * self.gemm.stored
                yield range(cohort.first, cohort.first + cohort.count)
                self._take(cohort)

    def _take(self, cohort: Cohort) -> None:
        """Give the places of *cohort* the next workgroups."""
        count = min(cohort.places, self.gemm.tiles - self.next)
        cohort.first, cohort.count = self.next, count
        self.next += count
        cohort.done, cohort.loaded, cohort.asked = 0.0, 0.0, 0
        cohort.wait += self.gemm.prologue - cohort.over
        cohort.over = 0.0
