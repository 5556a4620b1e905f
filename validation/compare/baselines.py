"""Three plain predictors of concurrent runs, all given the measured isolated times: what a model
has to beat.

``max``       no interference: every task takes its isolated time, the wall time is the longest
``sum``       no overlap: the tasks run one after the other, in the order in which they are launched
``constant``  one constant slowdown per task kind and suite: the median over the suite's *other* validation records

A predictor has no value where it lacks a measured isolated time, or, for the constant, another record to learn from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from c3sim.specs.record import Record

PREDICTORS = ("max", "sum", "constant")


@dataclass(frozen=True, slots=True)
class Plain:
    """What the three predict for one figure: us, or a ratio for slowdowns; None where one has
    nothing to say.
    """

    max: float | None = None
    sum: float | None = None
    constant: float | None = None


NOTHING = Plain()


class _Slowdown(NamedTuple):
    record: int
    value: float


def plain_predictions(records: Sequence[Record]) -> list[dict[tuple[str, str], Plain]]:
    """For each record: (metric, task) -> predictions. *task* is empty for the wall time."""
    seen: dict[tuple[str, str], list[_Slowdown]] = {}
    for number, record in enumerate(records):
        if record.role == "validation":
            for task, value in _slowdowns(record).items():
                seen.setdefault((record.suite, record.workload.tasks[task].kind), []).append(
                    _Slowdown(number, value)
                )
    return [
        _predict(record, _constants(record, number, seen)) for number, record in enumerate(records)
    ]


def _slowdowns(record: Record) -> dict[str, float]:
    """Measured slowdown of each task that was measured both ways."""
    alone = record.measured.isolated
    return {
        task: times.time_us / alone[task]
        for task, times in record.measured.tasks.items()
        if task in alone
    }


def _constants(
    record: Record, number: int, seen: Mapping[tuple[str, str], list[_Slowdown]]
) -> dict[str, float | None]:
    """The constant of each task, learnt from the other validation records of the suite."""
    found: dict[str, float | None] = {}
    for name, task in record.workload.tasks.items():
        others = [
            each.value for each in seen.get((record.suite, task.kind), ()) if each.record != number
        ]
        found[name] = median(others) if others else None
    return found


def _predict(record: Record, constants: Mapping[str, float | None]) -> dict[tuple[str, str], Plain]:
    alone, tasks = record.measured.isolated, record.workload.tasks
    order = [
        *record.workload.host.order,
        *(name for name in tasks if name not in record.workload.host.order),
    ]
    ends = {
        name: _sum([alone.get(each) for each in order[: place + 1]])
        for place, name in enumerate(order)
    }
    found = {}
    for name, task in tasks.items():
        base, constant = alone.get(name), constants[name]
        slow = None if base is None or constant is None else base * constant
        found[f"{task.kind}_time", name] = Plain(base, ends[name], slow)
        after = None if base is None or ends[name] is None else ends[name] / base  # type: ignore[operator]
        found[f"{task.kind}_slowdown", name] = Plain(1.0, after, constant)
    each = [found[f"{task.kind}_time", name].constant for name, task in tasks.items()]
    found["wall", ""] = Plain(
        _max([alone.get(name) for name in tasks]), ends[order[-1]], _max(each)
    )
    return found


def _sum(times: Sequence[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return sum(known) if len(known) == len(times) else None


def _max(times: Sequence[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None
