"""DMA command programs as steps of engines: of a ``commands`` task, and of collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from c3sim.processes.context import Context
from c3sim.processes.dma.commands import Words, poll_step, timestamp_step, word_step
from c3sim.processes.dma.copies import (
    HOST,
    DmaCopy,
    engine_for,
    host_engine_for,
    local_engine_for,
    port_sharers,
)
from c3sim.processes.dma.engines import Step
from c3sim.processes.dma.requests import carried, transfer_step
from c3sim.specs.commands import Command
from c3sim.specs.hardware import Node


def engine_numbers(node: Node, gpu: int, program: Sequence[Command]) -> list[int]:
    """The engine of every command: as written, or the one that serves its peer, or that of the
    command before it.

    A program that begins with commands without a peer begins on the engine of its first peer.
    """
    known = [_own_engine(node, gpu, command) for command in program]
    last = next((engine for engine in known if engine is not None), node.gpu.dma_engines.host_count)
    numbers = []
    for engine in known:
        last = engine if engine is not None else last
        numbers.append(last)
    return numbers


def _own_engine(node: Node, gpu: int, command: Command) -> int | None:
    if command.engine is not None:
        return command.engine
    if command.peer == "host":
        return host_engine_for(node, gpu, out=command.direction == "push")[0]
    if command.op in ("atomic", "fence"):  # their peer says whose word it is
        return None
    first = command.peers[0] if command.peers else command.peer
    if command.op == "copy" and first is None and node.gpu.dma_engines.local_count:
        return local_engine_for(node, gpu)[0]
    return engine_for(node, gpu, first)[0] if first is not None else None


def program_steps(
    context: Context,
    words: Words,
    name: str,
    gpu: int,
    program: Sequence[Command],
    *,
    mirrored: bool = False,
    queue: int = 0,
    batch: bool = False,
    times: dict[str, float] | None = None,
) -> list[Step]:
    """A step for every command of *program* of task *name* on *gpu*.

    *mirrored*: see :class:`DmaCopy`; *queue*: added to the queues that commands name; *batch*: one
    call of the runtime, which splits it by peer: in a queue, what goes to the next peer waits for
    the end of what goes to this one; *times*: where timestamps are noted [s].
    """
    numbers = engine_numbers(context.node, gpu, program)
    ends = {
        (engine, command.queue): command for engine, command in zip(numbers, program, strict=True)
    }
    told = {place: command.op in ("atomic", "fence") for place, command in ends.items()}
    queues = context.node.gpu.dma_engines.queues
    swaps = sum(command.op == "swap" for command in program)
    steps = []
    copies = [
        _copy(
            context.node, gpu, command, engine, (command.queue + queue) % queues, mirrored=mirrored
        )
        if command.bytes is not None
        else None
        for engine, command in zip(numbers, program, strict=True)
    ]
    sharers = port_sharers(context.node, [carried(context, copy) for copy in copies if copy])
    parted = _ends_of_parts(numbers, program) if batch else set()
    for place, (engine, command, copy) in enumerate(zip(numbers, program, copies, strict=True)):
        number = (command.queue + queue) % queues
        if command.op in ("atomic", "fence"):
            where = context.node.peer(gpu, command.peer if isinstance(command.peer, int) else 0)
            key = (f"{name}:{command.on}", context.machine.home(where))
            step = word_step(context, words, gpu, engine, number, command.op, key, command.value)
        elif command.op == "poll":
            key = (f"{name}:{command.on}", gpu)
            step = poll_step(context, words, gpu, engine, number, key, command.value)
        elif command.op == "timestamp":
            noted = {} if times is None else times
            step = timestamp_step(
                context, name, gpu, engine, number, partial(noted.__setitem__, command.on or "")
            )
        else:
            assert copy is not None  # held by the checks of programs
            if (
                mirrored and command.op == "swap"
            ):  # of its n - 1 swaps, the others were submitted by its peers
                copy = replace(copy, touching=(context.node.gpus - 1) / swaps)
            step = transfer_step(
                context,
                name,
                copy,
                in_order=place in parted,
                signalled=not told[engine, command.queue],
                sharers=sharers(copy),
            )
        steps.append(step)
    return steps


def _ends_of_parts(numbers: Sequence[int], program: Sequence[Command]) -> set[int]:
    """Places of commands that others of the same queue, for another peer, come after."""
    last: dict[tuple[int, int], int] = {}
    found = set()
    for place, (engine, command) in enumerate(zip(numbers, program, strict=True)):
        before = last.get((engine, command.queue))
        if before is not None and program[before].peer != command.peer:
            found.add(before)
        last[engine, command.queue] = place
    return found


def _copy(
    node: Node, gpu: int, command: Command, engine: int, queue: int, *, mirrored: bool
) -> DmaCopy:
    assert command.bytes is not None  # held by the checks of programs
    offsets = command.peers or (command.peer,)
    ends = [HOST if offset == "host" else node.peer(gpu, offset or 0) for offset in offsets]
    source, destination = (ends[0], gpu) if command.direction == "pull" else (gpu, ends[0])
    return DmaCopy(
        gpu,
        engine,
        source,
        destination,
        command.bytes,
        mirrored,
        also=tuple(ends[1:]),
        op=command.op,
        queue=queue,
    )
