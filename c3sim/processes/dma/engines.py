"""DMA engines on the clock: rings of commands that an engine serves one command at a time.

- A ring (queue) keeps the order of its commands.
- An engine stays with a ring for ``queue_time_slice``, then, or when nothing of it is ready, goes
  round robin. At first it begins where the rule ``released_queue_start`` says.
- A change of ring begins ``queue_switch_time`` after the last byte moved. A change to a ring that
  waited behind a poll takes ``poll_switch_time``.
- A command that waits (a poll, or an atomic behind bytes that have not landed) holds its ring, not
  the engine.
- A packet leaves its room in the ring when its command begins.

A copy that reads from a peer may be a request, which the peer's engine carries as a write
(``pull_executor: source``):

- The source's engine carries the requests of all GPUs in one queue, in order of submission. A
  request that is not due holds up those behind it.
- A request that finds its own queue idle is due at once. Any other is due ``remote_read_latency``
  after the GPU's engine has come to it. For one behind another command that latency starts at the
  last byte of its predecessor. One notice makes a whole batch due.
- When the bytes have landed, the GPU's engine sees that when it comes to the queue again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from c3sim.models.dma import released_queue
from c3sim.processes.plan import Context
from c3sim.processes.signals import Callback
from c3sim.spec.dma_engines import Operation

WordKey = tuple[str, int]  # (name, GPU)


class QueueKey(NamedTuple):
    gpu: int
    engine: int
    queue: int
    task: str  # that has the queue to itself; "": shared


class Step(NamedTuple):
    """One command of *task* for *queue* of *engine* of *gpu*.

    *run(execution)* carries it out. Times are in s, sizes in bytes.
    """

    task: str
    gpu: int
    engine: int
    queue: int
    op: Operation
    fetch: float  # from doorbell to ready
    size: float  # of its packets in the ring
    run: Callable[[Execution], None]
    packets: int = 1
    pull: bool = False  # it reads from a peer
    polled: bool = False  # it waits behind a poll
    in_order: bool = False  # the next of its queue waits until its end is seen
    request: Request | None = None  # it asks another GPU's engine for something
    inlined: float = 0.0  # host time to write its bytes into the ring, where the queue is idle

    @property
    def signals(self) -> bool:
        """True if it tells others of the end of what is before it."""
        return self.op in ("atomic", "fence")

    @property
    def only_moves(self) -> bool:
        """True if another task may have the same one: no word and no other GPU hears of it."""
        return self.op in ("copy", "broadcast", "swap", "reduce") and self.request is None


@dataclass
class Ring:
    """Commands of one queue that have been fetched, in order, and bytes that packets take in it."""

    capacity: float
    ready: deque[tuple[Step, Callback]] = field(default_factory=deque)
    held: bool = False  # a command of it is under way
    current: Operation | None = None  # the command under way, or the last one
    pending: int = 0  # commands that have been submitted and not begun
    landed_at: float = 0.0  # when the last byte of what its commands moved has landed
    used: float = 0.0
    waiting_for_room: list[Callback] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """True if nothing of it is waiting or under way."""
        return not (self.pending or self.held)

    def fits(self, size: float) -> bool:
        """True if a packet of *size* bytes has room; an empty ring takes one of any size."""
        return self.used + size <= self.capacity or not self.used


@dataclass(slots=True)
class Execution:
    """One command under way: what it tells its engine and its ring."""

    task: str
    engine: Engine
    ring: Ring
    completed: Callback  # tells the host, or a waiting request, of the end

    def free_engine(self) -> None:
        """The engine can serve other rings; this one waits."""
        self.engine.busy = False
        self.engine.begin_next()

    def free_ring(self) -> None:
        """The ring's next command can begin."""
        self.ring.held = False
        self.engine.begin_next()

    def free_both(self) -> None:
        self.ring.held = False
        self.free_engine()


class Engine:
    """One engine of *gpu*, and its rings."""

    def __init__(self, context: Context, gpu: int):
        self.context, self.gpu = context, gpu
        self.busy = False
        self.rings: dict[int, Ring] = {}
        self.moved_at = -math.inf  # when it last moved a byte
        self._last: int | None = None  # the queue it served last
        self._since = 0.0  # when it took up that queue

    def ring(self, queue: int) -> Ring:
        if queue not in self.rings:
            self.rings[queue] = Ring(self.context.node.gpu.dma_engines.ring_bytes)
        return self.rings[queue]

    def begin_next(self) -> None:
        """Begin the next command, if there is one and the engine has none under way."""
        queue = None if self.busy else self._next_queue()
        if queue is None:
            return
        self.busy = True
        switched, self._last = self._last not in (None, queue), queue
        ring = self.rings[queue]
        step, completed = ring.ready.popleft()
        ring.held, ring.current = True, step.op
        ring.pending -= 1
        ring.used -= step.size
        waiting, ring.waiting_for_room = ring.waiting_for_room, []
        begin = partial(step.run, Execution(step.task, self, ring, completed))
        if switched:
            self._since = self.context.env.now
            self.context.after(self._switch_time(step.polled), begin)
        else:
            begin()
        for resume_host in waiting:
            resume_host()

    def _switch_time(self, polled: bool) -> float:
        engines = self.context.node.gpu.dma_engines
        if polled:
            return engines.poll_switch_time
        return max(0.0, self.moved_at + engines.queue_switch_time - self.context.env.now)

    def _next_queue(self) -> int | None:
        ready = [queue for queue, ring in self.rings.items() if ring.ready and not ring.held]
        if len(ready) < 2:
            return ready[0] if ready else None
        engines = self.context.node.gpu.dma_engines
        queues = list(self.rings)
        if self._last is None:
            start = released_queue(engines, self.gpu, len(queues))
        else:
            start = queues.index(self._last) + 1
            if self.context.env.now - self._since < (engines.queue_time_slice or 0.0):
                start -= 1
        return next(queue for queue in queues[start:] + queues[:start] if queue in ready)


@dataclass(eq=False, slots=True)
class PendingRequest:
    """A command that another GPU asked for; it can begin when it is *due*."""

    step: Step
    completed: Callback
    due: bool = False


@dataclass
class RequestQueue:
    """Requests for a queue in order of submission; one that is not due holds up the rest."""

    engine: Engine
    queue: int
    waiting: deque[PendingRequest] = field(default_factory=deque)

    def advance(self) -> None:
        """Hand the engine what is due, up to the first that is not."""
        ring = self.engine.ring(self.queue)
        while self.waiting and self.waiting[0].due:
            request = self.waiting.popleft()
            ring.pending, ring.used = ring.pending + 1, ring.used + request.step.size
            ring.ready.append((request.step, request.completed))
        self.engine.begin_next()


class Engines:
    """All engines of the node."""

    def __init__(self, context: Context):
        self.context = context
        self._engines: dict[tuple[int, int, str], Engine] = {}
        self._requests: dict[QueueKey, RequestQueue] = {}

    def engine(self, key: QueueKey) -> Engine:
        place = (key.gpu, key.engine, key.task)
        if place not in self._engines:
            self._engines[place] = Engine(self.context, key.gpu)
        return self._engines[place]

    def ring(self, key: QueueKey) -> Ring:
        return self.engine(key).ring(key.queue)

    def requests(self, key: QueueKey) -> RequestQueue:
        if key not in self._requests:
            self._requests[key] = RequestQueue(self.engine(key), key.queue)
        return self._requests[key]

    def stuck(self) -> list[str]:
        """The place of a deadlock: commands that have not ended, and requests that are not due."""
        return [
            f"gpu{gpu}.dma[{number}] queue {queue} is at a {ring.current}"
            for (gpu, number, _), engine in self._engines.items()
            for queue, ring in engine.rings.items()
            if ring.held
        ] + [
            f"gpu{key.gpu}.dma[{key.engine}] carries no request behind one that is not due"
            for key, requests in self._requests.items()
            if requests.waiting
        ]

    def arrive(self, key: QueueKey, steps: list[Step], completed: Callback) -> None:
        """The doorbell has rung: fetch *steps*, all at once."""
        engine = self.engine(key)
        ring = engine.ring(key.queue)

        def fetched(step: Step) -> None:
            ring.ready.append((step, completed))
            if step.polled:  # other queues may be released at this instant
                self.context.after(0.0, engine.begin_next)
            else:
                engine.begin_next()

        idle, leader = ring.idle, None
        ring.pending += len(steps)
        for step in steps:
            if step.request is not None:
                first = idle and step is steps[0]
                leader = step.request.submit(self, step, key.task, leader, first)
            if step.request is None or step.in_order:
                leader = None  # the next request waits for this step's begin, or its end
            self.context.after(step.fetch, partial(fetched, step))


@dataclass(eq=False)
class Request:
    """*step* for the source's engine; its end is seen *landing* s after its last byte."""

    context: Context
    step: Step
    landing: float
    queued_behind: bool = False  # something was before it in its queue
    # requests that become due with it: itself, and those it leads
    batch: list[tuple[PendingRequest, RequestQueue]] = field(default_factory=list)
    landed: bool = False
    execution: Execution | None = None  # in its own queue, once the engine has come to it

    def submit(
        self, engines: Engines, step: Step, task: str, leader: Request | None, idle: bool
    ) -> Request:
        """The doorbell has rung for *step*, of a queue that *task* may have to itself and that was
        *idle*; *leader*: the request that it begins with. Returns the leader of those behind it.
        """
        queue = engines.requests(QueueKey(self.step.gpu, self.step.engine, self.step.queue, task))
        pending = PendingRequest(self.step, self.on_landed)
        queue.waiting.append(pending)
        if leader is not None:
            leader.batch.append((pending, queue))
            return leader
        self.batch.append((pending, queue))
        self.queued_behind = not idle
        if idle and not step.polled:
            self.context.after(step.fetch, self.make_due)
        return self

    def make_due(self) -> None:
        for pending, _ in self.batch:
            pending.due = True
        for _, queue in self.batch:
            queue.advance()

    def on_turn(self, execution: Execution) -> None:
        """Take the turn of its queue: tell the source, unless it knows, and wait for the end."""
        self.execution = execution
        execution.free_engine()
        if self.batch and not self.batch[0][0].due:
            latency = self.context.node.gpu.dma_engines.remote_read_latency or 0.0
            past = self.landing if self.queued_behind else 0.0  # since its predecessor's last byte
            self.context.after(max(0.0, latency - past), self.make_due)
        if self.landed:
            self._complete(execution)

    def on_landed(self) -> None:
        """The bytes have landed, and the source's engine has said so."""
        self.landed = True
        if self.execution is not None:
            self._complete(self.execution)

    def _complete(self, execution: Execution) -> None:
        """Let the engine see the end as soon as it comes to the queue again."""
        ring = execution.ring
        ring.pending += 1
        ring.ready.appendleft((self.step._replace(run=_see_end, size=0.0), execution.completed))
        execution.free_ring()


def _see_end(execution: Execution) -> None:
    execution.completed()
    execution.free_both()


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
