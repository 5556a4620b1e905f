"""Tasks on the clock: streams keep order, ``after`` is awaited, hosts launch, tasks repeat."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from c3sim.processes.context import Context
from c3sim.processes.signals import Callback, Key, Signals, countdown
from c3sim.processes.starter import Starter
from c3sim.specs.workload import Collective, Commands, Copy, Gemm, task_order


@dataclass
class Times:
    """When a task of one GPU was ready, started (first workgroup, first command) and ended [s]."""

    ready: float
    start: float | None = None
    end: float | None = None
    detail: dict[str, object] = field(default_factory=dict)


class TaskRuns:
    """All tasks of the workload on all simulated GPUs."""

    def __init__(self, context: Context):
        self.context = context
        self.signals = Signals()
        self.starter = Starter(context, self.signals)
        self.times: dict[Key, Times] = {}
        self.unfinished = 0
        host = context.workload.host
        self._profile = None
        if host.profile is not None:
            self._profile = context.node.host_profiles[host.profile].slowed(host.slowness)
        self._by_host = host.launch == "eager" or host.release == "host"
        self._needs: dict[Key, tuple[Key, ...]] = {}
        self._before: dict[str, str] = {}  # task -> the one before it in its stream

    def submit(self) -> None:
        """Fill every queue, in launch order, at time 0."""
        workload, context = self.context.workload, self.context
        for gpu in context.machine.gpus:
            last: dict[str, str] = {}  # stream -> its last task
            for name in task_order(workload):
                task = workload.tasks[name]
                if gpu != 0 and isinstance(task, Copy | Commands) and task.gpus == "first":
                    continue
                needs = [(entry, gpu) for entry in task.after]
                if task.stream is not None:
                    if task.stream in last:
                        needs.append((last[task.stream], gpu))
                        self._before[name] = last[task.stream]
                    last[task.stream] = name
                if not needs:
                    needs += self._begin(name, gpu)
                if self._by_host and name in context.shapes:
                    launched = (f"launch of {name}", gpu)
                    needs.append(launched)
                    self._launch(name, gpu, partial(self.signals.fire, launched))
                self._needs[name, gpu] = tuple(needs)
                self.unfinished += 1
                self.signals.when(needs, partial(self._run, name, gpu, 1))

    def _begin(self, name: str, gpu: int) -> list[Key]:
        """What the first task of a stream waits for: its GPU's begin, where that is not at once."""
        delay = self.context.arrivals.delay(name, gpu)
        if delay <= 0:
            return []
        begin = (f"release of {name}", gpu)
        self.context.after(delay, partial(self.signals.fire, begin))
        return [begin]

    def waiting(self) -> dict[str, str]:
        """What each unfinished task waits for: the text of a deadlock."""
        reasons: dict[str, str] = {}
        for (name, gpu), needs in self._needs.items():
            times = self.times.get((name, gpu))
            if times is None:
                reasons.setdefault(name, ", ".join(self.signals.missing(needs)))
            elif times.start is None:
                reasons.setdefault(name, "a compute unit with room for its workgroups")
            elif times.end is None:
                stuck = "; ".join(self.starter.dma.engines.stuck())
                reasons.setdefault(name, stuck or "its peers or progress")
        return reasons

    def _run(self, name: str, gpu: int, repeat: int) -> None:
        """Run the task for the *repeat*-th time; the next repeat, or its end, follows."""
        times = self.times.setdefault((name, gpu), Times(ready=self.context.env.now))

        def started() -> None:
            if times.start is None:
                times.start = self.context.env.now

        task = self.context.workload.tasks[name]
        shapes = self.context.shapes
        by_engines = isinstance(task, Copy) and task.executor == "dma" and name not in shapes
        # the copies of a repeated DMA copy are submitted at once
        repeats = 1 if by_engines else task.repeat
        looped = self.context.workload.host.launch == "looped" and name in self.context.shapes

        def next_one() -> None:
            if repeat < repeats:
                self._run(name, gpu, repeat + 1)
            else:
                self._end(name, gpu, times)

        # the task's own end; the launch of the loop's next repeat
        done = countdown(2 if looped else 1, next_one)
        if looped:
            self._launch_now(name, gpu, done)
        self.starter.start(
            name, gpu, repeat, times.detail, started, done, follows=self._follows(name, gpu)
        )

    def _follows(self, name: str, gpu: int) -> bool:
        """Whether the task was waiting in its stream as the one before it ended, just now."""
        before = self.times.get((self._before.get(name, ""), gpu))
        return before is not None and before.end == self.context.env.now

    def _end(self, name: str, gpu: int, times: Times) -> None:
        times.end = self.context.env.now
        assert times.start is not None
        stream = self.context.workload.tasks[name].stream or name
        self.context.span(gpu, f"stream.{stream}", name, name, times.start, **times.detail)
        self.unfinished -= 1
        self.signals.fire((name, gpu))

    def _launch(self, name: str, gpu: int, launched: Callback) -> None:
        """Have the host launch a task, as soon as its process is there."""
        late = self.context.arrivals.of(gpu).late
        self.context.once_past(late, partial(self._launch_now, name, gpu, launched))

    def _launch_now(self, name: str, gpu: int, launched: Callback) -> None:
        """Have the host call for the task, and an idle GPU see it."""
        profile = self._profile
        latency = profile.start_latency if profile is not None else 0.0
        seen = partial(self.context.after, latency, launched) if latency else launched
        thread, time = self.context.host(gpu, name), self._call_time(name)
        awaited = [(entry, gpu) for entry in self.context.workload.tasks[name].launch_after]
        if not awaited:
            thread.do(time, seen)
            return

        def go_on() -> None:
            thread.occupy(time, seen)
            thread.release()

        def wait() -> None:
            thread.block()
            self.signals.when(awaited, go_on)

        thread.when_free(wait)

    def _call_time(self, name: str) -> float:
        """Seconds of the host thread that launch the task."""
        task, node, profile = self.context.workload.tasks[name], self.context.node, self._profile
        if task.launch_time is not None:
            return task.launch_time
        if isinstance(task, Collective) and task.backend != "dma":
            library = node.collective_library(task.backend)
            if profile is not None:
                return profile.enqueue_time
            looped = self.context.workload.host.launch == "looped"
            warm = library.loop_enqueue_time if looped else None
            return library.enqueue_time if warm is None else warm
        own = node.gpu.gemm_library(task.library).enqueue_time if isinstance(task, Gemm) else None
        if own is not None:
            return own
        return node.host.launch_time if profile is None else profile.launch_time
