"""The original beside its replay on one time line, for ui.perfetto.dev."""

from __future__ import annotations

from dataclasses import replace

from c3sim.result import Span, Timeline

from .build import Built
from .replay import Replay

ORIGINAL = "trace"  # the group of tracks that shows what the trace has


def beside(built: Built, replayed: Replay) -> Timeline:
    """The replay's timeline with the kernels of the trace, both from their first kernel on."""
    timeline, run = replayed.run.timeline, replayed.run
    assert timeline is not None, "the replay was run without a trace"
    begin = min(times.start for times in run.times.values())
    tasks = built.workload["tasks"]
    original = []
    for name, work in built.works.items():
        start = begin + 1e-6 * (work.start - built.start)
        original.append(
            Span(
                owner=ORIGINAL,
                row=f"stream.{tasks[name]['stream']}",
                name=name,
                task=name,
                start=start,
                end=start + 1e-6 * work.duration,
                detail={"kernel": work.name},
            )
        )
    spans = sorted([*timeline.spans, *original], key=lambda span: (span.start, span.end))
    return replace(timeline, spans=spans, end=max(timeline.end, max(s.end for s in original)))
