"""Paths that name several tasks at once: ``tasks[kind=collective].channels``.

    tasks[kind=collective].channels            every collective
    tasks[kind=collective,op=all_gather].backend
    tasks[name=layer*_qkv].library             names and words by pattern: * any text, ? a letter

Conditions are fields of a task, or ``name``; all must hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from c3sim.errors import InputError
from c3sim.specs.workload import Task, Workload

_SELECTOR = re.compile(r"tasks?\[(?P<conditions>[^\]]*)\]\.(?P<rest>.+)")


def expanded(workload: Workload, path: str) -> tuple[str, ...]:
    """The paths of single tasks that *path* stands for; itself if it selects nothing.

    Raises InputError for a condition that is none, and where no task fits.
    """
    found = _SELECTOR.fullmatch(path)
    if found is None:
        return (path,)
    conditions = list(_conditions(found["conditions"], path))
    names = [name for name, task in workload.tasks.items() if _fits(name, task, conditions)]
    if not names:
        kinds = ", ".join(sorted({task.kind for task in workload.tasks.values()}))
        raise InputError(f"no task fits {found['conditions']!r}; kinds of tasks: {kinds}", path)
    return tuple(f"task.{name}.{found['rest']}" for name in names)


def split_setting(text: str) -> tuple[str, str, str]:
    """``PATH=VALUE`` as path, "=" and value, without spaces; an = in brackets is the path's."""
    begin = text.find("]") + 1 if text.lstrip().startswith(("task[", "tasks[")) else 0
    path, equals, value = text[begin:].partition("=")
    return (text[:begin] + path).strip(), equals, value.strip()


def _conditions(text: str, path: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not (equals and key.strip() and value.strip()):
            message = f"{part!r} is no condition; write FIELD=VALUE, as in kind=collective"
            raise InputError(message, path)
        yield key.strip(), value.strip()


def _fits(name: str, task: Task, conditions: list[tuple[str, str]]) -> bool:
    values = (
        (name if key == "name" else getattr(task, key, None), wanted) for key, wanted in conditions
    )
    return all(value is not None and fnmatchcase(str(value), wanted) for value, wanted in values)
