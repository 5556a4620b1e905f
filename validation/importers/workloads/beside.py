"""The original beside its replay on one time line, for ui.perfetto.dev."""

from __future__ import annotations

from dataclasses import replace

from c3sim.result import Span, Timeline

from .build import Built
from .replay import Replay

BOTH = "both: trace and replay"  # the group of tracks that comes first


def beside(built: Built, replayed: Replay) -> Timeline:
    """The replay's timeline and, per stream, a track of the trace above one of the replay, both
    from their first kernel on. Of a trace without times the replay alone.
    """
    timeline, run = replayed.run.timeline, replayed.run
    assert timeline is not None, "the replay was run without a trace"
    if not built.timed:
        return timeline
    begin = min(times.start for times in run.times.values())
    spans = []
    for name, work in built.works.items():
        stream = built.workload["tasks"][name]["stream"]
        start, times = begin + 1e-6 * (work.start - built.start), run.task(name)
        ends = {"1 trace": (start, start + 1e-6 * work.duration)}
        ends["2 replay"] = (times.start, times.end)
        spans += [
            Span(
                owner=BOTH,
                row=f"{stream} {which}",
                name=name,
                task=name,
                start=first,
                end=last,
                detail={"kernel": work.name},
            )
            for which, (first, last) in ends.items()
        ]
    both = sorted([*timeline.spans, *spans], key=lambda span: (span.start, span.end))
    return replace(timeline, spans=both, end=max(timeline.end, max(s.end for s in spans)))
