"""Collectives over the ranks whose traces there are: who came last, and how long it took from then.

Each rank's collectives of an iteration are matched in order, per process group and message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from .alone import message_of
from .iteration import Iteration
from .trace import Work

CLOCKS = 50.0  # us: ends of a collective that lie further apart on two ranks are of other clocks


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """A collective on one rank: *late* [us], how long after this rank the last one came; *time*
    [us] from then to its end; *alone*: nothing else ran on this rank in that time.
    """

    late: float
    time: float
    alone: bool


@dataclass(frozen=True, kw_only=True)
class Meetings:
    """*of* each collective by id of its work on the rank that was chosen, *rank* (index): that
    which waited least; *shift* [us]: clocks put right.
    """

    rank: int
    of: dict[int, Meeting]
    shift: float


def meet(ranks: Sequence[Iteration], everything: Sequence[Sequence[Work]]) -> Meetings:
    """The same iteration of several ranks; *everything*: all works of each, in order of start."""
    rows = [[work for work in each.works if work.is_collective] for each in ranks]
    paired = _paired(rows)
    shifts = _shifts(paired, len(ranks))
    waiting = [0.0] * len(ranks)
    for group in paired:
        last = max(work.start + shift for work, shift in zip(group, shifts, strict=True))
        for rank, (work, shift) in enumerate(zip(group, shifts, strict=True)):
            waiting[rank] += last - work.start - shift
    chosen = min(range(len(ranks)), key=lambda rank: waiting[rank])
    found = {}
    for group in paired:
        own = group[chosen]
        last = max(w.start + shift for w, shift in zip(group, shifts, strict=True)) - shifts[chosen]
        alone = not any(
            other.end > last and other.start < own.end
            for other in everything[chosen]
            if other is not own
        )
        late = min(max(0.0, last - own.start), own.duration)
        found[id(own)] = Meeting(late=late, time=own.duration - late, alone=alone)
    return Meetings(rank=chosen, of=found, shift=max(map(abs, shifts)))


def _paired(rows: Sequence[Sequence[Work]]) -> list[tuple[Work, ...]]:
    """The same collective on every rank; what one of them lacks is left out."""
    queues: list[dict[str, list[Work]]] = []
    for row in rows:
        queue: dict[str, list[Work]] = {}
        for work in row:
            queue.setdefault(str(message_of(work)), []).append(work)
        queues.append(queue)
    pairs = []
    for message, works in queues[0].items():
        others = [queue.get(message, []) for queue in queues[1:]]
        if all(len(other) == len(works) for other in others):
            pairs += list(zip(works, *others, strict=True))
    return pairs


def _shifts(paired: Sequence[tuple[Work, ...]], ranks: int) -> list[float]:
    """What to add to each rank's times [us], so that collectives end together."""
    shifts = [0.0] * ranks
    for rank in range(1, ranks):
        apart = [group[0].end - group[rank].end for group in paired]
        middle = median(apart) if apart else 0.0
        shifts[rank] = middle if abs(middle) > CLOCKS else 0.0
    return shifts
