"""What must hold between the parts of a workload: names that exist, dependencies without a cycle,
fields that go together.

It needs no node; what a node has to offer is checked in :mod:`c3sim.input.checks.on_node`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from c3sim.errors import InputError, InputErrors
from c3sim.input.checks.programs import program_errors
from c3sim.input.hints import unknown
from c3sim.input.yaml_nodes import join
from c3sim.specs.references import parse_after, task_order
from c3sim.specs.workload import Collective, Commands, Copy, Gemm, Task, Workload

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_OF_ENGINES = {
    "direction": "engines have a direction",
    "engines": "a transfer by engines is split over them",
    "variant": "engines have variants",
    "ways": "engines have queues",
}


def check_workload(workload: Workload) -> None:
    """Names, ``after`` grammar, buffers and cycles. Raises InputErrors."""
    errors: list[InputError] = []
    for name, task in workload.tasks.items():
        path = join("tasks", name)
        if not _NAME.fullmatch(name):
            errors.append(
                InputError(f"name {name!r}; must be a letter, then letters, digits, - and _", path)
            )
        for role, buffers in (("reads", task.reads), ("writes", task.writes)):
            errors += _unknown_names(buffers, "buffer", workload.buffers, join(path, role))
        errors += [
            error
            for i, text in enumerate(task.after)
            if (error := _after_error(text, workload, name, i))
        ]
        errors += _task_errors(task, path)
    errors += _order_errors(workload)
    errors += _stream_errors(workload)
    errors += program_errors(workload)
    if not errors:
        errors += _cycle_errors(workload)
    if errors:
        raise InputErrors(errors)


def _unknown_names(
    given: Iterable[str], what: str, allowed: Iterable[str], path: str
) -> list[InputError]:
    known = tuple(allowed)
    return [
        InputError(unknown(what, name, known), join(path, i))
        for i, name in enumerate(given)
        if name not in known
    ]


def _of_first(task: Task) -> bool:
    return isinstance(task, Copy | Commands) and task.gpus == "first"


def _after_error(text: str, workload: Workload, name: str, index: int) -> InputError | None:
    path = join("tasks", name)
    where = join(join(path, "after"), index)
    try:
        after = parse_after(text)
    except InputError as error:
        return InputError(error.message, where)
    if after.task not in workload.tasks:
        return InputError(unknown("task", after.task, workload.tasks), where)
    task, waiting = workload.tasks[after.task], workload.tasks[name]
    if _of_first(task) and not _of_first(waiting):
        return InputError(
            f"{text!r} is a task of the first GPU only, and {name!r} one of all; needs gpus: all "
            "there, or gpus: first here",
            where,
        )
    if after.tiles is not None and not isinstance(task, Gemm):
        return InputError(f"{text!r}: a {task.kind} task has no tiles; only gemm tasks have", where)
    if after.chunk is not None and not isinstance(task, Collective):
        return InputError(
            f"{text!r}: a {task.kind} task has no chunks; only collective tasks have", where
        )
    if isinstance(task, Collective) and after.chunk is not None and after.chunk >= task.chunks:
        return InputError(
            f"{text!r}: there is no such chunk; {after.task!r} has chunks 0 to {task.chunks - 1}",
            where,
        )
    return None


def _task_errors(task: Task, path: str) -> list[InputError]:
    if isinstance(task, Copy):
        ends = {task.source, task.destination}
        if "gpu" not in ends:
            return [
                InputError(
                    f"copy from {task.source} to {task.destination}; one end must be gpu", path
                )
            ]
        if task.direction is not None and (task.executor != "dma" or "peer" not in ends):
            message = (
                f"{task.direction!r} chooses between the engines of two GPUs; needs executor dma "
                "and a peer"
            )
            return [InputError(message, join(path, "direction"))]
        if task.engines is not None and task.executor != "dma":
            return [
                InputError(
                    "a copy on compute units has no engines; needs executor dma",
                    join(path, "engines"),
                )
            ]
    if isinstance(task, Collective) and task.backend != "dma":
        return [
            InputError(f"only {what}; needs backend dma", join(path, field))
            for field, what in _OF_ENGINES.items()
            if getattr(task, field) is not None
        ]
    return _variant_errors(task, path) if isinstance(task, Collective) else []


def _variant_errors(task: Collective, path: str) -> list[InputError]:
    """What a variant of a collective on DMA engines cannot do."""
    only = {"bcst": "all_gather", "swap": "all_to_all"}.get(task.variant or "")
    if only not in (None, task.op):
        message = f"{task.variant!r} of {task.op}; allowed: {only}, or the variants pcpy and b2b"
        return [InputError(message, join(path, "variant"))]
    if task.direction == "pull" and task.variant not in (None, "pcpy"):
        return [InputError(f"the engines of {task.variant!r} push", join(path, "direction"))]
    if task.engines is not None and only is not None:
        return [InputError(f"{task.variant!r} has an engine per command", join(path, "engines"))]
    if task.ways is not None and task.variant != "b2b":
        return [InputError("queues are dealt to by variant b2b only", join(path, "ways"))]
    return []


def _order_errors(workload: Workload) -> list[InputError]:
    order = workload.host.order
    errors = _unknown_names(order, "task", workload.tasks, "host.order")
    twice = sorted({name for name in order if order.count(name) > 1})
    missing = [name for name in workload.tasks if name not in order] if order else []
    errors += [
        InputError(f"task {name!r} is named twice; each task is launched once", "host.order")
        for name in twice
    ]
    errors += [
        InputError(f"task {name!r} is left out; the order names every task", "host.order")
        for name in missing
    ]
    return errors


def _stream_errors(workload: Workload) -> list[InputError]:
    """A stream that is declared and not used is a misspelt one: its priority or mask would silently
    do nothing.
    """
    used = sorted({task.stream for task in workload.tasks.values() if task.stream is not None})
    return [
        InputError(
            f"stream {name!r} has no task; tasks use the streams: {', '.join(used) or 'none'}",
            join("streams", name),
        )
        for name in workload.streams
        if name not in used
    ]


def _cycle_errors(workload: Workload) -> list[InputError]:
    """A task waits for its ``after`` and for the task before it in its stream."""
    waits = {
        name: [parse_after(text).task for text in task.after]
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
    """A cycle, its first task repeated at the end; empty when there is none. Iterative: chains may
    be long.
    """
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
