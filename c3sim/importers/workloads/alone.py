"""Isolated times: of equal kernels, the shortest one that ran with nothing beside it."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from c3sim.importers.traces import overlaps
from c3sim.importers.workloads.trace import Work
from c3sim.simulation.run import Run

Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Alone:
    """Isolated times of equal kernels: how many there are, how many ran alone, and the shortest of
    those [us].
    """

    count: int
    alone: int
    time: float | None


def keys_of(works: Iterable[Work]) -> dict[int, Key]:
    """By id of each work: what it has in common with its repeats.

    Name, grid, block, bytes, and the operator's shapes; of an operator that launches several
    kernels of a name, their place in it.
    """
    keys: dict[int, Key] = {}
    places: dict[tuple[object, ...], int] = {}
    for work in works:
        args, operator = work.args, work.operator
        shapes = (operator.get("args") or {}).get("Input Dims")
        plain: Key = (
            work.name,
            json.dumps([args.get("grid"), args.get("block"), args.get("bytes"), shapes]),
            *((json.dumps(message_of(work)),) if work.is_collective else ()),
        )
        place = 0
        if operator:
            call = (operator.get("ts"), operator.get("pid"), operator.get("tid"), work.name)
            place = places.get(call, 0)
            places[call] = place + 1
        keys[id(work)] = (*plain, str(place))
    return keys


def message_of(work: Work) -> list[object]:
    """Fields that equal collectives have in common."""
    names = ("Collective name", "In msg nelems", "Out msg nelems", "dtype", "Process Group Name")
    return [work.args.get(name) for name in names]


def times_alone(
    works: Sequence[Work], keys: Mapping[int, Key], *, timed: bool = True
) -> dict[Key, Alone]:
    """*works*: all of one device, in order of start; *timed*: their times say what ran beside what,
    else all that have a time ran alone. A collective's time has its wait for others; see ranks.py.
    """
    beside = overlaps([work.interval() for work in works]) if timed else [False] * len(works)
    counts: dict[Key, int] = {}
    alone: dict[Key, list[float]] = {}
    for work, shared in zip(works, beside, strict=True):
        key = keys[id(work)]
        counts[key] = counts.get(key, 0) + 1
        if not shared and work.duration > 0:
            alone.setdefault(key, []).append(work.duration)
    return {
        key: Alone(
            count=count, alone=len(alone.get(key, ())), time=min(alone.get(key, ()), default=None)
        )
        for key, count in counts.items()
    }


# The clock that a trace shows: kernels that run alone take longer where it is lower.
#
# - Which part of a kernel's time follows the clock: its times alone against those of GEMMs near it.
# - At the power limit a GPU's clock is not that of the data sheet's limit: chips differ, and the
# regulator swings about it for tenths of a second. What part of the limit held is found from the
# iteration's kernels that ran alone; those beside others are never looked at.


LONG = 10.0  # us: the ratio of times of shorter kernels is mostly noise
LONG_GEMM = 100.0  # us: a GEMM of at least this shows the clock
NEAR = 3000.0  # us: the clock is taken to be the same so far from a GEMM
LOWERED = 0.03  # GEMMs longer by this show a lowered clock
FEWEST = 3  # instances that a part is taken from
CLOSE = 0.005  # times alone that agree so well need no other limit
LEAST, MOST, TRIES = 0.4, 1.5, 6  # of the search of the part of the limit
STEEP = 2.5  # times go with about this power of the limit: a first guess for the search
NO_NEARER = 0.001  # a step of the search that gains less has gone too far


def followed(
    works: Sequence[Work], keys: Mapping[int, Key], alone: Mapping[Key, Alone]
) -> dict[Key, float]:
    """Part of the time of kernels other than GEMMs that follows the clock, 0 to 1, where the
    trace (*works* in order of start) shows it: with time alone t = t0 (1 + c x), x being by how
    much longer GEMMs take, the least squares' c.
    """
    lone = [
        (work, work.duration / time - 1.0)
        for work, beside in zip(works, overlaps([w.interval() for w in works]), strict=True)
        if not beside and not work.is_collective
        if (time := alone[keys[id(work)]].time) is not None
    ]
    gemms = [(w.start, x) for w, x in lone if w.kind.kind == "gemm" and w.duration >= LONG_GEMM]
    starts = [start for start, _ in gemms]
    sums: dict[Key, tuple[int, float, float]] = {}
    for work, longer in lone:
        time = alone[keys[id(work)]].time or 0.0
        if work.kind.kind == "gemm" or time < LONG or not gemms:
            continue
        place = bisect_left(starts, work.start)
        start, lowered = min(
            gemms[max(0, place - 1) : place + 1], key=lambda g: abs(g[0] - work.start)
        )
        if abs(start - work.start) < NEAR and lowered > LOWERED:
            count, xy, xx = sums.get(keys[id(work)], (0, 0.0, 0.0))
            sums[keys[id(work)]] = (count + 1, xy + lowered * longer, xx + lowered * lowered)
    return {
        key: round(min(1.0, max(0.0, xy / xx)), 3)
        for key, (count, xy, xx) in sums.items()
        if count >= FEWEST
    }


@dataclass(frozen=True, kw_only=True)
class LoneTimes:
    """Tasks whose kernels ran alone in the iteration, and their times there together [us]."""

    tasks: Sequence[str]
    total: float

    @classmethod
    def of(cls, works: Mapping[str, Work]) -> LoneTimes:
        """*works*: by task, of one iteration."""
        ordered = sorted(works.items(), key=lambda item: item[1].start)
        beside = overlaps([work.interval() for _, work in ordered])
        found = {
            name: work.duration
            for (name, work), shared in zip(ordered, beside, strict=True)
            if not shared and not work.is_collective and work.duration >= LONG
        }
        return cls(tasks=list(found), total=sum(found.values()))

    def longer(self, run: Run) -> float:
        """By how much they take longer in *run* than in the trace, relatively."""
        spans = (run.task(name) for name in self.tasks)
        return sum(1e6 * (each.end - each.start) for each in spans) / self.total - 1.0


def part_of_limit(lone: LoneTimes, first: Run, again: Callable[[float], Run]) -> float:
    """The part of the power limit at which kernels alone take what they took in the trace, as near
    as it decides that; *first*: the run with all of it, *again*: that with another part.
    """
    apart = lone.longer(first) if lone.tasks else 0.0
    part, best, nearest = 1.0, 1.0, abs(apart)
    for _ in range(TRIES):
        part = min(max(part * (1.0 + apart) ** STEEP, LEAST), MOST)
        if nearest < CLOSE or part in (LEAST, MOST):
            break
        apart = lone.longer(again(part))
        if apart > nearest - NO_NEARER:  # gone too far, or the limit no longer matters
            break
        if abs(apart) < nearest:
            best, nearest = part, abs(apart)
    return round(best, 3)
