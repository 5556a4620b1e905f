"""Time of a model's step: operator classes over time, and communication alone. Pure.

At any moment the time belongs to the classes of compute that run, in equal parts; where none runs,
to communication alone (exposed) if some runs, else it is idle. The parts add up to the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from c3sim.result import TaskResult

COMMUNICATION = "communication"
ALONE, IDLE = "communication alone", "idle"
_OF_KIND = dict.fromkeys(("collective", "copy", "commands"), COMMUNICATION) | {
    "stream": "elementwise",
    "kernel": "elementwise",
}


@dataclass(frozen=True, slots=True)
class Step:
    """*parts*: class, ALONE or IDLE -> s, the largest first; *alone*: intervals [s] in which
    communication runs and no compute does; *end* [s] of the last task.
    """

    parts: Mapping[str, float]
    alone: Sequence[tuple[float, float]]
    end: float


def is_step(tasks: Mapping[str, TaskResult]) -> bool:
    """True if tasks are told by operator class: one of them says what it does in a model."""
    return any("operator" in task.detail for task in tasks.values())


def class_of(task: TaskResult) -> str:
    """Class of *task* in a model: an operator class, else its kind (hold, host)."""
    return str(task.detail.get("operator") or _OF_KIND.get(task.kind, task.kind))


def classes_of(tasks: Mapping[str, TaskResult]) -> dict[str, str]:
    """In what colour each task is shown: of a step by class, else by kind."""
    if is_step(tasks):
        return {name: class_of(task) for name, task in tasks.items()}
    return {name: task.kind for name, task in tasks.items()}


def step_of(tasks: Mapping[str, TaskResult]) -> Step:
    """The time from 0 to the last task's end, by what went on."""
    changes = sorted(
        (time, change, class_of(task))
        for task in tasks.values()
        if task.kind != "host"
        for time, change in ((task.start_s, 1), (task.end_s, -1))
    )
    parts: dict[str, float] = {}
    alone: list[tuple[float, float]] = []
    running: Counter[str] = Counter()
    for (time, change, name), (after, _, _) in pairwise([(0.0, 0, ""), *changes, changes[-1]]):
        running[name] += change
        if after <= time:
            continue
        computing = [
            each for each, n in running.items() if n > 0 and each not in (COMMUNICATION, "")
        ]
        shares = computing or ([ALONE] if running[COMMUNICATION] > 0 else [IDLE])
        for each in shares:
            parts[each] = parts.get(each, 0.0) + (after - time) / len(shares)
        if shares == [ALONE]:
            begin = alone.pop()[0] if alone and alone[-1][1] == time else time
            alone.append((begin, after))
    ordered = sorted(parts, key=lambda name: (name == IDLE, name == ALONE, -parts[name]))
    return Step({name: parts[name] for name in ordered}, alone, changes[-1][0])
