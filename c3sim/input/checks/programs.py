"""Whether DMA programs can run to their end: the fields of each command, and a command that changes
the word of every poll.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from c3sim.errors import InputError
from c3sim.input.documents import join
from c3sim.specs.commands import Command
from c3sim.specs.words import unknown
from c3sim.specs.workload import Commands, Workload

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
    """What is wrong with the programs of the workload's ``commands`` tasks."""
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
