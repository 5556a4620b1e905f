"""Checks of DMA programs: the fields of each command, polls that hold for ever, and what the
engines of a node can carry out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from c3sim.errors import InputError
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.kind import (
    Checks,
    Errors,
    above,
    below,
    peer_errors,
    posting_errors,
    posting_on_node_errors,
    reduce_errors,
)
from c3sim.spec.reading.documents import join
from c3sim.spec.task import Command
from c3sim.spec.words import unknown
from c3sim.spec.workload import Commands

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


class CommandsChecks(Checks[Commands]):
    def alone(self, task: Commands) -> Errors:
        yield from posting_errors(task)
        yield from list(_field_errors(task.program)) or _poll_errors(task)

    def on_node(self, task: Commands, node: Node) -> Errors:
        for i, command in enumerate(task.program):
            yield from below(join("program", i), _errors_of(command, node))
        yield from posting_on_node_errors(task, node, across=False)


def _field_errors(program: Sequence[Command]) -> Errors:
    for i, command in enumerate(program):
        where, op, needs = join("program", i), command.op, _NEEDS[command.op]
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


def _poll_errors(task: Commands) -> list[InputError]:
    """Polls of words that no command of the program changes, or not far enough, or too late."""
    program = task.program
    changes = [command for command in program if command.op in ("atomic", "fence")]
    words = sorted({command.on for command in changes if command.on})
    errors = [
        InputError(unknown("word", command.on, words), join("program", i, "on"))
        for i, command in enumerate(program)
        if command.op == "poll" and command.on not in words
    ]
    return errors or [
        InputError(
            f"polls for {program[i].on!r} >= {program[i].value}, which comes only after it, "
            "if at all; it would wait for ever",
            join("program", i),
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


def _errors_of(command: Command, node: Node) -> Errors:
    engines = node.gpu.dma_engines
    if isinstance(command.peer, int):
        yield from peer_errors(command.peer, node, "peer")
    for i, peer in enumerate(command.peers):
        yield from peer_errors(peer, node, join("peers", i))
    if command.engine is not None:
        reason = f", there are {engines.last + 1} engines"
        yield from above(command.engine, engines.last, reason, "engine")
    reason = f", an engine has {engines.queues} queues"
    yield from above(command.queue, engines.queues - 1, reason, "queue")
    most = engines.broadcast_destinations or 1
    if len(command.peers) > most:
        message = f"{len(command.peers)} destinations; must be at most {most} on {node.name}"
        yield InputError(message, "peers")
    if command.op not in engines.commands and command.op != "reduce":
        message = f"the DMA engines of {node.name} have no command {command.op!r}"
        yield InputError(f"{message}; they have {', '.join(engines.commands)}", "op")
    yield from reduce_errors(command.op == "reduce", node, "op")
