"""The host's side of DMA: a thread that writes packets, rings doorbells, and sees the ends.

- One by one: the host pays for every command.
- In a batch, or when the program writes the rings itself (``direct``): it pays for every packet,
  and rings once per queue, behind its last packet.
- Prelaunched: the commands lie in their rings behind a poll. At the release they cost no host time
  and no fetch, only the poll's latency.
- A program that polls its signals sees one after another, one per queue.
- Kernels that post packets (``posted``) pay for them themselves, and ring as they go.
- A thread that finds a ring full waits until the engine has taken enough of it, and does nothing
  else meanwhile.
- A host that launches kernels from the release on calls for copies between them, in program order
  (:class:`Ahead`); what it writes into rings itself is written by another thread when it is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from c3sim.models.capacity import POSTS
from c3sim.models.dma import POLL_STAGGERS
from c3sim.processes.dma.engines import Engines, QueueKey, Ring, Step, Words
from c3sim.processes.plan import Context
from c3sim.processes.signals import Callback, HostThread, countdown
from c3sim.spec.task import Posting


def _no_time(_packets: int) -> float:
    return 0.0


Arrive = Callable[[list[Step]], None]
Cost = Callable[[int], float]  # host time [s] of so many packets and their doorbell


class Ahead:
    """Commands of the *repeat*-th turn of a task that the host calls for in program order: in their
    rings they wait until their stream comes to them.
    """

    def __init__(self, repeat: int):
        self.repeat, self.detail = repeat, dict[str, object]()
        self._waiting: list[Callback] | None = []
        self._done: Callback | None = None

    def arrive(self, at_engine: Arrive, written: list[Step]) -> None:
        """They are *written*: they arrive at their engine now, or when they begin."""
        if self._waiting is None:
            at_engine(written)
        else:
            self._waiting.append(partial(at_engine, written))

    def begin(self, done: Callback) -> None:
        """The stream has come to them; *done()* at the end of all."""
        waiting, self._waiting, self._done = self._waiting or [], None, done
        for arrive in waiting:
            arrive()

    def end(self) -> None:
        """All have ended, and so begun."""
        assert self._done is not None
        self._done()


class DmaHost:
    """Submits commands for all GPUs; *ahead*: by task, GPU and repeat, before they begin."""

    def __init__(self, context: Context):
        self.context = context
        self.engines = Engines(context)
        self.words = Words()
        self.ahead: dict[tuple[str, int, int], Ahead] = {}

    def calls_ahead(self, task: str) -> bool:
        """True if the host calls for the copies of *task* in program order: calls of the runtime,
        from the release on.
        """
        how = self.context.workload.host
        calls = how.submission != "direct" and not (how.prelaunched or self.triggered(task))
        return calls and self.context.in_program_order and how.launch != "looped"

    def submit(
        self,
        task: str,
        gpu: int,
        steps: list[Step],
        done: Callback,
        call: float | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        """Submit *steps* in order; *done()* when the host has seen the end of every queue. *call*:
        seconds per copy called for one by one, left out: the runtime's. *ahead*: they wait there.
        """
        context, how = self.context, self.context.workload.host
        if not steps:
            context.after(0.0, done)
            return
        host = context.poster(gpu, task) if ahead is None else context.host(gpu, task)
        keys = [self._key(task, step) for step in steps]
        queues: dict[QueueKey, list[Step]] = {}
        for key, step in zip(keys, steps, strict=True):
            queues.setdefault(key, []).append(step)
        signalled = countdown(len(queues), done)
        if how.submission == "direct":
            signalled = partial(host.do, context.node.host.signal_time, signalled)
        ends = {key: countdown(len(queue), signalled) for key, queue in queues.items()}
        if self.triggered(task):
            for key, queue in queues.items():
                self._trigger(key, queue, ends[key])
            return
        in_order = list(zip(keys, steps, strict=True))
        batch = task, ahead.repeat if ahead else None
        arrive = {key: self._arrive(key, end, ahead) for key, end in ends.items()}
        for key, written, cost in self._calls(host, batch, queues, in_order, call):
            host.when_free(partial(self._write, host, key, written, arrive[key], cost))

    def _calls(
        self,
        host: HostThread,
        batch: tuple[str, int | None],
        queues: dict[QueueKey, list[Step]],
        in_order: list[tuple[QueueKey, Step]],
        call: float | None,
    ) -> Iterator[tuple[QueueKey, list[Step], Cost | None]]:
        """Commands that *host* writes at a time, and the cost; None: they were written before."""
        how = self.context.workload.host
        if how.prelaunched:
            for key, queue in queues.items():
                yield key, self._behind_a_poll(queue), None
        elif self._called_before:  # streams wait, not the host
            for key, step in in_order:
                yield key, [step], _no_time
        elif how.submission == "one_by_one":
            for key, step in in_order:
                # those behind the first find the queue at work
                first = step is queues[key][0]
                yield key, [step], self._call_cost(host, key, step, call, first=first)
        else:
            cost = self._batch_cost(host, batch, [step for _, step in in_order])
            for key, queue in queues.items():
                yield key, queue, cost

    def post(
        self, task: str, gpu: int, steps: list[Step], posting: Posting, done: Callback
    ) -> float:
        """A workgroup posts *steps* in order from now on, without a host; *done()* at the end of
        every queue. Seconds until it has posted the last.
        """
        each = self.context.node.gpu.dma_engines.post_time or 0.0  # given (checked on input)
        each *= POSTS not in self.context.machine.private
        keys = [self._key(task, step) for step in steps]
        ends = countdown(len(steps), done)
        busy: dict[QueueKey | None, float] = {}  # by lane
        for key, step in zip(keys, steps, strict=True):
            lane = key if posting == "lanes" else None
            busy[lane] = busy.get(lane, 0.0) + step.packets * each
            arrive = partial(self.engines.arrive, key, [step._replace(size=0.0)], ends)
            self.context.once_past(busy[lane], arrive)
        return max(busy.values())

    @property
    def _called_before(self) -> bool:
        """True if a runtime has been called for commands before the release, or for a graph."""
        how = self.context.workload.host
        if how.launch == "graph":
            return how.submission != "direct"
        queued = how.release == "per_rank" and not self.context.in_program_order
        return queued and how.submission == "one_by_one"

    def _arrive(self, key: QueueKey, completed: Callback, ahead: Ahead | None) -> Arrive:
        """Have an engine take commands of queue *key*, once they may begin."""
        at_engine = partial(self.engines.arrive, key, completed=completed)
        return at_engine if ahead is None else partial(ahead.arrive, at_engine)

    def _key(self, task: str, step: Step) -> QueueKey:
        machine = self.context.machine
        private = machine.group(task) if "dma" in machine.private else ""
        return QueueKey(step.gpu, step.engine, step.queue, private)

    def triggered(self, task: str) -> bool:
        """True if a tracker starts the commands of *task*."""
        awaited = self.context.workload.tasks[task].after
        return self.context.node.gpu.dma_engines.trigger_latency is not None and bool(awaited)

    def _trigger(self, key: QueueKey, steps: list[Step], completed: Callback) -> None:
        """Commands that lie in memory beside their counter begin; the ring has no part in it."""
        latency = self.context.node.gpu.dma_engines.trigger_latency or 0.0
        begun = [step._replace(fetch=latency, size=0.0) for step in steps]
        self.engines.arrive(key, begun, completed)

    def _call_cost(
        self, host: HostThread, key: QueueKey, step: Step, call: float | None, *, first: bool
    ) -> Cost:
        """Host time of a call of the runtime for *step* alone, the *first* of its queue or not."""
        time = self.context.node.host.copy_time if call is None else call
        time += self._extra_call_time(host, step.pull)
        inlined = self._inlined(key, step) if first else 0.0
        return partial(_packets_and_doorbell, 0.0, time + inlined)

    def _batch_cost(
        self, host: HostThread, batch: tuple[str, int | None], steps: list[Step]
    ) -> Cost:
        """Host time of packets and their doorbell; for a *batch* of a task, begin the call of the
        runtime.
        """
        costs = self.context.node.host
        if self.context.workload.host.submission == "direct":
            return partial(_packets_and_doorbell, costs.packet_time, costs.doorbell_time)
        parts = sum(step.in_order for step in steps)  # beside the last
        time = costs.batch_time + parts * costs.copy_time
        time += self._extra_call_time(host, any(step.pull for step in steps))
        inlined = sum(self._inlined(self._key(batch[0], step), step) for step in steps)
        host.open_batch(batch, time + inlined)
        return partial(_packets_and_doorbell, costs.batch_copy_time, costs.doorbell_time)

    def _extra_call_time(self, host: HostThread, pulls: bool) -> float:
        """Extra time [s] of a runtime call: it reads from a peer; it is the first."""
        costs = self.context.node.host
        first, host.has_copied = not host.has_copied, True
        return costs.pull_time * pulls + costs.first_copy_time * first

    def _inlined(self, key: QueueKey, step: Step) -> float:
        """Host time [s] to write the bytes of *step* into the queue, where that is idle."""
        return step.inlined if step.inlined and self.engines.ring(key).idle else 0.0

    def _behind_a_poll(self, steps: list[Step]) -> list[Step]:
        """*steps* of one queue that see the release instead of being fetched.

        The GPU's own poll comes at its part of the interval (``poll_stagger``). A pull request
        waits for the remote engine's poll; its own engine's phase is irrelevant.
        """
        engines, gpus = self.context.node.gpu.dma_engines, self.context.node.gpus
        phase = 0.0
        if engines.poll_interval and not steps[0].request:
            phase = engines.poll_interval * POLL_STAGGERS[engines.poll_stagger](steps[0].gpu, gpus)
        waiting = [step._replace(fetch=engines.poll_latency + phase) for step in steps]
        return [waiting[0]._replace(polled=True), *waiting[1:]]

    def _write(
        self,
        host: HostThread,
        key: QueueKey,
        steps: list[Step],
        arrive: Arrive,
        cost: Cost | None,
        waited: bool = False,
    ) -> None:
        """Write *steps* into their ring as far as they fit, and the rest as room comes.

        *cost(packets)*: host time [s] of packets and their doorbell; None: they were written before
        the release.
        """
        ring = self.engines.ring(key)
        written = _take(ring, steps)
        rest = steps[len(written) :]
        if cost is None:
            arrive(written)
            if rest:  # written from the release on, as the engine takes the others
                costs = self.context.node.host
                cost = partial(_packets_and_doorbell, costs.packet_time, costs.doorbell_time)
                self._write(host, key, rest, arrive, cost)
            return
        packets = sum(step.packets for step in written)
        if not rest and not steps[-1].signals:
            packets += 1  # signals the end of all

        def rung() -> None:
            arrive(written)
            if rest:
                self._wait_for_room(ring, rest[0].size, again)

        def again() -> None:
            self._write(host, key, rest, arrive, cost, waited=True)

        if rest:
            host.block()
        host.occupy(cost(packets) if written else 0.0, rung)
        if waited and not rest:
            host.release()

    def _wait_for_room(self, ring: Ring, size: float, then: Callback) -> None:
        if ring.fits(size):
            then()
        else:
            ring.waiting_for_room.append(partial(self._wait_for_room, ring, size, then))


def _packets_and_doorbell(packet: float, doorbell: float, packets: int) -> float:
    return packets * packet + doorbell


def _take(ring: Ring, steps: list[Step]) -> list[Step]:
    """The first of *steps* that fit into *ring* now; their room is taken."""
    taken = []
    for step in steps:
        if not ring.fits(step.size):
            break
        ring.used += step.size
        taken.append(step)
    return taken
