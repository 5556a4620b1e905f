"""DMA commands and what each does when its turn comes.

    copy, broadcast, swap, reduce   decode, move; the engine is free once the bytes have moved, and its next command overlaps
                                    with their way to memory (``copy_latency``) and the signal behind it
    atomic, fence                   wait until what their queue moved has landed; then the change of a word is seen a signal's latency later
    poll                            holds its queue until a word is large enough, and for ``poll_latency``
    timestamp                       waits as an atomic does, and notes the time

Address translation has no cost of its own: no public run tells it from the copy's latency.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from c3sim.models.dma import engine_rate, engine_work
from c3sim.processes.context import Context
from c3sim.processes.dma.copies import HOST, DmaCopy, traffic
from c3sim.processes.dma.engines import Step, Turn
from c3sim.specs.dma_engines import Operation

WordKey = tuple[str, int]  # (name, GPU)


@dataclass
class Words:
    """Words in memory that commands change and poll."""

    values: dict[WordKey, int] = field(default_factory=dict)
    _polled: dict[WordKey, list[tuple[int, Callable[[], None]]]] = field(default_factory=dict)

    def change(self, key: WordKey, value: int, *, add: bool) -> None:
        self.values[key] = value + (self.values.get(key, 0) if add else 0)
        waiting = self._polled.pop(key, [])
        for wanted, call in waiting:
            self.when(key, wanted, call)

    def when(self, key: WordKey, wanted: int, call: Callable[[], None]) -> None:
        """Call *call* once the word is at least *wanted* (at once if it is)."""
        if self.values.get(key, 0) >= wanted:
            call()
        else:
            self._polled.setdefault(key, []).append((wanted, call))


def copy_step(
    context: Context,
    task: str,
    copy: DmaCopy,
    *,
    in_order: bool = False,
    signalled: bool = True,
    sharers: int = 1,
) -> Step:
    """The step that carries *copy* out. *in_order*: its ring goes on only when its completion is
    seen, because the next command of its stream waits for it; *signalled*: a signal of its own says
    so, else its end is that its bytes have landed; *sharers*: engines that share its port in the
    same program.
    """
    engines = context.node.gpu.dma_engines
    tail = landing_time(context, signalled=signalled)
    linked = copy.source != copy.destination
    packets = math.ceil(copy.size / engines.max_packet_payload)
    work = engine_work(engines, copy.op, ways=1 + len(copy.also), linked=linked)

    host, waits, inlined = context.node.host, 0.0 if linked else engines.local_latency or 0.0, 0.0
    if copy.source == HOST:
        waits = host.read_latency  # the engine waits for its reads
        if host.inline_bandwidth and host.inline_bytes and copy.size <= host.inline_bytes:
            inlined = copy.size / host.inline_bandwidth

    def run(turn: Turn) -> None:
        begun = context.env.now

        def moved(_flow: object) -> None:
            context.span(
                copy.gpu, f"dma[{copy.engine}]", task, task, begun, bytes=copy.size, op=copy.op
            )
            turn.engine.moved_at = context.env.now
            turn.ring.landed_at = max(turn.ring.landed_at, context.env.now + engines.copy_latency)
            context.after(tail, turn.completed)
            if not in_order:
                turn.over()
            elif engines.queue_time_slice:  # the engine stays with the queue
                context.after(tail, turn.over)
            else:
                turn.free()
                context.after(tail, turn.resume)

        def decoded() -> None:
            context.machine.flow(
                f"{task}:copy",
                task=task,
                gpu=copy.gpu,
                work=copy.size,
                cap=lambda state: engine_rate(
                    context.node,
                    state.load,
                    linked=linked,
                    pull=copy.pull,
                    work=work,
                    ways=1 + (copy.op == "swap"),
                ),
                traffic=traffic(context.node, copy, work),
                sharers=sharers,
                clocked=0.0,
                done=moved,
            )

        _decode(context, decoded, packets, waits)

    step = _step(context, copy.gpu, copy.engine, copy.queue, copy.op, run, packets)
    return replace(step, pull=copy.pull, in_order=in_order, inlined=inlined)


def landing_time(context: Context, *, signalled: bool) -> float:
    """From the last byte that an engine has moved until it has landed [s], and until a signal of
    that is seen.
    """
    return context.node.gpu.dma_engines.copy_latency + (_signal(context) if signalled else 0.0)


def word_step(
    context: Context,
    words: Words,
    gpu: int,
    engine: int,
    queue: int,
    op: Operation,
    key: WordKey,
    value: int,
) -> Step:
    """An atomic or a fence: changes the word *key* by, or to, *value*."""

    def run(turn: Turn) -> None:
        def issued() -> None:
            turn.resume()
            context.after(_signal(context), seen)

        def seen() -> None:
            words.change(key, value, add=op == "atomic")
            turn.completed()

        _when_landed(context, turn, issued)

    return _step(context, gpu, engine, queue, op, run)


def poll_step(
    context: Context, words: Words, gpu: int, engine: int, queue: int, key: WordKey, value: int
) -> Step:
    """Holds its queue until the word *key* is at least *value*."""

    def run(turn: Turn) -> None:
        def happened() -> None:
            turn.completed()
            turn.resume()

        def decoded() -> None:
            turn.free()
            latency = context.node.gpu.dma_engines.poll_latency
            words.when(key, value, partial(context.after, latency, happened))

        _decode(context, decoded)

    return _step(context, gpu, engine, queue, "poll", run)


def timestamp_step(
    context: Context, task: str, gpu: int, engine: int, queue: int, note: Callable[[float], None]
) -> Step:
    """Calls *note* with the time [s] at which everything before it in its queue has landed."""

    def run(turn: Turn) -> None:
        def written() -> None:
            context.span(gpu, f"dma[{engine}]", "timestamp", task, context.env.now)
            note(context.env.now)
            turn.completed()
            turn.resume()

        _when_landed(context, turn, written)

    return _step(context, gpu, engine, queue, "timestamp", run)


# -- private ---------------------------------------------------------------------------------------
# -------------


def _signal(context: Context) -> float:
    """From the last byte to a signal that is seen."""
    engines = context.node.gpu.dma_engines
    return engines.latency * engines.completion_fraction


def _step(
    context: Context,
    gpu: int,
    engine: int,
    queue: int,
    op: Operation,
    run: Callable[[Turn], None],
    packets: int = 1,
) -> Step:
    engines = context.node.gpu.dma_engines
    size = packets * engines.packet_sizes[op]
    return Step(gpu, engine, queue, op, engines.latency - _signal(context), size, run, packets)


def _decode(
    context: Context, then: Callable[[], None], packets: int = 1, more: float = 0.0
) -> None:
    """Decode *packets*, and be busy for *more* s."""
    time = packets * context.node.gpu.dma_engines.packet_time + more
    if time:
        context.after(time, then)
    else:
        then()


def _when_landed(context: Context, turn: Turn, then: Callable[[], None]) -> None:
    """Decode; then let other queues go on until everything before in this one has landed."""

    def decoded() -> None:
        turn.free()
        wait = turn.ring.landed_at - context.env.now
        if wait > 0:
            context.after(wait, then)
        else:
            then()

    _decode(context, decoded)
