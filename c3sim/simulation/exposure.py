"""Where time on one rank goes: compute runs, or communication is exposed. Spans are in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from c3sim.specs.task import CLASSES
from c3sim.specs.workload import Workload

if TYPE_CHECKING:
    from c3sim.simulation.run import TaskRun

Span = tuple[float, float]


class Exposure(NamedTuple):
    """On the slowest rank [s]: *computing*, compute tasks run; *exposed*, communication runs or is
    waited for and no compute task runs.
    """

    exposed: float
    computing: float


def union(spans: Iterable[Span]) -> list[Span]:
    """*spans* merged where they touch, in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(spans: Iterable[Span]) -> float:
    """Of spans that do not touch."""
    return sum(end - start for start, end in spans)


def uncovered(spans: Iterable[Span], by: Iterable[Span]) -> float:
    """How long some of *spans* and none of *by* is there."""
    covers = union(by)
    return length(union([*spans, *covers])) - length(covers)


def exposure(workload: Workload, times: Mapping[tuple[str, int], TaskRun]) -> Exposure:
    """Of the rank that ends last. Communication is waited for from when it is ready, that is, when
    all tasks that it waits for have ended; compute runs from its first workgroup.
    """
    slowest = max(times, key=lambda key: times[key].end)[1]
    compute: list[Span] = []
    communication: list[Span] = []
    for (name, gpu), run in times.items():
        what = CLASSES[workload.tasks[name].kind]
        if gpu == slowest and what == "compute":
            compute.append((run.start, run.end))
        elif gpu == slowest and what == "communication":
            communication.append((run.ready, run.end))
    return Exposure(uncovered(communication, compute), length(union(compute)))
