"""DMA command programs as steps of engines: of a ``commands`` task, and of collectives."""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.processes.context import Context
from c3sim.processes.dma.commands import (
    Place,
    Words,
    copy_step,
    poll_step,
    timestamp_step,
    word_step,
)
from c3sim.processes.dma.copies import (
    HOST,
    DmaCopy,
    as_executed,
    engine_for,
    host_engine_for,
    local_engine_for,
    port_sharers,
)
from c3sim.processes.dma.engines import Step
from c3sim.specs.hardware import Node
from c3sim.specs.task import Command


def engine_numbers(node: Node, gpu: int, program: Sequence[Command]) -> list[int]:
    """The engine of every command: as written, or the one that serves its peer, or that of the
    command before it.

    A program that begins with commands without a peer begins on the engine of its first peer.
    """
    known = [_known_engine(node, gpu, command) for command in program]
    last = next((engine for engine in known if engine is not None), node.gpu.dma_engines.host_count)
    return [last := engine if engine is not None else last for engine in known]


def _known_engine(node: Node, gpu: int, command: Command) -> int | None:
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
    mapping: str | None = None,
    times: dict[str, float] | None = None,
) -> list[Step]:
    """A step for every command of *program* of task *name* on *gpu*.

    *mirrored*: see :class:`DmaCopy`; *queue*: added to the queues that commands name; *batch*: one
    call of the runtime, which splits it by peer: in a queue, what goes to the next peer waits for
    the end of what goes to this one; *mapping*: of peers' memory; *times*: where timestamps
    are noted [s].
    """
    node, queues = context.node, context.node.gpu.dma_engines.queues
    places = [
        Place(gpu, engine, (command.queue + queue) % queues)
        for engine, command in zip(engine_numbers(node, gpu, program), program, strict=True)
    ]
    copies = _copies(node, program, places, mirrored=mirrored, mapping=mapping)
    sharers = port_sharers(node, [as_executed(context, copy) for copy in copies if copy])
    in_order = _ends_of_parts(places, program) if batch else set()
    last = dict(zip(places, program, strict=True))
    steps = []
    for i, (place, command, copy) in enumerate(zip(places, program, copies, strict=True)):
        if copy is not None:
            step = copy_step(
                context,
                name,
                copy,
                in_order=i in in_order,
                signalled=last[place].op not in ("atomic", "fence"),
                sharers=sharers(copy),
            )
        elif command.op == "timestamp":
            noted = {} if times is None else times
            step = timestamp_step(context, name, place, noted, command.on or "")
        else:
            step = _poll_or_change(context, words, name, place, command)
        steps.append(step)
    return steps


def _poll_or_change(
    context: Context, words: Words, name: str, place: Place, command: Command
) -> Step:
    """A poll of a word of this GPU, or a change of a word of the peer."""
    word = f"{name}:{command.on}"
    if command.op == "poll":
        return poll_step(context, name, words, place, (word, place.gpu), command.value)
    peer = command.peer if isinstance(command.peer, int) else 0
    home = context.machine.home(context.node.peer(place.gpu, peer), place.gpu)
    return word_step(context, name, words, place, command.op, (word, home), command.value)


def _ends_of_parts(places: Sequence[Place], program: Sequence[Command]) -> set[int]:
    """Indices of commands that others of the same queue, for another peer, come after."""
    last: dict[Place, int] = {}
    ends = set()
    for i, (place, command) in enumerate(zip(places, program, strict=True)):
        before = last.get(place)
        if before is not None and program[before].peer != command.peer:
            ends.add(before)
        last[place] = i
    return ends


def _copies(
    node: Node,
    program: Sequence[Command],
    places: Sequence[Place],
    *,
    mirrored: bool,
    mapping: str | None,
) -> list[DmaCopy | None]:
    """What each command moves; None: nothing."""
    swaps = sum(command.op == "swap" for command in program)
    copies: list[DmaCopy | None] = []
    for command, place in zip(program, places, strict=True):
        if command.bytes is None:
            copies.append(None)
            continue
        gpu = place.gpu
        offsets = command.peers or (command.peer,)
        ends = [HOST if offset == "host" else node.peer(gpu, offset or 0) for offset in offsets]
        pull = command.direction == "pull"
        copy = DmaCopy(
            gpu,
            place.engine,
            source=ends[0] if pull else gpu,
            destination=gpu if pull else ends[0],
            size=command.bytes,
            mirrored=mirrored,
            also=tuple(ends[1:]),
            op=command.op,
            queue=place.queue,
            # of the n - 1 swaps of a GPU, its peers submit those that it does not
            touching=(node.gpus - 1) / swaps if mirrored and command.op == "swap" else 1.0,
            mapping=mapping,
        )
        copies.append(copy)
    return copies
