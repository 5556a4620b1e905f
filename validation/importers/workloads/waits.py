"""What kernels of other streams a kernel waits for: by events, else inferred from order and times.

- Where the trace says which record of which event a wait is for (``cuda_sync``), that is taken.
- A wait without that belongs to the stream of the next launch, and to the latest record behind a
  launch on another stream whose work had ended before: as frameworks call them, record, wait,
  launch.
- A kernel that began late though its stream and its launch were there waited for a kernel of
  another stream that had just ended.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .trace import Call, Trace, Work

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
        """Whether it is new."""
        known = self.after.setdefault(work, set())
        new = awaited not in known
        known.add(awaited)
        return new


def find_waits(trace: Trace, works: Sequence[Work]) -> Waits:
    """Of *works* in launch order."""
    waits = Waits()
    if trace.awaits is not None:
        _all_told(waits, trace.awaits, works)
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
    """What else explains that a kernel began late."""
    by_end = sorted(range(len(works)), key=lambda i: works[i].end)
    ends = [works[i].end for i in by_end]
    before: dict[str, Work] = {}
    for index, work in enumerate(works):
        known = [works[i].end for i in waits.after.get(index, ())]
        known += [before[work.stream].end] if work.stream in before else []
        known += [work.launched] if work.launched is not None else []
        before[work.stream] = work
        if not known or max(known) >= work.start - JUST_ENDED:
            continue
        first = bisect_left(ends, work.start - JUST_ENDED)
        last = bisect_right(ends, work.start + CLOCK)
        candidates = [i for i in by_end[first:last] if i < index and works[i].stream != work.stream]
        if candidates:
            waits.by_time += waits.add(index, candidates[-1])
