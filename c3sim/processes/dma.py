"""DMA engines: copies, direct collectives and small programs without compute units.

The host submits one command after another (each costs its thread time). An engine moves the bytes of one command at a
time, in order; a copy pays the engine's latency, half before its first byte and half until its completion is seen, and
both halves overlap with the other commands of the queue. Prelaunched commands wait in their queues behind a poll: at the
release they cost no host time and no fetch, only the poll's latency.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from c3sim.machine import Traffic
from c3sim.models.dma import engine_rate
from c3sim.models.links import route
from c3sim.processes.context import Context
from c3sim.specs.workload import Collective, Copy

__all__ = ["HOST", "DmaCopy", "DmaQueues", "Step", "direct_copies", "task_copies"]

HOST = -1  # as source or destination: host memory


@dataclass(frozen=True, slots=True)
class Step:
    """One command of *engine* of *gpu*: *fetch* s from doorbell to ready; *run(proceed, completed)* calls proceed() when
    the engine is free for its next command and completed() when the host sees the end.
    """

    gpu: int
    engine: int
    fetch: float
    run: Callable[[Callable[[], None], Callable[[], None]], None]


@dataclass(frozen=True, slots=True)
class DmaCopy:
    """*size* bytes from GPU *source* to *destination* by *engine* of *gpu*.

    *mirrored*: every GPU does the same, so what arrives here is drawn here, as part of this copy.
    """

    gpu: int
    engine: int
    source: int
    destination: int
    size: float
    mirrored: bool = False

    @property
    def pull(self) -> bool:
        """Whether the engine reads from a peer."""
        return self.destination == self.gpu and self.source not in (self.gpu, HOST)


def direct_copies(context: Context, gpu: int, task: Collective) -> list[DmaCopy]:
    """The flat pattern of all-gather and all-to-all: size/n to each peer (push) or from each (pull), by its engines.

    The commands of one round go to different peers, so that all links are busy from the first round on.
    """
    gpus, parts = context.node.gpus, task.engines or 1
    copies = []
    for part in range(parts):
        for offset in range(1, gpus):
            ends = (gpu, (gpu + offset) % gpus)
            source, destination = ends if task.direction != "pull" else ends[::-1]
            engine, size = _engine(context, offset, part, parts), task.size / gpus / parts
            copies.append(DmaCopy(gpu, engine, source, destination, size, True))
    return copies


def task_copies(context: Context, gpu: int, task: Copy) -> list[DmaCopy]:
    """A copy task as commands on the engines that serve its peer: this GPU's, or the other end's where it says so."""
    peer, parts = (gpu + task.peer) % context.node.gpus, task.engines or 1
    where = {"gpu": gpu, "peer": peer, "host": HOST}
    source, destination = where[task.source], where[task.destination]
    by = {None: gpu, "push": source, "pull": destination}[task.direction]
    return [
        DmaCopy(
            by,
            _engine(context, task.peer, part, parts),
            source,
            destination,
            task.bytes / parts,
            task.gpus == "all",
        )
        for part in range(parts)
    ]


def _engine(context: Context, offset: int, part: int, parts: int) -> int:
    """Engines are dealt to peers in turn, *parts* to each."""
    return ((offset - 1) * parts + part) % context.node.gpu.dma_engines.count


class DmaQueues:
    """The engines of the node and their queues."""

    def __init__(self, context: Context):
        self.context = context
        self._waiting: dict[tuple[int, int, str], deque[Callable[[], None]]] = {}
        self._busy: set[tuple[int, int, str]] = set()

    def submit(self, task: str, gpu: int, steps: list[Step], done: Callable[[], None]) -> None:
        """The host thread of *gpu* submits *steps* in order; *done()* after the last one has ended."""
        left = [len(steps)]
        host, costs = self.context.host(gpu, task), self.context.node.host
        batch, prelaunched = (
            self.context.workload.host.submission == "batch",
            self.context.workload.host.prelaunched,
        )
        if batch and not prelaunched:
            host.open_batch(task, costs.batch_time)

        def completed() -> None:
            left[0] -= 1
            if not left[0]:
                done()

        for step in steps:
            key = (step.gpu, step.engine, task if "dma" in self.context.machine.private else "")
            if prelaunched:
                ready = replace(step, fetch=self.context.node.gpu.dma_engines.poll_latency)
                self._arrive(key, ready, completed)
                continue
            delay = host.busy(costs.batch_copy_time if batch else costs.copy_time)
            self.context.after(delay, partial(self._arrive, key, step, completed))

    def copy_step(self, task: str, copy: DmaCopy, *, in_order: bool = False) -> Step:
        """The step that carries *copy* out: fetched, moved, completed. The engine is free once the bytes have moved;
        *in_order*: once its completion is seen, because the next command of its stream waits for it.
        """
        engines = self.context.node.gpu.dma_engines
        half = engines.latency / 2
        tail = half + (engines.remote_read_latency if copy.pull else 0.0)
        linked = copy.source != copy.destination

        def run(proceed: Callable[[], None], completed: Callable[[], None]) -> None:
            begun = self.context.env.now

            def moved(_flow: object) -> None:
                self.context.span(copy.gpu, f"dma[{copy.engine}]", task, task, begun, bytes=copy.size)
                self.context.after(tail, completed)
                if in_order:
                    self.context.after(tail, proceed)
                else:
                    proceed()

            self.context.machine.flow(
                f"{task}:copy", task=task, gpu=copy.gpu, work=copy.size,
                cap=lambda state: engine_rate(self.context.node, state.load, linked=linked, pull=copy.pull),
                traffic=self._traffic(copy), clocked=0.0, done=moved,
            )  # fmt: skip

        return Step(copy.gpu, copy.engine, half, run)

    # -- private ------------------------------------------------------------------------------------------------

    def _arrive(self, key: tuple[int, int, str], step: Step, completed: Callable[[], None]) -> None:
        """The doorbell has rung: fetch the command behind those before it, without holding them up."""
        self._waiting.setdefault(key, deque())

        def fetched() -> None:
            self._waiting[key].append(lambda: step.run(partial(self._next, key), completed))
            if key not in self._busy:
                self._busy.add(key)
                self._next(key)

        self.context.after(step.fetch, fetched)

    def _next(self, key: tuple[int, int, str]) -> None:
        if self._waiting[key]:
            self._waiting[key].popleft()()
        else:
            self._busy.discard(key)

    def _traffic(self, copy: DmaCopy) -> Traffic:
        """Per byte: read at the source, written at the destination, over the links between."""
        engine = (copy.engine, 1.0)
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
        ports = tuple(
            (hop, wire) for hop in route(node.links.topology, node.gpus, copy.source, copy.destination)
        )
        if copy.mirrored:
            return Traffic(cache=2.0, hbm_read=1.0, hbm_write=1.0, inserted=2.0, ports=ports, engine=engine)
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
