"""Tasks on the clock: streams keep order, ``after`` is awaited, hosts launch, tasks repeat."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from c3sim.processes.dma.host import DmaHost
from c3sim.processes.plan import Context, Latencies, Planned, Turn, latencies_of
from c3sim.processes.queues import Queues
from c3sim.processes.signals import Callback, Key, countdown
from c3sim.spec.hardware import ComputeUnits


@dataclass
class Times:
    """Times [s] at which a task of one GPU was ready, started (first workgroup, first command) and
    ended; s that it has waited for other ranks.
    """

    ready: float
    start: float | None = None
    end: float | None = None
    waited: float = 0.0
    detail: dict[str, object] = field(default_factory=dict)


def no_room(unit: ComputeUnits) -> str:
    """What a task waits for that does not fit into a compute unit."""
    has = f"lds {unit.lds:g} B, registers {unit.registers}, waves {unit.waves}"
    return f"a compute unit with room for its workgroups (gpu.compute_units: {has})"


class TaskRuns:
    """All tasks of the workload on all simulated GPUs."""

    def __init__(self, context: Context):
        self.context, self.signals = context, context.signals
        self.times: dict[Key, Times] = {}
        self.unfinished = 0
        scene, host = context.plan.scene, context.workload.host
        usual = scene.usual_profile
        self._start_latency = usual.start_latency if usual is not None else 0.0
        profile = scene.profile if host.loop is not None and host.launch == "eager" else None
        self._stream_time = profile.stream_time if profile is not None else 0.0
        self._called: dict[int, str] = {}  # stream of the last launch, by GPU
        self._needs: dict[Key, tuple[Key, ...]] = {}
        self._before: dict[str, str] = {}  # task -> the one before it in its stream
        self._awaited: set[str] = set()  # by another task
        self._queues: dict[int, Queues] = {}  # of a GPU, where streams share them
        self._ready: dict[Key, float] = {}  # when a task waits for nothing but its queue
        self._launched: dict[Key, float] = {}  # when the GPU saw the launch

    def submit(self) -> None:
        """Fill every queue, in launch order, at time 0."""
        context, plan = self.context, self.context.plan
        for gpu in context.machine.gpus:
            last: dict[str, str] = {}  # stream -> its last task
            for name in plan.order:
                planned, task = plan[name], plan[name].task
                if gpu != 0 and planned.on_first_gpu:
                    continue
                needs = [(entry, gpu) for entry in task.after]
                self._awaited.update(entry.task for entry in planned.after)
                if task.stream is not None:
                    if task.stream in last:
                        needs.append((last[task.stream], gpu))
                        self._before[name] = last[task.stream]
                        self._awaited.add(last[task.stream])
                    last[task.stream] = name
                if not needs:
                    needs += self._begin(name, gpu)
                if context.in_program_order and planned.called:
                    launched = (f"launch of {name}", gpu)
                    needs.append(launched)
                    self._launch(name, gpu, partial(self._seen, launched, name, gpu))
                self._needs[name, gpu] = tuple(needs)
                self.unfinished += 1
                self._put(name, gpu)
            self._record_events(gpu)

    def _put(self, name: str, gpu: int) -> None:
        """Run the task once all it needs has happened; a kernel, once its queue is served too."""
        needs, count = self._needs[name, gpu], self.context.workload.host.queues
        run, planned = partial(self._run, name, gpu, 1), self.context.plan[name]
        if count is None or (planned.shape is None and not planned.by_engines):
            self.signals.when(needs, run)
            return
        if gpu not in self._queues:
            self._queues[gpu] = Queues(self.context, count)
        self.signals.when(needs, partial(self._note_ready, name, gpu))
        stream = planned.task.stream or name
        self._queues[gpu].put(stream, needs, run, stays=planned.turns > 1)

    def _note_ready(self, name: str, gpu: int) -> None:
        self._ready[name, gpu] = self.context.env.now

    def _last_turn(self, name: str, gpu: int) -> None:
        """The last repeat of a task begins: those behind it in its queue may come."""
        if (name, gpu) in self._ready:
            self._queues[gpu].pass_by(self.context.workload.tasks[name].stream or name)

    def _seen(self, launched: Key, name: str, gpu: int) -> None:
        """The launch of *name* has reached its GPU."""
        self._launched[name, gpu] = self.context.env.now
        self.signals.fire(launched)

    def _begin(self, name: str, gpu: int) -> list[Key]:
        """Event that the first task of a stream waits for: its GPU's begin, where that is not at
        once.
        """
        delay = self.context.arrivals.delay(name, gpu)
        if delay <= 0:
            return []
        begin = (f"release of {name}", gpu)
        self.context.after(delay, partial(self.signals.fire, begin))
        return [begin]

    def waiting(self) -> dict[str, str]:
        """Text of a deadlock: each unfinished task and its dependencies."""
        reasons: dict[str, str] = {}
        for (name, gpu), needs in self._needs.items():
            times = self.times.get((name, gpu))
            if times is None:
                reasons.setdefault(name, ", ".join(self.signals.missing(needs)))
            elif times.start is None:
                reasons.setdefault(name, no_room(self.context.node.gpu.compute_units))
            elif times.end is None:
                stuck = "; ".join(self.context.part(DmaHost).engines.stuck())
                reasons.setdefault(name, stuck or "its peers or progress")
        return reasons

    def _run(self, name: str, gpu: int, repeat: int) -> None:
        """Run the task for the *repeat*-th time; the next repeat, or its end, follows."""
        times = self.times.setdefault((name, gpu), Times(ready=self.context.env.now))

        def started() -> None:
            if times.start is None:
                times.start = self.context.env.now

        def waited(seconds: float) -> None:
            times.waited += seconds

        planned, launch = self.context.plan[name], self.context.workload.host.launch
        looped = launch == "looped" and planned.shape is not None

        def next_one() -> None:
            if repeat < planned.turns:
                self._run(name, gpu, repeat + 1)
            else:
                self._end(name, gpu, times)

        seen = planned.event_time > 0.0 and repeat == planned.turns
        # the task's own end; the launch of the loop's next repeat; that its end is seen
        done = countdown(1 + looped + seen, next_one)
        if looped:
            self._launch_now(name, gpu, done)
        if seen:
            self.signals.when([(f"events of {name}", gpu)], done)
        turn = Turn(
            gpu=gpu,
            repeat=repeat,
            warm=repeat > 1 or launch in ("looped", "graph"),
            latencies=self._latencies(planned, gpu, repeat),
            detail=times.detail,
            started=started,
            waited=waited,
            done=done,
        )
        if repeat == planned.turns > 1:
            self._last_turn(name, gpu)
        planned.start(self.context, turn)

    def _record_events(self, gpu: int) -> None:
        """Have the host do what it does around tasks, behind all launches: of those that compute
        first; what a process launched without waiting for it is waited for last.
        """
        plan, late = self.context.plan, self.context.arrivals.of(gpu).late
        timed = [name for name in plan.order if plan[name].event_time]
        for name in sorted(timed, key=lambda name: plan[name].side != "compute"):
            seen = partial(self.signals.fire, (f"events of {name}", gpu))
            if name in self._awaited:
                seen()
                continue
            job = partial(self.context.host(gpu, name).do, plan[name].event_time, seen)
            self.context.once_past(late, job)

    def _latencies(self, planned: Planned[Any], gpu: int, repeat: int) -> Latencies:
        """Before and behind a kernel; one that only waited for another one, in its stream or by an
        event, follows it at once, or the dispatch behind its launch if that was short before. What
        it has waited for its queue since it was ready counts; it begins behind the one before it
        there.
        """
        host, now = self.context.workload.host, self.context.env.now
        ready = self._ready.get((planned.name, gpu), now) if repeat == 1 else now
        follows = self._follows(planned.name, gpu, ready)
        looped = host.launch in ("looped", "graph")
        queued = not looped and (follows or self._follows_another(planned.name, gpu, ready))
        kernels = self.context.node.gpu.kernels
        latencies = latencies_of(
            kernels,
            first=repeat == 1 and not (looped or queued),
            over_memory=planned.over_memory,
            last=repeat == planned.task.repeat and not looped,
            gap=host.kernel_gap if follows else None,
        )
        if (planned.name, gpu) in self._ready and repeat == 1:
            begin = now + max(0.0, latencies.dispatch - (now - ready))
            stream = planned.task.stream or planned.name
            begin = self._queues[gpu].in_order(stream, begin)
            latencies = latencies._replace(dispatch=begin - now)
        launched = self._launched.get((planned.name, gpu))
        if not queued or repeat > 1 or launched is None:  # nobody launches what engines do
            return latencies
        since = now - launched
        left = kernels.dispatch_latency - since
        return latencies._replace(dispatch=max(latencies.dispatch, left))

    def _follows(self, name: str, gpu: int, ready: float) -> bool:
        """True if the task waited in its stream until the one before it ended: at *ready* [s]."""
        return self._ended(self._before.get(name, ""), gpu) == ready

    def _follows_another(self, name: str, gpu: int, ready: float) -> bool:
        """True if it waited until a kernel that it comes after ended: at *ready* [s]."""
        tasks, after = self.context.plan.tasks, self.context.workload.tasks[name].after
        kernels = (entry for entry in after if entry in tasks and tasks[entry].shape is not None)
        return any(self._ended(kernel, gpu) == ready for kernel in kernels)

    def _ended(self, name: str, gpu: int) -> float | None:
        times = self.times.get((name, gpu))
        return None if times is None else times.end

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
        latency, thread = self._start_latency, self.context.host(gpu, name)
        seen = partial(self.context.after, latency, launched) if latency else launched
        stream = self.context.workload.tasks[name].stream or name
        if self._stream_time and self._called.setdefault(gpu, stream) != stream:
            self._called[gpu] = stream
            thread.do(self._stream_time, lambda: None)
        awaited = [(entry, gpu) for entry in self.context.workload.tasks[name].launch_after]

        def wait() -> None:
            thread.block()
            self.signals.when(awaited, thread.release)

        if awaited:
            thread.when_free(wait)
        self.context.plan[name].call(self.context, gpu, seen)
