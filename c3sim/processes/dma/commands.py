"""DMA commands: what each does when its engine comes to it.

==================  ==============================================================================
copy, broadcast,    Decode, then move. The engine is free once the bytes have moved; their way
swap, reduce        to memory (``copy_latency``) and the signal overlap with its next command.
atomic, fence       Wait until what their queue moved has landed. The change of a word is seen a
                    signal's latency later.
poll                Holds its queue until a word is large enough, and for ``poll_latency``.
timestamp           Waits as an atomic does, and notes the time.
==================  ==============================================================================

Address translation has no cost of its own: no public run tells it from the copy's latency.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from c3sim.machine.state import Asked, Rate
from c3sim.models.dma import engine_rate, engine_work
from c3sim.processes.dma.copies import (
    HOST,
    DmaCopy,
    as_executed,
    engine_for,
    handed_on,
    host_engine_for,
    local_engine_for,
    port_sharers,
    traffic,
)
from c3sim.processes.dma.engines import Execution, Request, Step, WordKey, Words
from c3sim.processes.dma.host import DmaHost
from c3sim.processes.plan import Context
from c3sim.processes.signals import Callback
from c3sim.spec.dma_engines import Operation
from c3sim.spec.hardware import Node
from c3sim.spec.task import Command


class Place(NamedTuple):
    """The place at which a command is submitted."""

    gpu: int
    engine: int
    queue: int


def copy_step(
    context: Context,
    task: str,
    copy: DmaCopy,
    *,
    in_order: bool = False,
    signalled: bool = True,
    sharers: int = 1,
) -> Step:
    """The step that carries *copy* out, or that requests it from the source's engine.

    *in_order*: the next command of its queue waits until its completion is seen; *signalled*: a
    signal of its own says so, else its end is that its bytes have landed; *sharers*: engines that
    share its port in the same program.
    """
    executed = as_executed(context, copy)
    landing = context.node.gpu.dma_engines.copy_latency
    landing += _signal_latency(context) if signalled else 0.0
    if executed is copy:
        return _CopyRun(context, copy, landing, in_order, sharers).step(task)
    step = _CopyRun(context, executed, landing, False, sharers).step(task)
    request = Request(context, step, landing)
    return step._replace(
        gpu=copy.gpu,
        queue=copy.queue,
        pull=True,
        in_order=in_order,
        run=request.on_turn,
        request=request,
    )


class _CopyRun:
    """*copy* on the engine that carries it, for any task; *landing*: s from its last byte to its
    end; *in_order*, *sharers*: as in :func:`copy_step`.
    """

    def __init__(
        self, context: Context, copy: DmaCopy, landing: float, in_order: bool, sharers: int
    ):
        self.context, self.copy, self.landing = context, copy, landing
        self.in_order, self.sharers = in_order, sharers
        engines = context.node.gpu.dma_engines
        self.linked = copy.source != copy.destination  # it leaves the GPU
        self.packets = math.ceil(copy.size / engines.max_packet_payload)
        several = 1 if handed_on(context.node, copy.op) else 1 + len(copy.also)
        work = engine_work(engines, copy.op, ways=several, linked=self.linked)
        ways = 2 if copy.op == "swap" else 1
        self.cap = _rate_by_state(context, self.linked, copy.pull, work, ways)
        self.traffic = traffic(context.node, copy, work)

    def step(self, task: str) -> Step:
        copy, host = self.copy, self.context.node.host
        inlined = 0.0
        if copy.source == HOST and host.inline_bandwidth and copy.size <= (host.inline_bytes or 0):
            inlined = copy.size / host.inline_bandwidth
        place = Place(copy.gpu, copy.engine, copy.queue)
        more = {"pull": copy.pull, "in_order": self.in_order, "inlined": inlined}
        return _step(self.context, task, place, copy.op, self.run, self.packets, **more)

    def run(self, execution: Execution) -> None:
        if self.copy.source == HOST:
            wait = self.context.node.host.read_latency  # the engine waits for its reads
        else:
            wait = 0.0 if self.linked else self.context.node.gpu.dma_engines.local_latency or 0.0
        started = partial(self._move, execution, self.context.env.now)
        _decode(self.context, started, self.packets, wait)

    def _move(self, execution: Execution, begun: float) -> None:
        context, copy, memory = self.context, self.copy, self.context.node.gpu.hbm
        asked = Asked(
            gpu=copy.gpu,
            cap=self.cap,
            traffic=self.traffic,
            sharers=self.sharers,
            first=memory.first == "engines" and not copy.pull,
            clocked=False,
        )
        moved = partial(self._moved, execution, begun)
        context.machine.flow(execution.task, asked, copy.size, moved, f"{execution.task}:copy")

    def _moved(self, execution: Execution, begun: float, _flow: object) -> None:
        context, copy, engines = self.context, self.copy, self.context.node.gpu.dma_engines
        track, now, ring, task = (
            f"dma[{copy.engine}]",
            context.env.now,
            execution.ring,
            execution.task,
        )
        context.span(copy.gpu, track, task, task, begun, bytes=copy.size, op=copy.op)
        execution.engine.moved_at = now
        ring.landed_at = max(ring.landed_at, now + engines.copy_latency)
        context.after(self.landing, execution.completed)
        if not self.in_order:
            execution.free_both()
        elif engines.queue_time_slice:  # the engine stays with the queue
            context.after(self.landing, execution.free_both)
        else:
            execution.free_engine()
            context.after(self.landing, execution.free_ring)


def _rate_by_state(context: Context, linked: bool, pull: bool, work: float, ways: int) -> Rate:
    """Rate as of :func:`engine_rate`; the same function for copies that are alike, so that a GPU's
    state asks it once.
    """
    alike = linked, pull, work, ways
    if alike not in context.engine_rates:
        rate = engine_rate(context.node, linked=linked, pull=pull, work=work, ways=ways)
        context.engine_rates[alike] = lambda state: rate(state.load)
    return context.engine_rates[alike]


def word_step(
    context: Context, task: str, words: Words, place: Place, op: Operation, key: WordKey, value: int
) -> Step:
    """An atomic or a fence: changes the word *key* by, or to, *value*."""

    def run(execution: Execution) -> None:
        def issued() -> None:
            execution.free_ring()
            context.after(_signal_latency(context), changed)

        def changed() -> None:
            words.change(key, value, add=op == "atomic")
            execution.completed()

        _when_landed(context, execution, issued)

    return _step(context, task, place, op, run)


def poll_step(
    context: Context, task: str, words: Words, place: Place, key: WordKey, value: int
) -> Step:
    """Holds its queue until the word *key* is at least *value*."""

    def run(execution: Execution) -> None:
        def seen() -> None:
            execution.completed()
            execution.free_ring()

        def decoded() -> None:
            execution.free_engine()
            latency = context.node.gpu.dma_engines.poll_latency
            words.when(key, value, partial(context.after, latency, seen))

        _decode(context, decoded)

    return _step(context, task, place, "poll", run)


def timestamp_step(
    context: Context, task: str, place: Place, times: dict[str, float], name: str
) -> Step:
    """Notes in *times[name]* when everything before it in its queue has landed [s]."""

    def run(execution: Execution) -> None:
        def written() -> None:
            now = times[name] = context.env.now
            context.span(place.gpu, f"dma[{place.engine}]", "timestamp", task, now)
            execution.completed()
            execution.free_ring()

        _when_landed(context, execution, written)

    return _step(context, task, place, "timestamp", run)


def _signal_latency(context: Context) -> float:
    """From the last byte until a signal of it is seen [s]."""
    engines = context.node.gpu.dma_engines
    return engines.latency * engines.completion_fraction


def _step(
    context: Context,
    task: str,
    place: Place,
    op: Operation,
    run: Callable[[Execution], None],
    packets: int = 1,
    **more: Any,
) -> Step:
    """A command at *place*; *more*: further fields of it."""
    engines = context.node.gpu.dma_engines
    return Step(
        task=task,
        gpu=place.gpu,
        engine=place.engine,
        queue=place.queue,
        op=op,
        fetch=engines.latency - _signal_latency(context),
        size=packets * engines.packet_sizes[op],
        run=run,
        packets=packets,
        **more,
    )


def _decode(context: Context, then: Callback, packets: int = 1, wait: float = 0.0) -> None:
    """Decode *packets*, and be busy for *wait* s."""
    context.once_past(packets * context.node.gpu.dma_engines.packet_time + wait, then)


def _when_landed(context: Context, execution: Execution, then: Callback) -> None:
    """Decode; then let other queues go on until everything before in this one has landed."""

    def decoded() -> None:
        execution.free_engine()
        context.once_past(execution.ring.landed_at - context.env.now, then)

    _decode(context, decoded)


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
    words = context.part(DmaHost).words
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
    """Transfer of each command; None: no bytes."""
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
