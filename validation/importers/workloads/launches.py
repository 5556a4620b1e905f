"""When the host launched what, counted from the iteration's begin on the GPU."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from .trace import Call, Trace, Work

SLACK = 20.0  # us: a kernel launched this long before its stream is free was there in time
LONGEST_GAP = 20.0  # us: longer ones are no gap between kernels in a row
MOST_BACK = 1000  # launches before a synchronisation among which it finds what it waited for
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
    """Of *works* in launch order, with what they wait for on other streams; *dispatch* [us]: from a
    launch to an idle GPU's first workgroup.

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
        recent = range(max(0, index - MOST_BACK), index)
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
