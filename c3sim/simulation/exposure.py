"""The time of a run by class: unions of intervals on one rank, in seconds.

- *busy*: time in which at least one task of an operator class runs
- *exposed*: time in which only tasks of that class run; of communication as a whole, time in which
  it runs or is waited for and nothing computes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from c3sim.simulation.run import Exposure, Run, TaskRun
from c3sim.spec.task import Operator
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import kind_of

Span = tuple[float, float]


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
    """Total length of spans that do not touch."""
    return sum(end - start for start, end in spans)


def uncovered(spans: Iterable[Span], by: Iterable[Span]) -> float:
    """The time [s] in which some of *spans* and none of *by* is there."""
    covers = union(by)
    return length(union([*spans, *covers])) - length(covers)


def exposure(workload: Workload, times: Mapping[tuple[str, int], TaskRun]) -> Exposure:
    """Exposed communication of the rank that ends last. Communication is waited for from when it is
    ready, that is, when all tasks that it waits for have ended; compute runs from its first
    workgroup.
    """
    slowest = max(times, key=lambda key: times[key].end)[1]
    compute: list[Span] = []
    communication: list[Span] = []
    for (name, gpu), run in times.items():
        what = kind_of(workload.tasks[name]).side
        if gpu == slowest and what == "compute":
            compute.append((run.start, run.end))
        elif gpu == slowest and what == "communication":
            communication.append((run.ready, run.end))
    return Exposure(uncovered(communication, compute), length(union(compute)))


CLASSES: tuple[Operator, ...] = get_args(Operator)
Interval = tuple[float, float]


def classes_of(workload: Workload) -> dict[str, Operator]:
    """The operator class of each task; kernels that only stress a GPU count as element-wise. Work
    of the host has none.
    """
    classes = {name: kind_of(task).operator(task) for name, task in workload.tasks.items()}
    return {name: operator for name, operator in classes.items() if operator is not None}


def busy_and_exposed(run: Run, classes: Mapping[str, Operator]) -> dict[str, tuple[float, float]]:
    """Class -> (busy, exposed) [s] on the slowest simulated GPU."""
    slowest = run.last_gpu
    intervals: dict[str, list[Interval]] = {name: [] for name in CLASSES}
    for (task, gpu), times in run.times.items():
        if gpu == slowest and task in classes:
            intervals[classes[task]].append((times.start, times.end))
    return _shares(intervals)


def _shares(intervals: Mapping[str, Iterable[Interval]]) -> dict[str, tuple[float, float]]:
    """Sweep over all starts and ends, counting what runs."""
    events = sorted(
        (time, change, name)
        for name, spans in intervals.items()
        for start, end in spans
        for time, change in ((start, 1), (end, -1))
    )
    running = dict.fromkeys(intervals, 0)
    busy, exposed = dict.fromkeys(intervals, 0.0), dict.fromkeys(intervals, 0.0)
    before = 0.0
    active: set[str] = set()
    for time, change, name in events:
        for one in active:
            busy[one] += time - before
        if len(active) == 1:
            exposed[next(iter(active))] += time - before
        before = time
        running[name] += change
        if running[name]:
            active.add(name)
        else:
            active.discard(name)
    return {name: (busy[name], exposed[name]) for name in intervals}


def compute_busy(run: Run, classes: Mapping[str, Operator]) -> float:
    """Time in which at least one task that is no communication runs [s]."""
    merged: dict[str, Operator] = {
        name: "communication" if kind == "communication" else "gemm"
        for name, kind in classes.items()
    }
    return busy_and_exposed(run, merged)["gemm"][0]
