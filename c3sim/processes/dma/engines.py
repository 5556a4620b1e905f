"""DMA engines on the clock: rings of commands, taken in turn and carried out one by one.

A ring (queue) keeps the order of its commands. An engine has one command in hand; it goes on with the same ring for
``queue_time_slice``, then, or when that has nothing ready, round robin. A change of ring waits for ``queue_switch_time`` after the last
byte moved, and takes ``poll_switch_time`` to one that waited behind a poll. A command that waits (a poll, or an
atomic behind bytes that have not landed) holds its ring, not the engine. A packet leaves its room in the ring when its command begins.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from c3sim.models.dma import RELEASED_QUEUE_STARTS
from c3sim.processes.context import Context
from c3sim.specs.dma_engines import Operation

Call = Callable[[], None]
Key = tuple[int, int, int, str]  # GPU, engine, queue, task that has it to itself ("": shared)


@dataclass(frozen=True, slots=True)
class Step:
    """One command for *queue* of *engine* of *gpu*: *fetch* s from doorbell to ready; *run(turn)*
    when its turn has come.

    *packets* in the ring, *size* bytes of it. *signals*: it tells others of the end of what is
    before it; *pull*: it reads from a peer; *polled*: it waits behind a poll; *in_order*: the next
    of its queue waits until its end is seen; *request*: it asks another GPU's engine for something;
    *inlined*: s of the host to write it into the ring with its bytes, where the queue is idle.
    """

    gpu: int
    engine: int
    queue: int
    op: Operation
    fetch: float
    size: float
    run: Callable[[Turn], None]
    packets: int = 1
    pull: bool = False
    polled: bool = False
    in_order: bool = False
    request: Requested | None = None
    inlined: float = 0.0

    @property
    def signals(self) -> bool:
        return self.op in ("atomic", "fence")


@dataclass
class Ring:
    """Commands of one queue that have been fetched, in order, and bytes that packets take in it."""

    capacity: float
    ready: deque[tuple[Step, Call]] = field(default_factory=deque)
    held: bool = False
    current: Operation | None = None  # what it is at, or was
    coming: int = 0  # commands that have been submitted and not begun
    landed_at: float = 0.0  # when the last byte of what its commands moved has landed
    used: float = 0.0
    full: list[Call] = field(default_factory=list)  # who waits for room

    @property
    def idle(self) -> bool:
        """Whether nothing of it is waiting or under way."""
        return not (self.coming or self.held)

    def fits(self, size: float) -> bool:
        """Whether a packet of *size* bytes has room; one that is larger than the ring goes into an
        empty one.
        """
        return self.used + size <= self.capacity or not self.used


@dataclass(slots=True)
class Turn:
    """What a command says while it is carried out."""

    engine: Engine
    ring: Ring
    completed: Call  # its end is known to the host or to who waits for it

    def free(self) -> None:
        """The engine can serve other rings; this one waits."""
        self.engine.busy = False
        self.engine.kick()

    def resume(self) -> None:
        """The ring's next command can begin."""
        self.ring.held = False
        self.engine.kick()

    def over(self) -> None:
        """Both at once: the command is done with."""
        self.ring.held = False
        self.free()


class Requested(Protocol):
    """What a command asks of another GPU's engine."""

    def submit(
        self, engines: Engines, key: Key, step: Step, leader: Requested | None, idle: bool
    ) -> Requested:
        """The doorbell has rung for *step* of queue *key*, which was *idle*, behind *leader* if it
        is to begin with that.

        Returns who leads those behind it.
        """


class Engine:
    """One engine of *gpu*, and its rings."""

    def __init__(self, context: Context, gpu: int):
        self.context, self.gpu = context, gpu
        self.busy = False
        self.rings: dict[int, Ring] = {}
        self.moved_at = -math.inf  # when it last moved a byte
        self._last: int | None = None
        self._since = 0.0  # when it took up the last queue

    def ring(self, queue: int) -> Ring:
        if queue not in self.rings:
            self.rings[queue] = Ring(self.context.node.gpu.dma_engines.ring_bytes)
        return self.rings[queue]

    def kick(self) -> None:
        """Begin the next command, if there is one and the engine has none in hand."""
        if self.busy:
            return
        queue = self._next()
        if queue is None:
            return
        self.busy = True
        switched, self._last = self._last not in (None, queue), queue
        ring = self.rings[queue]
        step, completed = ring.ready.popleft()
        ring.held, ring.current = True, step.op
        ring.coming -= 1
        ring.used -= step.size
        waiting, ring.full = ring.full, []
        begin = partial(step.run, Turn(self, ring, completed))
        if switched:
            self._since = self.context.env.now
            self.context.after(self._switch_time(step.polled), begin)
        else:
            begin()
        for call in waiting:
            call()

    def _switch_time(self, polled: bool) -> float:
        """From one queue to another: what it moved for the one has to be complete, and one behind a
        poll to be taken up.
        """
        engines = self.context.node.gpu.dma_engines
        if polled:
            return engines.poll_switch_time
        return max(0.0, self.moved_at + engines.queue_switch_time - self.context.env.now)

    def _next(self) -> int | None:
        """The last one, in its time slice, or the queue after it, round robin, that can go on."""
        if self._last is not None and self._stays(self.rings[self._last]):
            return self._last
        queues = list(self.rings)
        if self._last is None:
            rule = self.context.node.gpu.dma_engines.released_queue_start
            start = RELEASED_QUEUE_STARTS[rule](self.gpu, len(queues))
        else:
            start = queues.index(self._last) + 1
        for queue in queues[start:] + queues[:start]:
            ring = self.rings[queue]
            if ring.ready and not ring.held:
                return queue
        return None

    def _stays(self, ring: Ring) -> bool:
        time_slice = self.context.node.gpu.dma_engines.queue_time_slice or 0.0
        passed = self.context.env.now - self._since
        return bool(ring.ready and not ring.held and passed < time_slice)


@dataclass(eq=False, slots=True)
class Asked:
    """A command that another GPU asked for; it can begin when it is *due*."""

    step: Step
    completed: Call
    due: bool = False


@dataclass
class Line:
    """Commands for one queue of an engine, in order of submission; one that is not due holds up
    those behind it.
    """

    engine: Engine
    queue: int
    waiting: deque[Asked] = field(default_factory=deque)

    def advance(self) -> None:
        """Hand the engine what is due, up to the first that is not."""
        ring = self.engine.ring(self.queue)
        while self.waiting and self.waiting[0].due:
            asked = self.waiting.popleft()
            ring.coming, ring.used = ring.coming + 1, ring.used + asked.step.size
            ring.ready.append((asked.step, asked.completed))
        self.engine.kick()


class Engines:
    """All engines of the node."""

    def __init__(self, context: Context):
        self.context = context
        self._lines: dict[Key, Line] = {}
        self._engines: dict[tuple[int, int, str], Engine] = {}

    def engine(self, key: Key) -> Engine:
        gpu, number, _, private = key
        if (gpu, number, private) not in self._engines:
            self._engines[gpu, number, private] = Engine(self.context, gpu)
        return self._engines[gpu, number, private]

    def ring(self, key: Key) -> Ring:
        return self.engine(key).ring(key[2])

    def stuck(self) -> list[str]:
        """Queues that are at a command which has not ended, and requests that are not due: where a
        deadlock is.
        """
        found = [
            f"gpu{gpu}.dma[{number}] queue {queue} is at a {ring.current}"
            for (gpu, number, _), engine in self._engines.items()
            for queue, ring in engine.rings.items()
            if ring.held
        ]
        return found + [
            f"gpu{gpu}.dma[{number}] carries no request behind one that is not due"
            for (gpu, number, _, _), line in self._lines.items()
            if line.waiting
        ]

    def line(self, key: Key) -> Line:
        if key not in self._lines:
            self._lines[key] = Line(self.engine(key), key[2])
        return self._lines[key]

    def arrive(self, key: Key, steps: list[Step], completed: Call) -> None:
        """The doorbell has rung: fetch *steps* behind those before them, without holding them up."""
        engine, ring = self.engine(key), self.ring(key)

        def fetched(step: Step) -> None:
            ring.ready.append((step, completed))
            if step.polled:  # other queues may be released at this instant
                self.context.after(0.0, engine.kick)
            else:
                engine.kick()

        idle, leader = ring.idle, None
        ring.coming += len(steps)
        for step in steps:
            if step.request is not None:
                leader = step.request.submit(self, key, step, leader, idle and step is steps[0])
            if step.request is None or step.in_order:
                leader = None  # what comes after it waits for its turn, or its end
            self.context.after(step.fetch, partial(fetched, step))
