"""What the parts of one run share: clock, fluid layer, machine, dispatchers, threads, spans."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

import simpy
from simpy.events import Timeout

from c3sim.engine.fluid import Fluid
from c3sim.machine.machine import Machine
from c3sim.machine.state import Rate
from c3sim.models.hierarchy import Plans
from c3sim.processes.arrivals import Arrivals
from c3sim.processes.kernels.dispatcher import Dispatcher
from c3sim.processes.kernels.residency import GridShape
from c3sim.result import Span
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Stream, Workload


class HostThread:
    """A thread that does one job at a time, in the order of the requests."""

    def __init__(self, env: simpy.Environment):
        self.env = env
        self.free_at = 0.0
        self.has_copied = False  # has called the runtime for DMA commands
        self._batch: tuple[str, float] | None = None
        self._blocked = False
        self._waiting: deque[Callable[[], object]] = deque()

    def open_batch(self, task: str, time: float) -> None:
        """Begin a batch of *time* s that all jobs of *task* at this instant share."""
        if self._batch != (task, self.env.now):
            self._batch = (task, self.env.now)
            self.when_free(partial(self._reserve, time))

    def do(self, time: float, call: Callable[[], None]) -> None:
        """Work for *time* s, behind all earlier requests; then *call()*."""
        self.when_free(partial(self.occupy, time, call))

    def when_free(self, job: Callable[[], object]) -> None:
        """Call *job*, which occupies the thread, as soon as the thread is not blocked."""
        if self._blocked:
            self._waiting.append(job)
        else:
            job()

    def occupy(self, time: float, call: Callable[[], None]) -> None:
        """As :meth:`do`, by the job that holds the thread, blocked or not."""
        Timeout(self.env, self._reserve(time)).callbacks.append(lambda _event: call())

    def block(self) -> None:
        """Suspend all jobs except the current holder until :meth:`release`."""
        self._blocked = True

    def release(self) -> None:
        """Go on with the requests that came meanwhile, in order."""
        self._blocked = False
        while self._waiting and not self._blocked:
            self._waiting.popleft()()

    def _reserve(self, time: float) -> float:
        """Take the thread for *time* s; returns the delay from now until that is done."""
        self.free_at = max(self.free_at, self.env.now) + time
        return self.free_at - self.env.now


@dataclass
class Context:
    """One run. Each group of tasks has the kinds of sharing in ``machine.private`` to itself."""

    env: simpy.Environment
    node: Node
    workload: Workload
    fluid: Fluid
    machine: Machine
    shapes: Mapping[str, GridShape]  # of every task that needs compute units
    spans: list[Span] | None
    arrivals: Arrivals = field(default_factory=Arrivals)
    dispatchers: dict[tuple[int, str], Dispatcher] = field(default_factory=dict)
    threads: dict[tuple[int, str], HostThread] = field(default_factory=dict)
    engine_rates: dict[Hashable, Rate] = field(default_factory=dict)

    def after(self, delay: float, call: Callable[[], None]) -> None:
        """Call *call* in *delay* s."""
        Timeout(self.env, delay).callbacks.append(lambda _event: call())

    def once_past(self, delay: float, call: Callable[[], None]) -> None:
        """Call *call* in *delay* s, without an event if there is nothing to wait for."""
        if delay > 0:
            self.after(delay, call)
        else:
            call()

    def dispatcher(self, gpu: int, task: str) -> Dispatcher:
        key = (gpu, self.machine.group(task) if "compute_units" in self.machine.private else "")
        if key not in self.dispatchers:
            sharing = self.machine.beside(task, "compute_units")
            names = [task] if key[1] == task else filter(sharing, self.shapes)
            shapes = [self.shapes[name] for name in names]
            self.dispatchers[key] = Dispatcher(self.node.gpu, shapes, partial(self.after, 0.0))
        return self.dispatchers[key]

    def host(self, gpu: int, task: str) -> HostThread:
        """The thread that submits for *gpu*; a single one serves all GPUs of a node."""
        single = self.workload.host.threads == "single"
        key = (
            gpu - gpu % self.node.gpus if single else gpu,
            self.machine.group(task) if "host" in self.machine.private else "",
        )
        if key not in self.threads:
            self.threads[key] = HostThread(self.env)
        return self.threads[key]

    @cached_property
    def plans(self) -> Plans:
        """Of its collectives."""
        return Plans(self.node)

    @cached_property
    def stream_numbers(self) -> dict[str, int]:
        """Streams by declaration; a task without one has its own."""
        tasks = self.workload.tasks.items()
        names = dict.fromkeys(task.stream or f"task {name}" for name, task in tasks)
        return {name: number for number, name in enumerate(names)}

    def stream_of(self, task: str) -> Stream:
        name = self.workload.tasks[task].stream
        return self.workload.streams.get(name, Stream()) if name is not None else Stream()

    def span(
        self, gpu: int, track: str, name: str, task: str, start: float, **detail: object
    ) -> None:
        """Log that *track* of *gpu* was occupied from *start* until now."""
        if self.spans is not None:
            self.spans.append(
                Span(
                    owner=f"gpu{gpu}",
                    row=track,
                    name=name,
                    task=task,
                    start=start,
                    end=self.env.now,
                    detail=detail,
                )
            )
