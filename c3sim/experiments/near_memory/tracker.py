"""The tracker: a table near memory that counts the updates of regions of the output.

A region is what one workgroup of the GEMM makes. An entry has the index ``region mod entries``, the
rest of the number as its tag, and the updates that are still missing: the local one and the one of
the GPU before. The wavefronts of a workgroup store together, so that one counter stands for theirs.
A region whose entry holds another tag misses:

    spill   its counter lies in memory; each update reads and writes it there
    late    nobody counts it; it leaves once the kernel has ended

Source: arXiv 2401.16677 for entries, tags and counters; what a miss does is not known, so both are
here.
"""

from __future__ import annotations

from typing import Literal

Miss = Literal["spill", "late"]
UPDATES = 2  # of a region: the local one, the one of the GPU before


class Tracker:
    """A tracker of *entries*; 0: none, everything is late; None: as many as it takes."""

    def __init__(self, entries: int | None, miss: Miss) -> None:
        self.entries, self.miss = entries, miss
        self.misses = 0  # updates that found another tag
        self.peak = 0  # entries in use at a time
        self._table: dict[int, list[int]] = {}  # index -> tag, updates that are missing
        self._spilled: dict[int, int] = {}  # region -> updates that are missing

    def update(self, region: int) -> Literal["complete", "counted", "missed"]:
        """Count an update of *region*. "missed": of a region without an entry, complete or not;
        :meth:`complete_in_memory` tells.
        """
        if region in self._spilled:
            return self._missed(region)
        index, tag = (region, 0) if self.entries is None else (0, 0)
        if self.entries is not None:
            if not self.entries:
                return self._missed(region)
            index, tag = region % self.entries, region // self.entries
        entry = self._table.setdefault(index, [tag, UPDATES])
        if entry[0] != tag:
            return self._missed(region)
        self.peak = max(self.peak, len(self._table))
        entry[1] -= 1
        if entry[1]:
            return "counted"
        del self._table[index]
        return "complete"

    def complete_in_memory(self, region: int) -> bool:
        """True if the last update of a *region* that has missed was there."""
        return self._spilled.get(region, 1) == 0

    def _missed(self, region: int) -> Literal["missed"]:
        self.misses += 1
        self._spilled[region] = self._spilled.get(region, UPDATES) - 1
        return "missed"
