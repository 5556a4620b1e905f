"""Many tasks as few rows: those of a stream whose names differ in numbers alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from c3sim.result import TaskResult

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
    """That of a single task; of several that of all of them, without waiting for predecessors."""
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
