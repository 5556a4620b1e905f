"""Time of a model's step: operator classes over time, and communication alone. Pure.

At any moment the time belongs to the classes of compute that run, in equal parts; where none runs,
to communication alone (exposed) if some runs, else it is idle. The parts add up to the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from c3sim.result import Result, TaskResult

COMMUNICATION = "communication"
ALONE, IDLE = "communication alone", "idle"
FURTHER = ("launches", "waiting", "bubbles", IDLE)  # what nothing runs in
_OF_KIND = dict.fromkeys(("collective", "copy", "commands"), COMMUNICATION) | {
    "stream": "elementwise",
    "kernel": "elementwise",
}


@dataclass(frozen=True, slots=True)
class Step:
    """*parts*: class, ALONE or IDLE -> s of the whole step, the largest first; *alone*: intervals
    [s] in which communication runs and no compute does; *end* [s] of the last task.
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


def step_of_result(result: Result) -> Step | None:
    """Step of a model that *result* is of, else None. Tasks of an iteration are those of a few
    layers; its parts are those of all.
    """
    if not is_step(result.tasks):
        return None
    step, parts = step_of(result.tasks), getattr(result, "parts", None)
    if not parts:
        return step
    named = {ALONE if name == COMMUNICATION else name: time for name, time in parts.items() if time}
    return replace(step, parts=_ordered(named))


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
    return Step(_ordered(parts), alone, changes[-1][0])


def _ordered(parts: Mapping[str, float]) -> dict[str, float]:
    """Classes, the largest first, then what is none of them."""
    last = (*FURTHER[::-1], ALONE)[::-1]
    ranks = {name: 1 + number for number, name in enumerate(last)}
    ordered = sorted(parts, key=lambda name: (ranks.get(name, 0), -parts[name]))
    return {name: parts[name] for name in ordered}
