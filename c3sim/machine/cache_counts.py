"""Effect of each task on the lines of the last cache that all compute units share, counted from the
rates of its flows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from c3sim.engine.recorder import Segment
from c3sim.machine.state import FlowTags
from c3sim.models.cache_lines import total
from c3sim.models.cache_policy import Insertion


class CacheCounts(NamedTuple):
    """Line counts of one GPU (the mean over those that were simulated).

    *inserted_bytes*: what took lines; *written_bytes*: to memory, of which *row_hits* is the part
    that hit its DRAM row as often as memory's efficiencies have it; *stalls*: part of the bytes to
    and from memory that waited for a line; *write_backs*: how written lines left; *released_bytes*:
    what the kernel wrote back as it ended.
    """

    inserted_bytes: float = 0.0
    written_bytes: float = 0.0
    row_hits: float = 1.0
    stalls: float = 0.0
    write_backs: str = ""
    released_bytes: float = 0.0


def cache_counts(
    segments: Iterable[Segment], group: Callable[[str], str], gpus: int
) -> dict[str, CacheCounts]:
    """By task; *group*: whose state a task feels."""
    sums: dict[str, list[float]] = {}
    for segment in segments:
        tags, count = segment.flow.tags, segment.rate * (segment.end - segment.start)
        moved = tags.traffic.hbm_read + tags.traffic.hbm_write
        written = count * tags.traffic.hbm_write
        state = None if segment.state is None else segment.state.of(group(tags.task))
        parts = (
            count * tags.traffic.inserted * sum(tags.lines.inserted),
            written,
            written * tags.lines.row_misses,
            count * moved,
            count * moved * (state.stalled if state is not None and tags.waits else 0.0),
        )
        old = sums.get(tags.task, [0.0] * len(parts))
        sums[tags.task] = [a + b for a, b in zip(old, parts, strict=True)]
    return {
        task: CacheCounts(
            inserted_bytes=inserted / gpus,
            written_bytes=written / gpus,
            row_hits=1.0 - missed / written if written else 1.0,
            stalls=waited / moved if moved else 0.0,
        )
        for task, (inserted, written, missed, moved, waited) in sums.items()
    }


def inserted(tags: Sequence[FlowTags], window: float) -> Insertion:
    """B/s that flows insert, and what tasks touch of lines that stay: in *window* s each no more
    than it has there. (Lines that come between two uses of another one, used once or often: the
    footprint of a window; Xiang et al., HOTL, ASPLOS 2013.)
    """
    touched: dict[str, float] = {}
    most: dict[str, float] = {}
    for each in tags if window else ():
        if each.touches:
            touched[each.task] = touched.get(each.task, 0.0) + each.touches
            most[each.task] = each.traffic.footprint / window
    stay = [Insertion(min(rate, most[task]), 0.0) for task, rate in touched.items()]
    return total([*(each.inserts for each in tags), *stay])
