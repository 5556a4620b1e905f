"""Waits between kernels of different streams: by events, else inferred from order and times.

- Where the trace says which record of which event a wait is for (``cuda_sync``), that is taken.
- A wait without that belongs to the stream of the next launch, and to the latest record behind a
  launch on another stream whose work had ended before: as frameworks call them, record, wait,
  launch.
- A kernel that began late though its stream and its launch were there waited for a kernel of
  another stream that had just ended.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from c3sim.importers.workloads.alone import message_of
from c3sim.importers.workloads.trace import Call, Iteration, Trace, Work

#: [us] From the end of what a kernel waits for to its start, at most: an event takes 5 to 8.
JUST_ENDED = 12.0
CLOCK = 1.0  # us: ends and starts of a trace are as exact as this
MOST_BACK = 16  # records that are looked at before a wait


@dataclass
class Waits:
    """Per work (index in launch order) the works of other streams that it waits for, and how many
    of these the trace tells itself, are inferred from the order of calls, and from times.
    """

    after: dict[int, set[int]] = field(default_factory=dict)
    told: int = 0
    by_order: int = 0
    by_time: int = 0

    def add(self, work: int, awaited: int) -> bool:
        """True if it is new."""
        known = self.after.setdefault(work, set())
        new = awaited not in known
        known.add(awaited)
        return new


def find_waits(trace: Trace, works: Sequence[Work]) -> Waits:
    """Waits of *works* in launch order."""
    waits = Waits()
    if trace.awaits is not None:
        _all_told(waits, trace.awaits, works)
        return waits
    if not trace.timed:
        return waits
    launches = _Launches(works)
    records = {call.correlation: call for call in trace.records}
    if launches.works:
        for call in trace.waits:
            if call.about:
                _told(waits, launches, call, records)
            else:
                _by_order(waits, launches, call, trace.records)
    _by_time(waits, works)
    return waits


def _all_told(waits: Waits, awaits: Mapping[int, Sequence[Work]], works: Sequence[Work]) -> None:
    """The trace has every dependency; what is launched later cannot be waited for."""
    places = {id(work): index for index, work in enumerate(works)}
    for index, work in enumerate(works):
        for other in awaits.get(id(work), ()):
            place = places.get(id(other), index)
            if place < index and other.stream != work.stream:
                waits.told += waits.add(index, place)


class _Launches:
    """Works with a launch, by the time of their call; *works*: indices."""

    def __init__(self, works: Sequence[Work]):
        self.all = works
        self.works = [i for i, work in enumerate(works) if work.called is not None]
        self.times = [works[i].called or 0.0 for i in self.works]

    def next(self, time: float, stream: str | None = None) -> int | None:
        """The first launch behind *time*, on *stream* where that is known."""
        rest = self.works[bisect_left(self.times, time) :]
        return next((i for i in rest if stream in (None, self.all[i].stream)), None)

    def last(self, time: float, stream: str | None = None) -> int | None:
        """The last launch before *time*."""
        for position in range(bisect_right(self.times, time) - 1, -1, -1):
            index = self.works[position]
            if stream in (None, self.all[index].stream):
                return index
        return None


def _told(waits: Waits, launches: _Launches, call: Call, records: Mapping[int, Call]) -> None:
    """*call* names its stream and the record that it waits for."""
    about = call.about
    waiter = launches.next(call.start, str(about.get("stream")))
    record = records.get(int(about.get("wait_on_cuda_event_record_corr_id", -1)))
    if waiter is None or record is None:
        return
    awaited = launches.last(record.start, str(about.get("wait_on_stream")))
    if awaited is not None and launches.all[awaited].stream != launches.all[waiter].stream:
        waits.told += waits.add(waiter, awaited)


def _by_order(waits: Waits, launches: _Launches, call: Call, records: Sequence[Call]) -> None:
    waiter = launches.next(call.start)
    if waiter is None:
        return
    work = launches.all[waiter]
    before = bisect_left(records, call.start, key=lambda record: record.start)
    for record in reversed(records[max(0, before - MOST_BACK) : before]):
        awaited = launches.last(record.start)
        if awaited is None:
            return
        other = launches.all[awaited]
        if other.stream != work.stream and other.end <= work.start + CLOCK:
            waits.by_order += waits.add(waiter, awaited)
            return


def _by_time(waits: Waits, works: Sequence[Work]) -> None:
    """Add waits that explain late starts; without launches in the trace all could begin at once."""
    launched = any(work.launched is not None for work in works)
    begin = [] if launched else [min(work.start for work in works)]
    by_end = sorted(range(len(works)), key=lambda i: works[i].end)
    ends = [works[i].end for i in by_end]
    before: dict[str, Work] = {}
    for index, work in enumerate(works):
        known = [works[i].end for i in waits.after.get(index, ())]
        known += [before[work.stream].end] if work.stream in before else begin
        known += [work.launched] if work.launched is not None else []
        before[work.stream] = work
        if not known or max(known) >= work.start - JUST_ENDED:
            continue
        first = bisect_left(ends, work.start - JUST_ENDED)
        last = bisect_right(ends, work.start + CLOCK)
        candidates = [i for i in by_end[first:last] if i < index and works[i].stream != work.stream]
        if candidates:
            waits.by_time += waits.add(index, candidates[-1])


# Collectives over the ranks whose traces there are: who came last, and how long it took from then.
#
# Each rank's collectives of an iteration are matched in order, per process group and message.


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
    """Offset of each rank's clock [us], so that collectives end together."""
    shifts = [0.0] * ranks
    for rank in range(1, ranks):
        apart = [group[0].end - group[rank].end for group in paired]
        middle = median(apart) if apart else 0.0
        shifts[rank] = middle if abs(middle) > CLOCKS else 0.0
    return shifts


# When the host launched what, counted from the iteration's begin on the GPU.


SLACK = 20.0  # us: a kernel launched this long before its stream is free was there in time
LONGEST_GAP = 20.0  # us: longer ones are no gap between kernels in a row
MOST_LAUNCHES = 1000  # launches before a synchronisation among which it finds what it waited for
FEWEST = 5  # gaps that a median is taken of


@dataclass(frozen=True, kw_only=True)
class Launch:
    """*time* [us] of the host up to the launch, behind the one before it or behind *after*: works
    that the host waits for.
    """

    time: float
    after: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HostSide:
    """*launches* of each work; None: all were in the queues before the iteration began. *lead*
    [us]: how long before its first kernel began the host had launched it.
    """

    launches: Sequence[Launch] | None
    lead: float
    waits: int
    lacking: int  # works without a launch in the trace
    gap: float | None  # us, between two kernels of a stream


def host_side(
    trace: Trace, works: Sequence[Work], dispatch: float, after: Mapping[int, Iterable[int]]
) -> HostSide:
    """Launches of *works* in launch order, with what they wait for on other streams; *dispatch*
    [us]: from a launch to an idle GPU's first workgroup.

    What had been launched before the iteration's first kernel began takes the host no time. Of a
    kernel without a launch in the trace, it is taken that it was launched in time, or, where
    nothing else explains that it began late, just then.
    """
    if not trace.timed:
        return HostSide(launches=None, lead=0.0, waits=0, lacking=0, gap=None)
    first = min(works, key=lambda work: work.start)
    release = first.start - dispatch
    launches, host, waits = list[Launch](), 0.0, 0
    calls = sorted(trace.syncs, key=lambda call: call.start)
    starts = [call.start for call in calls]
    seen, ended = 0.0, dict[str, float]()
    for index, work in enumerate(works):
        awaited = _awaited(calls, starts, works, index, seen)
        seen = max(seen, work.called or 0.0)
        awaited = tuple(i for i in awaited if works[i].end > release)
        free = max((works[i].end for i in after.get(index, ())), default=release)
        free = max(free, ended.get(work.stream, release))
        ended[work.stream] = work.end
        moment = min(work.launched or work.start, work.start - dispatch) - release
        if work.launched is None and work.start < free + SLACK:
            moment = host
        begin = max([host, *(works[i].end - release for i in awaited)])
        waits += bool(awaited)
        launches.append(Launch(time=max(0.0, moment - begin), after=awaited))
        host = max(begin, moment)
    return HostSide(
        launches=launches if host > 0.0 else None,
        lead=max(0.0, first.start - first.launched) if first.launched is not None else 0.0,
        waits=waits,
        lacking=sum(work.launched is None for work in works),
        gap=_gap(works),
    )


def _awaited(
    calls: Sequence[Call], starts: Sequence[float], works: Sequence[Work], index: int, seen: float
) -> tuple[int, ...]:
    """Works whose end the host saw in a call between the last launch and that of *index*."""
    called = works[index].called
    if called is None or not index:
        return ()
    between = calls[bisect_left(starts, seen) : bisect_left(starts, called)]
    awaited: dict[int, None] = {}
    for call in between:
        recent = range(max(0, index - MOST_LAUNCHES), index)
        ended = [i for i in recent if works[i].end <= call.end and works[i].called is not None]
        if "Device" in call.name or "Ctx" in call.name:
            last = {works[i].stream: i for i in ended}
            awaited |= dict.fromkeys(last.values())
        elif ended:
            stream = call.about.get("stream")
            ended = [i for i in ended if stream is None or works[i].stream == str(stream)] or ended
            awaited[max(ended, key=lambda i: works[i].end)] = None
    return tuple(awaited)


def _gap(works: Sequence[Work]) -> float | None:
    """The median between two kernels of a stream of which the second was there in time."""
    gaps, before = list[float](), dict[str, Work]()
    for work in works:
        last = before.get(work.stream)
        before[work.stream] = work
        if last is None or work.launched is None or work.launched > last.end - SLACK:
            continue
        if 0.0 <= (gap := work.start - last.end) < LONGEST_GAP:
            gaps.append(gap)
    return median(gaps) if len(gaps) >= FEWEST else None
