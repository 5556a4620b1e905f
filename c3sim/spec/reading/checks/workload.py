"""Checks between the parts of a workload: names that exist, dependencies without a cycle, fields
that go together.

It needs no node; what a node has to offer is checked in :mod:`c3sim.spec.reading.checks.on_node`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from c3sim.errors import InputError, InputErrors
from c3sim.spec.reading.checks.kind import Errors, below
from c3sim.spec.reading.checks.kinds import CHECKS
from c3sim.spec.reading.documents import join
from c3sim.spec.words import unknown, unknown_errors
from c3sim.spec.workload import Task, Workload, parse_after, task_order

_NAME = re.compile(r"[A-Za-z_][\w-]*")


def check_workload(workload: Workload) -> None:
    """Names, ``after`` grammar, buffers and cycles. Raises InputErrors."""
    errors = list(_errors(workload)) or _cycle_errors(workload)
    if errors:
        raise InputErrors(errors)


def _errors(workload: Workload) -> Errors:
    for name, task in workload.tasks.items():
        yield from below(join("tasks", name), _task_errors(task, name, workload))
    yield from _order_errors(workload)
    yield from _stream_errors(workload)


def _task_errors(task: Task, name: str, workload: Workload) -> Errors:
    if not _NAME.fullmatch(name):
        yield InputError(f"name {name!r}; must be a letter, then letters, digits, - and _")
    for role, buffers in (("reads", task.reads), ("writes", task.writes)):
        yield from _unknown_names(buffers, "buffer", workload.buffers, role)
    yield from _unknown_names(task.launch_after, "task", workload.tasks, "launch_after")
    for i, text in enumerate(task.after):
        yield from below(join("after", i), _after_errors(text, workload, task, name))
    yield from _awaits_errors(task, workload)
    yield from CHECKS[task.kind].alone(task)


def _unknown_names(given: Iterable[str], what: str, allowed: Collection[str], path: str) -> Errors:
    for i, name in enumerate(given):
        yield from unknown_errors(what, name, allowed, join(path, i))


def _after_errors(text: str, workload: Workload, waiting: Task, name: str) -> Errors:
    """The first mistake in *text*, an ``after`` of the task *waiting*, called *name*."""
    try:
        after = parse_after(text)
    except InputError as error:
        yield InputError(error.message)
        return
    task = workload.tasks.get(after.task)
    if task is None:
        yield InputError(unknown("task", after.task, workload.tasks))
    elif task.of_first_gpu and not waiting.of_first_gpu:
        message = (
            f"{text!r} is a task of the first GPU only, and {name!r} one of all;"
            " needs gpus: all there, or gpus: first here"
        )
        yield InputError(message)
    elif after.tiles is not None and not task.tiled:
        message = f"a {task.kind} task has no tiles; only gemm, kernel and stores tasks have"
        yield InputError(f"{text!r}: {message}")
    elif after.peer is not None and not task.owned:
        message = f"tiles of a {task.kind} task belong to nobody; those of gemm and kernel tasks do"
        yield InputError(f"{text!r}: {message}")
    elif after.chunk is not None and not task.released:
        message = f"a {task.kind} task has no chunks; only collective tasks have"
        yield InputError(f"{text!r}: {message}")
    elif after.chunk is not None and after.chunk >= task.released:
        message = f"there is no such chunk; {after.task!r} has chunks 0 to {task.released - 1}"
        yield InputError(f"{text!r}: {message}")


def _awaits_errors(task: Task, workload: Workload) -> Errors:
    yield from _unknown_names(task.awaited, "task", workload.tasks, "awaits")
    for i, name in enumerate(task.awaited):
        other = workload.tasks.get(name)
        if other is not None and not other.tiled:
            message = f"a {other.kind} task has no tiles; only gemm, kernel and stores tasks have"
            yield InputError(f"{name!r}: {message}", join("awaits", i))


def _order_errors(workload: Workload) -> Errors:
    order, path = Counter(workload.host.order), "host.order"
    yield from _unknown_names(workload.host.order, "task", workload.tasks, path)
    for name in sorted([name for name, times in order.items() if times > 1]):
        yield InputError(f"task {name!r} is named twice; each task is launched once", path)
    for name in workload.tasks if order else ():
        if name not in order:
            yield InputError(f"task {name!r} is left out; the order names every task", path)


def _stream_errors(workload: Workload) -> Errors:
    """A stream that no task uses is a misspelt one: its priority or mask would do nothing."""
    used = sorted({task.stream for task in workload.tasks.values() if task.stream is not None})
    for name in workload.streams:
        if name not in used:
            known = ", ".join(used) or "none"
            message = f"stream {name!r} has no task; tasks use the streams: {known}"
            yield InputError(message, join("streams", name))


def _cycle_errors(workload: Workload) -> list[InputError]:
    """A task waits for its ``after`` and for the task before it in its stream."""
    waits = {
        name: [*(parse_after(text).task for text in task.after), *task.launch_after, *task.awaited]
        for name, task in workload.tasks.items()
    }
    last: dict[str, str] = {}
    for name in task_order(workload):
        stream = workload.tasks[name].stream
        if stream is not None:
            waits[name] += [last[stream]] if stream in last else []
            last[stream] = name
    cycle = _find_cycle(waits)
    if not cycle:
        return []
    shown = " waits for ".join(repr(name) for name in cycle)
    return [
        InputError(
            f"dependency cycle: {shown}; tasks and streams must have an order",
            join("tasks", cycle[0]),
        )
    ]


def _find_cycle(waits: dict[str, list[str]]) -> list[str]:
    """A cycle, its first task repeated at the end; or empty. Iterative: chains may be long."""
    done: set[str] = set()
    for start in waits:
        trail: list[str] = []
        stack = [(start, iter(waits[start]))] if start not in done else []
        while stack:
            name, rest = stack[-1]
            if len(trail) < len(stack):
                trail.append(name)
            following = next(rest, None)
            if following is None:
                done.add(name)
                stack.pop()
                trail.pop()
            elif following in trail:
                return [*trail[trail.index(following) :], following]
            elif following not in done:
                stack.append((following, iter(waits[following])))
    return []
