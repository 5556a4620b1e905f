"""Measurements: records with one ``id`` in one suite are repeats, compared once, by their means.

Prediction cannot be closer to a measurement than its repeats are to each other. Their distance is
|a - b| / mean, over all pairs; of more than MOST_PAIRS, over each repeat and those next to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from c3sim.spec.record import Measured, Record, TaskTime
from c3sim.spec.workload import Workload

from .loops import has_figures, mean_observed, measured_loop

# Metric and task; the task is empty for what belongs to the run, such as its wall time.
FigureKey = tuple[str, str]


#: Pairs of repeats of one figure: 447 repeats have so many.
MOST_PAIRS = 100_000


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """*record* has the mean of every time of *repeats*, the lines of the file."""

    record: Record
    repeats: tuple[Record, ...]

    def differences(self, key: FigureKey) -> tuple[float, ...]:
        """|a - b| / mean of one figure, for the pairs of repeats that have it."""
        if len(self.repeats) < 2:
            return ()
        values = [figures[key] for figures in self.figures if key in figures]
        apart = len(values) - 1
        if len(values) * apart > 2 * MOST_PAIRS:
            apart = max(1, MOST_PAIRS // len(values))
        pairs = ((a, b) for i, a in enumerate(values) for b in values[i + 1 : i + 1 + apart])
        return tuple(abs(a - b) / ((a + b) / 2) for a, b in pairs)

    @cached_property
    def figures(self) -> tuple[Mapping[FigureKey, float], ...]:
        """The figures of each repeat."""
        return tuple(map(measured_figures, self.repeats))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """|a - b| / mean over *pairs* of repeats."""

    pairs: int
    median: float
    p90: float


def merge(records: Iterable[Record]) -> list[Measurement]:
    """Each measurement once, in the order of its first line, without mere observations."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if has_figures(record):
            groups.setdefault((record.suite, record.id), []).append(record)
    return [Measurement(record=_mean(each), repeats=tuple(each)) for each in groups.values()]


def observations(records: Iterable[Record]) -> list[Record]:
    """The records without a time or the power of a loop: nothing in them can be compared."""
    return [record for record in records if not has_figures(record)]


def measured_figures(record: Record) -> dict[FigureKey, float]:
    """Every figure of *record* that a prediction is compared with.

    ============================== =====================================================
    isolated_KIND                  time of a task alone [us]
    power, loop_time, energy       of a load in a loop: [W], [us], [J] (``loops``)
    wall, or sequence              the whole run [us]; sequence: all tasks in one stream
    KIND_time                      time of a task beside others [us]
    KIND_moving                    the same without waiting for other ranks [us]
    KIND_slowdown                  that time over its isolated time
    KIND_lasting                   from its own start to its end, behind others [us]
    ============================== =====================================================
    """
    measured, tasks = record.measured, record.workload.tasks
    figures = {
        (f"isolated_{tasks[task].kind}", task): time for task, time in measured.isolated.items()
    }
    if loop := measured_loop(record):
        figures |= {(metric, ""): value for metric, value in loop.figures.items()}
    if measured.wall_us is not None:
        metric = "sequence" if _is_sequence(record.workload) else "wall"
        figures[metric, ""] = measured.wall_us
    for task, times in measured.tasks.items():
        kind = tasks[task].kind
        figures[f"{kind}_time", task] = times.time_us
        if times.moving_us is not None:
            figures[f"{kind}_moving", task] = times.moving_us
        if task in measured.isolated:
            figures[f"{kind}_slowdown", task] = times.time_us / measured.isolated[task]
    for task, time in measured.lasting.items():
        figures[f"{tasks[task].kind}_lasting", task] = time
    return figures


def timed_tasks(record: Record) -> list[str]:
    """Tasks of *record* that a predictor has to know alone: all but holds in a stream of others
    that nobody measured alone, which sleep for a time that they say themselves.
    """
    tasks, measured = record.workload.tasks, record.measured.isolated
    streams = Counter(task.stream for task in tasks.values())
    return [
        name
        for name, task in tasks.items()
        if name in measured
        or not (task.kind == "hold" and task.stream and streams[task.stream] > 1)
    ]


def spread(values: Sequence[float]) -> Spread | None:
    """Median and 90th percentile; None without values."""
    if not values:
        return None
    p90 = float(np.quantile(np.array(values), 0.9))
    return Spread(pairs=len(values), median=float(np.median(values)), p90=p90)


def spread_by_suite(measurements: Iterable[Measurement]) -> Mapping[str, Spread]:
    """Suite -> spread of its times and powers; suites without repeats are left out.

    Slowdowns and energies follow from these and do not count again.
    """
    values: dict[str, list[float]] = {}
    for one in measurements:
        for metric, task in measured_figures(one.record) if len(one.repeats) > 1 else ():
            if metric != "energy" and not metric.endswith("_slowdown"):
                differences = one.differences((metric, task))
                values.setdefault(one.record.suite, []).extend(differences)
    return {suite: found for suite, each in values.items() if (found := spread(each))}


def _is_sequence(workload: Workload) -> bool:
    """True if all tasks run one after the other, in one stream."""
    streams = {task.stream for task in workload.tasks.values()}
    return len(streams) == 1 and None not in streams


def _mean(repeats: Sequence[Record]) -> Record:
    """The first of *repeats* with the mean of every time that some have, and the sum of samples."""
    if len(repeats) == 1:
        return repeats[0]
    measured = [record.measured for record in repeats]
    tasks = {
        name: _mean_task([each.tasks[name] for each in measured if name in each.tasks])
        for name in dict.fromkeys(name for each in measured for name in each.tasks)
    }
    isolated = _mean_times([each.isolated for each in measured])
    lasting = _mean_times([each.lasting for each in measured])
    wall = _mean_known([each.wall_us for each in measured])
    samples = [record.samples for record in repeats if record.samples is not None]
    changes = {
        "measured": Measured(wall_us=wall, tasks=tasks, isolated=isolated, lasting=lasting),
        "samples": sum(samples) if samples else None,
        "sets": {},
        "observed": mean_observed(repeats),
    }
    return repeats[0].changed(**changes)


def _mean_times(repeats: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """By task: the mean of the times that some of *repeats* have."""
    names = dict.fromkeys(name for times in repeats for name in times)
    return {name: fmean(each[name] for each in repeats if name in each) for name in names}


def _mean_task(times: Sequence[TaskTime]) -> TaskTime:
    return TaskTime(
        time_us=fmean(time.time_us for time in times),
        start_us=_mean_known([time.start_us for time in times]),
        moving_us=_mean_known([time.moving_us for time in times]),
        waited_for_ranks_us=_mean_known([time.waited_for_ranks_us for time in times]),
    )


def _mean_known(times: Sequence[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return fmean(known) if known else None
