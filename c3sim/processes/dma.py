"""DMA engines: copies and small programs without compute units.

The host submits one command after another; in a batch, or when the program writes the rings itself, it pays for every
packet and rings once per queue, behind its last packet. An engine decodes and moves one command at a time, in order. A
copy's latency before its first byte, its way through the engine, and the time until its completion is seen all overlap with
the other commands of the queue. Prelaunched commands wait in their queues behind a poll: at the release they cost no host
time and no fetch, only the poll's latency. A program that polls its signals sees one after another, one per queue.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from c3sim.machine import Traffic
from c3sim.models.dma import engine_rate, engine_work
from c3sim.models.links import route
from c3sim.processes.context import Context
from c3sim.specs.workload import Copy

__all__ = ["HOST", "DmaCopy", "DmaQueues", "Step", "countdown", "engine_of", "task_copies"]

HOST = -1  # as source or destination: host memory


@dataclass(frozen=True, slots=True)
class Step:
    """One command of *engine* of *gpu*: *fetch* s from doorbell to ready; *run(proceed, completed)* calls proceed() when
    the engine is free for its next command and completed() when the end is signalled. *packets* in the ring.
    """

    gpu: int
    engine: int
    fetch: float
    run: Callable[[Callable[[], None], Callable[[], None]], None]
    packets: int = 1


@dataclass(frozen=True, slots=True)
class DmaCopy:
    """*size* bytes from GPU *source* to *destination* by *engine* of *gpu*.

    *mirrored*: every GPU does the same, so what arrives here is drawn here, as part of this copy. *second*: another
    destination of the same bytes (broadcast). *swap*: as many bytes go the other way, by the same command.
    """

    gpu: int
    engine: int
    source: int
    destination: int
    size: float
    mirrored: bool = False
    second: int | None = None
    swap: bool = False

    @property
    def pull(self) -> bool:
        """Whether the engine reads from a peer."""
        return self.destination == self.gpu and self.source not in (self.gpu, HOST)


def task_copies(context: Context, gpu: int, task: Copy) -> list[DmaCopy]:
    """A copy task as commands on the engines that serve its peer: this GPU's, or the other end's where it says so."""
    peer, parts = context.node.peer(gpu, task.peer), task.engines or 1
    where = {"gpu": gpu, "peer": peer, "host": HOST}
    source, destination = where[task.source], where[task.destination]
    by = {None: gpu, "push": source, "pull": destination}[task.direction]
    return [
        DmaCopy(
            by,
            engine_of(context, task.peer, part, parts),
            source,
            destination,
            task.bytes / parts,
            task.gpus == "all",
        )
        for part in range(parts)
    ]


def engine_of(context: Context, offset: int, part: int = 0, parts: int = 1) -> int:
    """Engines are dealt to peers in turn, *parts* to each."""
    return ((offset - 1) * parts + part) % context.node.gpu.dma_engines.count


def countdown(count: int, then: Callable[[], None]) -> Callable[[], None]:
    """A function that calls *then()* when it is called for the *count*-th time."""
    left = [count]

    def one() -> None:
        left[0] -= 1
        if not left[0]:
            then()

    return one


class DmaQueues:
    """The engines of the node and their queues."""

    def __init__(self, context: Context):
        self.context = context
        self._waiting: dict[tuple[int, int, str], deque[Callable[[], None]]] = {}
        self._busy: set[tuple[int, int, str]] = set()

    def submit(self, task: str, gpu: int, steps: list[Step], done: Callable[[], None]) -> None:
        """The host thread of *gpu* submits *steps* in order; *done()* when it has seen the end of every queue."""
        how, host = self.context.workload.host, self.context.host(gpu, task)
        costs, poll = self.context.node.host, self.context.node.gpu.dma_engines.poll_latency
        direct = how.submission == "direct"
        if not steps:
            self.context.after(0.0, done)
            return
        rings: dict[tuple[int, int, str], list[Step]] = {}
        for step in steps:
            private = task if "dma" in self.context.machine.private else ""
            rings.setdefault((step.gpu, step.engine, private), []).append(step)
        left = len(rings)

        def seen() -> None:
            nonlocal left
            left -= 1
            if not left:
                done()

        def signalled() -> None:
            if direct:
                self.context.after(host.busy(costs.signal_time), seen)
            else:
                seen()

        ends = {key: countdown(len(ring), signalled) for key, ring in rings.items()}
        if not how.prelaunched and how.submission == "one_by_one":
            for step in steps:
                key = (step.gpu, step.engine, task if "dma" in self.context.machine.private else "")
                self.context.after(host.busy(costs.copy_time), partial(self._arrive, key, [step], ends[key]))
            return
        if not how.prelaunched and not direct:
            host.open_batch(task, costs.batch_time)
        for key, ring in rings.items():
            if how.prelaunched:
                self._arrive(key, [replace(step, fetch=poll) for step in ring], ends[key])
                continue
            packets = sum(step.packets for step in ring) + 1  # the last one signals the end of the others
            writing = packets * (costs.packet_time if direct else costs.batch_copy_time)
            delay = host.busy(writing + costs.doorbell_time)
            self.context.after(delay, partial(self._arrive, key, ring, ends[key]))

    def copy_step(self, task: str, copy: DmaCopy, *, in_order: bool = False) -> Step:
        """The step that carries *copy* out: fetched, moved, completed. The engine is free once the bytes have moved;
        *in_order*: once its completion is seen, because the next command of its stream waits for it.
        """
        engines = self.context.node.gpu.dma_engines
        signal = engines.latency * engines.completion_share
        tail = engines.copy_latency + signal + (engines.remote_read_latency if copy.pull else 0.0)
        linked = copy.source != copy.destination
        packets = math.ceil(copy.size / engines.packet_bytes)
        work = engine_work(engines, broadcast=copy.second is not None, swap=copy.swap)

        def run(proceed: Callable[[], None], completed: Callable[[], None]) -> None:
            begun = self.context.env.now

            def moved(_flow: object) -> None:
                self.context.span(copy.gpu, f"dma[{copy.engine}]", task, task, begun, bytes=copy.size)
                self.context.after(tail, completed)
                if in_order:
                    self.context.after(tail, proceed)
                else:
                    proceed()

            def decoded() -> None:
                self.context.machine.flow(
                    f"{task}:copy", task=task, gpu=copy.gpu, work=copy.size,
                    cap=lambda state: engine_rate(
                        self.context.node, state.load, linked=linked, pull=copy.pull, work=work, ways=1 + copy.swap
                    ),
                    traffic=self._traffic(copy, work), clocked=0.0, done=moved,
                )  # fmt: skip

            if engines.packet_time:
                self.context.after(packets * engines.packet_time, decoded)
            else:
                decoded()

        return Step(copy.gpu, copy.engine, engines.latency - signal, run, packets)

    # -- private ------------------------------------------------------------------------------------------------

    def _arrive(self, key: tuple[int, int, str], ring: list[Step], completed: Callable[[], None]) -> None:
        """The doorbell has rung: fetch the commands behind those before them, without holding them up."""
        self._waiting.setdefault(key, deque())

        def fetched(step: Step) -> None:
            self._waiting[key].append(lambda: step.run(partial(self._next, key), completed))
            if key not in self._busy:
                self._busy.add(key)
                self._next(key)

        for step in ring:
            self.context.after(step.fetch, partial(fetched, step))

    def _next(self, key: tuple[int, int, str]) -> None:
        if self._waiting[key]:
            self._waiting[key].popleft()()
        else:
            self._busy.discard(key)

    def _traffic(self, copy: DmaCopy, work: float) -> Traffic:
        """Per byte: read at the source, written at the destination, over the links between."""
        engine = (copy.engine, work)
        if HOST in (copy.source, copy.destination):
            outward = copy.destination == HOST
            return Traffic(
                cache=1.0, hbm_read=float(outward), hbm_write=float(not outward), inserted=1.0,
                host=(("out" if outward else "in", 1.0),), engine=engine,
            )  # fmt: skip
        if copy.destination == copy.source:
            return Traffic(cache=2.0, hbm_read=1.0, hbm_write=1.0, inserted=2.0, engine=engine)
        node = self.context.node
        wire = 1.0 / node.gpu.dma_engines.link_efficiency["pull" if copy.pull else "push"]
        ways = [(copy.source, copy.destination)]
        ways += [(copy.source, copy.second)] if copy.second is not None else []
        ways += [(copy.destination, copy.source)] if copy.swap else []
        ports = tuple(
            (hop, wire) for start, end in ways for hop in route(node.links.topology, node.gpus, start, end)
        )
        if copy.mirrored:
            written = float(len(ways))
            moved = 1.0 + written
            return Traffic(
                cache=moved, hbm_read=1.0, hbm_write=written, inserted=moved, ports=ports, engine=engine
            )
        if copy.swap:
            return Traffic(
                cache=2.0, hbm_read=1.0, hbm_write=1.0, inserted=2.0, ports=ports, engine=engine,
                remote=((copy.destination, 1.0, 1.0),),
            )  # fmt: skip
        remote = ((copy.destination, 0.0, 1.0),) if copy.gpu == copy.source else ((copy.source, 1.0, 0.0),)
        read = float(copy.gpu == copy.source)
        return Traffic(
            cache=1.0,
            hbm_read=read,
            hbm_write=1.0 - read,
            inserted=1.0,
            ports=ports,
            remote=remote,
            engine=engine,
        )
