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
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from c3sim.machine.flow_tags import Asked
from c3sim.machine.state import Rate
from c3sim.models.dma import engine_rate, engine_work
from c3sim.processes.dma.copies import HOST, DmaCopy, as_executed, traffic
from c3sim.processes.dma.engines import Execution, Request, Step
from c3sim.processes.plan import Context
from c3sim.processes.signals import Callback
from c3sim.specs.dma_engines import Operation

WordKey = tuple[str, int]  # (name, GPU)


class Place(NamedTuple):
    """Where a command is submitted."""

    gpu: int
    engine: int
    queue: int


@dataclass
class Words:
    """Words in memory that commands change and poll."""

    values: dict[WordKey, int] = field(default_factory=dict)
    _polls: dict[WordKey, list[tuple[int, Callback]]] = field(default_factory=dict)

    def change(self, key: WordKey, value: int, *, add: bool) -> None:
        self.values[key] = value + (self.values.get(key, 0) if add else 0)
        for wanted, callback in self._polls.pop(key, []):
            self.when(key, wanted, callback)

    def when(self, key: WordKey, wanted: int, callback: Callback) -> None:
        """Call *callback* once the word is at least *wanted* (at once if it is)."""
        if self.values.get(key, 0) >= wanted:
            callback()
        else:
            self._polls.setdefault(key, []).append((wanted, callback))


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
        work = engine_work(engines, copy.op, ways=1 + len(copy.also), linked=self.linked)
        ways = 2 if copy.op == "swap" else 1
        self.cap = _rate_by_state(context, self.linked, copy.pull, work, ways)
        self.traffic = traffic(context.node, copy, work)

    def step(self, task: str) -> Step:
        copy, host = self.copy, self.context.node.host
        inlined = 0.0
        if copy.source == HOST and host.inline_bandwidth and copy.size <= (host.inline_bytes or 0):
            inlined = copy.size / host.inline_bandwidth
        place = Place(copy.gpu, copy.engine, copy.queue)
        step = _step(self.context, task, place, copy.op, self.run, self.packets)
        return step._replace(pull=copy.pull, in_order=self.in_order, inlined=inlined)

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
            behind=memory.communication_threshold is not None,
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
    """As :func:`engine_rate`, where memory admits the engine; the same function for copies that are
    alike, so that a GPU's state asks it once.
    """
    alike = linked, pull, work, ways
    if alike not in context.engine_rates:
        rate = engine_rate(context.node, linked=linked, pull=pull, work=work, ways=ways)
        context.engine_rates[alike] = lambda state: rate(state.load) * state.admitted
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
) -> Step:
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
