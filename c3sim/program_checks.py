"""Whether DMA programs can run to their end: the fields of each command, and a signal for every wait."""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.errors import InputError
from c3sim.hints import unknown
from c3sim.specs.workload import Command, Commands, Workload
from c3sim.yaml_nodes import join

__all__ = ["program_errors"]

_NEEDS = {"copy": ("bytes", "peer"), "signal": ("on",), "wait": ("on",)}


def program_errors(workload: Workload) -> list[InputError]:
    """What is wrong with the programs of the workload's ``commands`` tasks."""
    errors: list[InputError] = []
    for name, task in workload.tasks.items():
        if isinstance(task, Commands):
            path = join(join("tasks", name), "program")
            errors += _field_errors(task.program, path) or _wait_errors(task.program, path)
    return errors


def _field_errors(program: Sequence[Command], path: str) -> list[InputError]:
    return [
        InputError(
            f"op {command.op!r} without {field!r}; needs {' and '.join(_NEEDS[command.op])}", join(path, i)
        )
        for i, command in enumerate(program)
        for field in _NEEDS[command.op]
        if getattr(command, field) is None
    ]


def _wait_errors(program: Sequence[Command], path: str) -> list[InputError]:
    """Waits for what no command of the program signals, or signals too late. Signals belong to their task."""
    signals = sorted({command.on for command in program if command.op == "signal" and command.on})
    errors = [
        InputError(unknown("signal", command.on, signals), f"{join(path, i)}.on")
        for i, command in enumerate(program)
        if command.op == "wait" and command.on not in signals
    ]
    return errors or [
        InputError(
            f"waits for signal {program[i].on!r}, which is sent only after it; it would wait for ever",
            join(path, i),
        )
        for i in _stuck(program)
    ]


def _stuck(program: Sequence[Command]) -> list[int]:
    """The waits at which engines stop for ever: each engine runs its commands in order."""
    queues: dict[int, list[int]] = {}
    for i, command in enumerate(program):
        queues.setdefault(command.engine, []).append(i)
    sent: set[str | None] = set()
    moved = True
    while moved:
        moved = False
        for queue in queues.values():
            while queue and (program[queue[0]].op != "wait" or program[queue[0]].on in sent):
                command = program[queue.pop(0)]
                moved = True
                if command.op == "signal":
                    sent.add(command.on)
    return sorted(queue[0] for queue in queues.values() if queue)
