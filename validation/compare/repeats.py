"""Repeats of one measurement: records with one ``id`` in one suite, compared once, by the mean of
each of their times.

How far repeats are from each other is the least error that a prediction can be asked for: for each pair, |a - b| over
their mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from c3sim.specs.record import Measured, Record, TaskTime

from .loops import UNITS, has_figures, mean_observed, measured_loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """One measurement: *record* has the mean times, *each* is the lines behind it."""

    record: Record
    each: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """|a - b| / mean over *pairs* of repeats."""

    pairs: int
    median: float
    p90: float


def merge(records: Iterable[Record]) -> list[Repeated]:
    """Each measurement once, in the order of its first line; records without a figure to compare
    are left out.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if has_figures(record):
            groups.setdefault((record.suite, record.id), []).append(record)
    return [Repeated(record=_mean(each), each=tuple(each)) for each in groups.values()]


def observations(records: Iterable[Record]) -> list[Record]:
    """The records without a time or the power of a loop: data to look at, with nothing to compare."""
    return [record for record in records if not has_figures(record)]


def differences(each: Sequence[Record], metric: str, task: str) -> tuple[float, ...]:
    """|a - b| / mean of the figure *metric* of *task* (empty: the wall time), of every pair that has it."""
    found = [value for record in each if (value := _figure(record, metric, task)) is not None]
    return tuple(abs(a - b) / ((a + b) / 2) for a, b in combinations(found, 2))


def spread(values: Sequence[float]) -> Spread | None:
    """Median and 90th percentile; None of nothing."""
    if not values:
        return None
    return Spread(
        pairs=len(values),
        median=float(np.median(values)),
        p90=float(np.quantile(np.array(values), 0.9)),
    )


def spread_of_suites(measurements: Iterable[Repeated]) -> Mapping[str, Spread]:
    """Suite -> spread of its wall, task and isolated times and its power; suites without repeats
    are left out.
    """
    found: dict[str, list[float]] = {}
    for one in measurements:
        measured = one.record.measured
        figures = [("wall", ""), *(("time", task) for task in measured.tasks)]
        figures += [("isolated_", task) for task in measured.isolated]
        figures += [("power", ""), ("loop_time", "")] if measured_loop(one.record) else []
        for metric, task in figures:
            found.setdefault(one.record.suite, []).extend(differences(one.each, metric, task))
    spreads = {suite: spread(values) for suite, values in found.items()}
    return {suite: value for suite, value in spreads.items() if value is not None}


def _figure(record: Record, metric: str, task: str) -> float | None:
    """What the comparison calls *metric*: isolated_KIND, KIND_time, KIND_slowdown, wall or
    sequence, or one of a loop.
    """
    measured, loop = record.measured, measured_loop(record)
    if metric in UNITS:
        return loop.figures.get(metric) if loop else None
    if not task:
        return measured.wall_us
    alone = measured.isolated.get(task)
    if metric.startswith("isolated_"):
        return alone
    together = measured.tasks[task].time_us if task in measured.tasks else None
    if not metric.endswith("_slowdown"):
        return together
    return None if alone is None or together is None else together / alone


def _mean(each: Sequence[Record]) -> Record:
    """The first of *each* with the mean of every time that some of them have, and their samples
    added up.
    """
    if len(each) == 1:
        return each[0]
    all_of = [record.measured for record in each]
    walls = [one.wall_us for one in all_of if one.wall_us is not None]
    tasks = {
        name: _mean_task([one.tasks[name] for one in all_of if name in one.tasks])
        for name in dict.fromkeys(name for one in all_of for name in one.tasks)
    }
    isolated = {
        name: fmean(one.isolated[name] for one in all_of if name in one.isolated)
        for name in dict.fromkeys(name for one in all_of for name in one.isolated)
    }
    measured = Measured(wall_us=fmean(walls) if walls else None, tasks=tasks, isolated=isolated)
    samples = [record.samples for record in each if record.samples is not None]
    return each[0].model_copy(
        update={
            "measured": measured,
            "samples": sum(samples) if samples else None,
            "sets": {},
            "observed": mean_observed(each),
        }
    )


def _mean_task(times: Sequence[TaskTime]) -> TaskTime:
    starts = [time.start_us for time in times if time.start_us is not None]
    return TaskTime(
        time_us=fmean(time.time_us for time in times), start_us=fmean(starts) if starts else None
    )
