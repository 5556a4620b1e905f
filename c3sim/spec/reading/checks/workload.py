"""Checks between the parts of a workload: names that exist, dependencies without a cycle, fields
that go together.

It needs no node; what a node has to offer is checked in :mod:`c3sim.spec.reading.checks.on_node`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from c3sim.errors import InputError, InputErrors
from c3sim.spec.hardware import Node
from c3sim.spec.reading.documents import join
from c3sim.spec.task import Command, EngineTask, Kernel, KernelBase, Stores, TaskBase
from c3sim.spec.words import unknown, unknown_errors
from c3sim.spec.workload import (
    Collective,
    Commands,
    Copy,
    Gemm,
    Task,
    Workload,
    parse_after,
    task_order,
)

_NAME = re.compile(r"[A-Za-z_][\w-]*")
_OF_ENGINES = {
    "direction": "engines have a direction",
    "engines": "a transfer by engines is split over them",
    "variant": "engines have variants",
    "ways": "engines have queues",
}
#: Variants of one collective alone.
_ONE_OPERATION = {"bcst": "all_gather", "multicast": "all_gather", "swap": "all_to_all"}
#: Collectives that leave a rank's own part as it is.
_WITH_OWN_SHARD = ("all_gather", "all_to_all")


def check_workload(workload: Workload) -> None:
    """Names, ``after`` grammar, buffers and cycles. Raises InputErrors."""
    errors = list(_errors(workload)) or _cycle_errors(workload)
    if errors:
        raise InputErrors(errors)


def _errors(workload: Workload) -> Iterator[InputError]:
    for name, task in workload.tasks.items():
        path = join("tasks", name)
        if not _NAME.fullmatch(name):
            message = f"name {name!r}; must be a letter, then letters, digits, - and _"
            yield InputError(message, path)
        for role, buffers in (("reads", task.reads), ("writes", task.writes)):
            yield from _unknown_names(buffers, "buffer", workload.buffers, join(path, role))
        yield from _unknown_names(
            task.launch_after, "task", workload.tasks, join(path, "launch_after")
        )
        for i, text in enumerate(task.after):
            yield from _after_errors(text, workload, task, name, join(path, "after", i))
        if isinstance(task, KernelBase):
            yield from _awaits_errors(task, workload, path)
        if isinstance(task, EngineTask) and task.posted is not None:
            yield from posting_errors(task, path)
        if isinstance(task, Copy):
            yield from _copy_errors(task, path)
        elif isinstance(task, Collective):
            yield from _collective_errors(task, path)
    yield from _order_errors(workload)
    yield from _stream_errors(workload)
    yield from program_errors(workload)


def _unknown_names(
    given: Iterable[str], what: str, allowed: Collection[str], path: str
) -> Iterator[InputError]:
    for i, name in enumerate(given):
        yield from unknown_errors(what, name, allowed, join(path, i))


def _of_first(task: Task) -> bool:
    return isinstance(task, Copy | Commands) and task.gpus == "first"


def _after_errors(
    text: str, workload: Workload, waiting: Task, name: str, path: str
) -> Iterator[InputError]:
    """The first mistake in *text*, an ``after`` of the task *waiting*, called *name*."""
    try:
        after = parse_after(text)
    except InputError as error:
        yield InputError(error.message, path)
        return
    task = workload.tasks.get(after.task)
    if task is None:
        yield InputError(unknown("task", after.task, workload.tasks), path)
    elif _of_first(task) and not _of_first(waiting):
        message = (
            f"{text!r} is a task of the first GPU only, and {name!r} one of all;"
            " needs gpus: all there, or gpus: first here"
        )
        yield InputError(message, path)
    elif after.tiles is not None and not isinstance(task, Gemm | Kernel | Stores):
        message = f"a {task.kind} task has no tiles; only gemm, kernel and stores tasks have"
        yield InputError(f"{text!r}: {message}", path)
    elif after.peer is not None and not isinstance(task, Gemm | Kernel):
        message = f"tiles of a {task.kind} task belong to nobody; those of gemm and kernel tasks do"
        yield InputError(f"{text!r}: {message}", path)
    elif after.chunk is not None and not isinstance(task, Collective):
        message = f"a {task.kind} task has no chunks; only collective tasks have"
        yield InputError(f"{text!r}: {message}", path)
    elif isinstance(task, Collective) and after.chunk is not None and after.chunk >= task.chunks:
        message = f"there is no such chunk; {after.task!r} has chunks 0 to {task.chunks - 1}"
        yield InputError(f"{text!r}: {message}", path)


def _awaits_errors(task: KernelBase, workload: Workload, path: str) -> Iterator[InputError]:
    yield from _unknown_names(task.awaits, "task", workload.tasks, join(path, "awaits"))
    for i, name in enumerate(task.awaits):
        other = workload.tasks.get(name)
        if other is not None and not isinstance(other, Gemm | Kernel | Stores):
            message = f"a {other.kind} task has no tiles; only gemm, kernel and stores tasks have"
            yield InputError(f"{name!r}: {message}", join(path, "awaits", i))


def _copy_errors(task: Copy, path: str) -> Iterator[InputError]:
    ends = {task.source, task.destination}
    if "gpu" not in ends:
        message = f"copy from {task.source} to {task.destination}; one end must be gpu"
        yield InputError(message, path)
    elif task.direction is not None and (task.executor != "dma" or "peer" not in ends):
        message = "chooses between the engines of two GPUs; needs executor dma and a peer"
        yield InputError(f"{task.direction!r} {message}", join(path, "direction"))
    elif task.engines is not None and task.executor != "dma":
        message = "a copy on compute units has no engines; needs executor dma"
        yield InputError(message, join(path, "engines"))
    elif task.parameters == "managed" and task.executor != "kernel":
        message = "'managed' is of the launch of a kernel; needs executor kernel"
        yield InputError(message, join(path, "parameters"))


def _collective_errors(task: Collective, path: str) -> Iterator[InputError]:
    """Mistakes of a collective on compute units, or of a variant on DMA engines."""
    only = _ONE_OPERATION.get(task.variant or "")
    if task.backend == "dma" and task.by == "units":
        yield InputError("'units': backend dma is by engines", join(path, "by"))
    if not task.on_engines:
        for field, what in _OF_ENGINES.items():
            if getattr(task, field) is not None:
                yield InputError(f"only {what}; needs backend dma", join(path, field))
    copies = task.op in _WITH_OWN_SHARD and (task.on_engines or task.op == "all_gather")
    if task.out_of_place and not copies:
        message = "a GPU copies its own shard of an all_gather, or of an all_to_all by engines"
        yield InputError(message, join(path, "out_of_place"))
    if not task.on_engines:
        return
    if only not in (None, task.op):
        message = f"{task.variant!r} of {task.op}; allowed: {only}, or the variants pcpy and b2b"
        yield InputError(message, join(path, "variant"))
    elif task.direction == "pull" and task.variant not in (None, "pcpy"):
        yield InputError(f"the engines of {task.variant!r} push", join(path, "direction"))
    elif task.engines is not None and only is not None:
        yield InputError(f"{task.variant!r} has an engine per command", join(path, "engines"))
    elif task.ways is not None and task.variant != "b2b":
        yield InputError("queues are dealt to by variant b2b only", join(path, "ways"))


def _order_errors(workload: Workload) -> Iterator[InputError]:
    order, path = workload.host.order, "host.order"
    yield from _unknown_names(order, "task", workload.tasks, path)
    for name in sorted({name for name in order if order.count(name) > 1}):
        yield InputError(f"task {name!r} is named twice; each task is launched once", path)
    for name in workload.tasks if order else ():
        if name not in order:
            yield InputError(f"task {name!r} is left out; the order names every task", path)


def _stream_errors(workload: Workload) -> Iterator[InputError]:
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
        name: [
            *(parse_after(text).task for text in task.after),
            *task.launch_after,
            *(task.awaits if isinstance(task, KernelBase) else ()),
        ]
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


# DMA programs: the fields of each command, and a command that changes the word of every poll


_NEEDS: Mapping[str, tuple[str, ...]] = {
    "copy": ("bytes", "peer"),
    "broadcast": ("bytes", "peers"),
    "swap": ("bytes", "peer"),
    "reduce": ("bytes", "peer"),
    "poll": ("on",),
    "atomic": ("on",),
    "fence": ("on",),
    "timestamp": ("on",),
}
_MAY: Mapping[str, tuple[str, ...]] = {
    "copy": ("direction",),
    "poll": ("value",),
    "atomic": ("peer", "value"),
    "fence": ("peer", "value"),
}
_ANYWHERE = ("op", "engine", "queue")
Place = tuple[object, int]  # engine, by number or by the peer it serves, and queue


def program_errors(workload: Workload) -> Iterator[InputError]:
    """Mistakes in the programs of the workload's ``commands`` tasks."""
    for name, task in workload.tasks.items():
        if isinstance(task, Commands):
            path = join("tasks", name, "program")
            yield from list(_field_errors(task.program, path)) or _poll_errors(task, path)


def _field_errors(program: Sequence[Command], path: str) -> Iterator[InputError]:
    for i, command in enumerate(program):
        where, op, needs = join(path, i), command.op, _NEEDS[command.op]
        given = {name for name, value in command if value not in (None, ())}
        for field in needs:
            if field not in given:
                message = f"op {op!r} without {field!r}; needs {' and '.join(needs)}"
                yield InputError(message, where)
        allowed = {*needs, *_MAY.get(op, ()), *_ANYWHERE}
        for field in sorted((given & command.model_fields_set) - allowed):
            message = f"op {op!r} has no {field!r}; it has {', '.join(sorted(allowed))}"
            yield InputError(message, join(where, field))
        if command.peer == "host" and op != "copy":
            message = f"op {op!r} works between GPUs; only copy has host"
            yield InputError(message, join(where, "peer"))
        if len(set(command.peers)) < len(command.peers):
            yield InputError("a destination is named twice", join(where, "peers"))


def _poll_errors(task: Commands, path: str) -> list[InputError]:
    """Polls of words that no command of the program changes, or not far enough, or too late."""
    program = task.program
    changes = [command for command in program if command.op in ("atomic", "fence")]
    words = sorted({command.on for command in changes if command.on})
    errors = [
        InputError(unknown("word", command.on, words), f"{join(path, i)}.on")
        for i, command in enumerate(program)
        if command.op == "poll" and command.on not in words
    ]
    return errors or [
        InputError(
            f"polls for {program[i].on!r} >= {program[i].value}, which comes only after it, "
            "if at all; it would wait for ever",
            join(path, i),
        )
        for i in _stuck(task)
    ]


def _stuck(task: Commands) -> list[int]:
    """The polls at which queues stop for ever. Every GPU runs the same queues."""
    program = task.program
    queues: dict[Place, list[int]] = {}
    for i, place in enumerate(_places(program)):
        queues.setdefault(place, []).append(i)
    words: dict[str | None, int] = {}
    moved = True
    while moved:
        moved = False
        for queue in queues.values():
            while queue:
                command = program[queue[0]]
                if command.op == "poll" and words.get(command.on, 0) < command.value:
                    break
                queue.pop(0)
                moved = True
                if command.peer is not None and task.gpus == "first":
                    continue  # it changes a word of another GPU
                if command.op == "atomic":
                    words[command.on] = words.get(command.on, 0) + command.value
                elif command.op == "fence":
                    words[command.on] = command.value
    return sorted(queue[0] for queue in queues.values() if queue)


def _places(program: Sequence[Command]) -> list[Place]:
    """Queue of every command, before a node says which engine serves which peer."""
    known: list[object] = []
    for command in program:
        if command.engine is not None:
            known.append(command.engine)
        elif command.op in ("atomic", "fence") or (command.peer is None and not command.peers):
            known.append(None)
        else:
            known.append(("peer", command.peers[0] if command.peers else command.peer))
    last = next((engine for engine in known if engine is not None), None)
    engines = [last := engine if engine is not None else last for engine in known]
    return [(engine, command.queue) for engine, command in zip(engines, program, strict=True)]


def posting_errors(task: EngineTask, path: str) -> Iterator[InputError]:
    """A workgroup posts packets for engines, behind its tiles, and waits for nothing else; or a
    kernel of its own does, in a stream.
    """
    where = join(path, "posted")
    by: str = task.executor if isinstance(task, Copy) else "dma"
    if isinstance(task, Collective):
        by = task.backend or "a library"
    if by not in ("dma", "nic"):
        yield InputError(f"packets are for engines; this task is done by {by}", where)
    if task.repeat > 1:
        yield InputError(f"a kernel posts once; got repeat: {task.repeat}", where)
    if task.stream is not None:  # a kernel of its own there, which waits for anything
        return
    try:
        waits = [parse_after(text) for text in task.after]
    except InputError:  # said elsewhere
        return
    if len(waits) != 1 or (waits[0].tiles, waits[0].peer) == (None, None):
        message = (
            "a kernel posts behind a group of its tiles; needs one after: [gemm.tiles[25%]], or a"
            " stream, for a kernel that does nothing else"
        )
        yield InputError(message, where)


def posting_on_node_errors(task: EngineTask, node: Node, path: str) -> Iterator[InputError]:
    """Mistakes: the cost of posting a packet must be known, and NICs take none."""
    where = join(path, "posted")
    wide = node.scale_out
    across = node.nodes > 1 and isinstance(task, Collective)
    if across or (isinstance(task, Copy) and task.executor == "nic"):
        if wide is None or wide.kernel_post_time is None:
            message = f"{node.name} gives no scale_out.kernel_post_time; what a put costs a kernel"
            yield InputError(message, where)
        if isinstance(task, Collective) and (node.gpus > 1 or task.algorithm != "direct"):
            message = (
                f"a collective over {node.nodes} nodes that a kernel posts needs nodes of one GPU"
            )
            yield InputError(f"{message}, and algorithm direct", where)
    elif node.gpu.dma_engines.post_time is None:
        message = f"{node.gpu.name} gives no dma_engines.post_time; needed for kernels that post"
        yield InputError(message, where)


def owner_errors(task: TaskBase, node: Node, path: str) -> Iterator[InputError]:
    """``gemm.tiles[peer 9]`` where there is none."""
    for i, text in enumerate(task.after):
        peer = parse_after(text).peer if "peer" in text else None
        if peer is not None and peer >= node.gpus:
            message = f"{text!r}: peers are 0 (the GPU itself) to {node.gpus - 1} further round"
            yield InputError(message, join(path, "after", i))
