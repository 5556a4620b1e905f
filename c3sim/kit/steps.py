"""Arithmetic on step functions of time. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from c3sim.result import Counter


def at(times: Sequence[float], values: Sequence[float], when: Sequence[float]) -> list[float]:
    """The values of a step function at the instants *when*; zero before its first step."""
    steps = (bisect_right(times, instant) - 1 for instant in when)
    return [float(values[step]) if step >= 0 else 0.0 for step in steps]


def mean(counters: Sequence[Counter], name: str) -> Counter:
    """The mean of *counters*: of totals, of each task's part, of capacities if all have one."""
    times = sorted({time for counter in counters for time in counter.times})
    tasks = dict.fromkeys(task for counter in counters for task in counter.by_task)

    def average(task: str | None) -> list[float]:
        none = [0.0]
        parts = [
            c.values if task is None else c.by_task.get(task, none * len(c.times)) for c in counters
        ]
        sampled = [at(c.times, values, times) for c, values in zip(counters, parts, strict=True)]
        return [sum(column) / len(counters) for column in zip(*sampled, strict=True)]

    limits = [counter.maximum for counter in counters if counter.maximum is not None]
    return replace(
        counters[0],
        label=name,
        times=times,
        values=average(None),
        by_task={task: average(task) for task in tasks},
        maximum=sum(limits) / len(limits) if len(limits) == len(counters) else None,
    )


def extended(
    times: Sequence[float], values: Sequence[float], end: float, start: float = 0.0
) -> tuple[list[float], list[float]]:
    """A step function from *start* to *end*: zero before its first step, its last value held."""
    instants = sorted({start, end, *(time for time in times if start <= time <= end)})
    return instants, at(times, values, instants)


def binned(counter: Counter, end: float, most: int) -> Counter:
    """*counter* with at most *most* steps: where it has more, means over equal parts of the time
    to *end*.
    """
    if len(counter.times) <= most or end <= 0:
        return counter
    import numpy as np

    edges = np.linspace(0.0, end, most + 1)

    def means(values: Sequence[float]) -> list[float]:
        times, steps = (np.array(part) for part in extended(counter.times, values, end))
        area = np.concatenate([[0.0], np.cumsum(steps[:-1] * np.diff(times))])
        parts: list[float] = (np.diff(np.interp(edges, times, area)) / np.diff(edges)).tolist()
        return [*parts, parts[-1]]

    return replace(
        counter,
        times=edges.tolist(),
        values=means(counter.values),
        by_task={task: means(values) for task, values in counter.by_task.items()},
        by_component={key: means(values) for key, values in counter.by_component.items()},
    )


def average(times: Sequence[float], values: Sequence[float]) -> float:
    """The mean of a step function over the time from its first to its last instant."""
    pieces = (
        value * (until - since)
        for value, (since, until) in zip(values, pairwise(times), strict=False)
    )
    return sum(pieces) / (times[-1] - times[0]) if times[-1] > times[0] else float(values[0])
