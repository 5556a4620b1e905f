"""Many tasks as few rows, and the time of a model's step by class of operators. Pure.

Tasks of a stream whose names differ in numbers alone are a fold.

At any moment the time belongs to the classes of compute that run, in equal parts; where none runs,
to communication alone (exposed) if some runs, else it is idle. The parts add up to the whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from c3sim.result import Result, TaskResult

COMMUNICATION = "communication"
ALONE, IDLE = "communication alone", "idle"
FURTHER = ("launches", "waiting", "bubbles", "stages", IDLE)  # what nothing runs in
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
        if class_of(task) != "host"
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


STAGES = 8  # rows of a pipeline; of more, the first and last ones
_LAYER = re.compile(r"(forward|backward)(\d+)-")


def stages_shown(result: Result) -> list[Any]:
    """Stages of a pipeline that have a row: up to STAGES, else the first and the last ones."""
    stages: Sequence[Any] = getattr(result, "stages", ())
    half = STAGES // 2
    return [each for each in stages if each.number < half or each.number >= len(stages) - half]


def folded_at(result: Result) -> tuple[int, list[float]]:
    """Layers of *result* that were not simulated, and the times [s] where they would run, forward
    and backward: behind the first half of those that were.
    """
    left = getattr(result, "layers", 0) - getattr(result, "simulated", 0)
    begins: dict[tuple[str, int], float] = {}
    for name, task in result.tasks.items():
        if match := _LAYER.match(name):
            key = match[1], int(match[2])
            begins[key] = min(begins.get(key, task.start_s), task.start_s)
    layers = sorted({number for way, number in begins if way == "forward" and number})
    if left <= 0 or len(layers) < 2:
        return 0, []
    middle = len(layers) // 2
    places = (("forward", layers[middle]), ("backward", layers[middle - 1]))
    return left, [begins[place] for place in places if place in begins]


SINGLE = 24  # tasks that each have a row
Folds = dict[str, list[str]]  # row -> the tasks that it stands for


def pattern(name: str) -> str:
    """``l12_up`` as ``l*_up``."""
    return re.sub(r"\d+", "*", name)


def folds(tasks: Mapping[str, TaskResult], single: int = SINGLE) -> Folds:
    """The rows of a table, in order: one for each of up to *single* tasks, else by stream and name
    pattern, or by stream and kind where that would leave more than *single* rows.
    """
    if len(tasks) <= single:
        return {name: [name] for name in tasks}
    by_name = _grouped(tasks, pattern)
    if len(by_name) <= single:
        return by_name
    return _grouped(tasks, lambda name: tasks[name].kind)


def total(tasks: Mapping[str, TaskResult], names: list[str], field: str) -> float:
    """The sum of *field* over the tasks *names*."""
    return float(sum(getattr(tasks[name], field) for name in names))


def slowdown(tasks: Mapping[str, TaskResult], names: list[str]) -> float:
    """Slowdown of a task, or of several together, without waiting for predecessors."""
    if len(names) == 1:
        return tasks[names[0]].slowdown
    alone = total(tasks, names, "isolated_s")
    return 1.0 + (total(tasks, names, "room_s") + total(tasks, names, "slower_s")) / alone


def _grouped(tasks: Mapping[str, TaskResult], key: Callable[[str], str]) -> Folds:
    """By stream and *key*; the stream is written where the key alone would name two rows."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, task in tasks.items():
        groups.setdefault((key(name), task.stream), []).append(name)
    keys = [word for word, _ in groups]
    rows: Folds = {}
    for (word, stream), names in groups.items():
        where = f" in {stream or 'no stream'}" if keys.count(word) > 1 else ""
        count = f" ({len(names)})" if len(names) > 1 else ""
        rows[f"{names[0] if len(names) == 1 else word}{where}{count}"] = names
    return rows
