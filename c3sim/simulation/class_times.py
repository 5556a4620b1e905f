"""Where the time of a run went: unions of intervals, by operator class.

- *busy*: time in which at least one task of the class runs
- *exposed* of a class: time in which only tasks of that class run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from c3sim.simulation.run import Run
from c3sim.specs.task import CLASSES as SIDES
from c3sim.specs.task import Kernel, Operator
from c3sim.specs.workload import Gemm, HostTask, Workload

CLASSES: tuple[Operator, ...] = get_args(Operator)
Interval = tuple[float, float]


def classes_of(workload: Workload) -> dict[str, Operator]:
    """The operator class of each task; kernels that only stress a GPU count as element-wise. Work
    of the host has none.
    """
    classes: dict[str, Operator] = {}
    for name, task in workload.tasks.items():
        if isinstance(task, Kernel):
            classes[name] = task.operator
        elif isinstance(task, Gemm):
            classes[name] = "gemm"
        elif SIDES[task.kind] == "communication":
            classes[name] = "communication"
        elif not isinstance(task, HostTask):
            classes[name] = "elementwise"
    return classes


def busy_and_exposed(run: Run, classes: Mapping[str, Operator]) -> dict[str, tuple[float, float]]:
    """Class -> (busy, exposed) [s] on the slowest simulated GPU."""
    slowest = max(run.times, key=lambda key: run.times[key].end)[1]
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
