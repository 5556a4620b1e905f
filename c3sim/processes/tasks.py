"""Tasks of a workload on the clock: streams keep order, ``after`` is awaited, hosts submit, each
kind is started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from c3sim.models.gemm import plan_gemm
from c3sim.models.hierarchy import plan_task
from c3sim.processes.collectives.channels import ChannelCollective
from c3sim.processes.collectives.hierarchical import channel_collective
from c3sim.processes.context import Context
from c3sim.processes.dma.collectives import collective_program, is_one_batch
from c3sim.processes.dma.commands import Words, copy_step
from c3sim.processes.dma.copies import stream_queue, task_copies
from c3sim.processes.dma.host import DmaHost
from c3sim.processes.dma.programs import program_steps
from c3sim.processes.kernels.gemm import gemm_kernel, gemm_workgroups
from c3sim.processes.kernels.kernel import Kernel, KernelSpec
from c3sim.processes.kernels.memory_kernels import copy_kernel, hold_kernel, stream_kernel
from c3sim.processes.kernels.residency import GridShape, usable_cluster
from c3sim.processes.network.engines_and_nics import AcrossNodes
from c3sim.processes.signals import Key, Signals
from c3sim.specs.hardware import Node
from c3sim.specs.references import parse_after, parse_cu_mask, task_order
from c3sim.specs.workload import (
    Collective,
    Commands,
    Copy,
    Gemm,
    Hold,
    HostTask,
    StreamKernel,
    Task,
    Workload,
)

Call = Callable[[], None]


def grid_shapes(workload: Workload, node: Node) -> dict[str, GridShape]:
    """Grid of every task that needs compute units."""
    shapes = {}
    units = node.gpu.compute_unit_count
    for name, task in workload.tasks.items():
        allowed = (
            workload.streams[task.stream].compute_units if task.stream in workload.streams else None
        )
        mask = None if allowed is None else parse_cu_mask(allowed, units)
        if isinstance(task, Gemm):
            plan = plan_gemm(node.gpu, task)
            workgroups = gemm_workgroups(node.gpu, plan, task)
            shapes[name] = GridShape(
                workgroups, mask, usable_cluster(node.gpu, mask, workgroups, plan.cluster_size)
            )
        elif isinstance(task, StreamKernel | Hold) or (
            isinstance(task, Copy) and task.executor == "kernel"
        ):
            shapes[name] = GridShape(task.workgroups or units, mask)
        elif isinstance(task, Collective) and task.backend != "dma":
            channels = plan_task(node, task).channels
            size = node.collective_library(task.backend).channels.cluster
            shapes[name] = GridShape(channels, mask, usable_cluster(node.gpu, mask, channels, size))
    return shapes


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
        self.dma = DmaHost(context)
        self.words = Words()
        self.across = AcrossNodes(context, self.dma, self.words)
        self.times: dict[Key, Times] = {}
        self.unfinished = 0
        self._needs: dict[Key, tuple[Key, ...]] = {}
        self._collectives: dict[tuple[str, int], ChannelCollective] = {}
        self._ends: dict[tuple[str, int, int], tuple[Call, Call]] = {}
        self._tiles: dict[Key, float] = {}
        self._swapped: dict[str, list[Call]] = {}  # GPUs whose own swaps have ended
        self._awaited: dict[
            str, list[tuple[str, float]]
        ] = {}  # GEMM -> (signal, share of its tiles)
        for task in context.workload.tasks.values():
            for entry in task.after:
                what = parse_after(entry)
                if what.tiles is not None:
                    self._awaited.setdefault(what.task, []).append((entry, what.tiles))
        for shares in self._awaited.values():
            shares.sort(
                key=lambda item: item[1]
            )  # those reached at one instant are released by share

    def submit(self) -> None:
        """Fill every queue, in launch order, at time 0."""
        workload, context = self.context.workload, self.context
        for gpu in context.machine.gpus:
            last: dict[str, str] = {}
            for name in task_order(workload):
                task = workload.tasks[name]
                if gpu != 0 and isinstance(task, Copy | Commands) and task.gpus == "first":
                    continue
                needs = [(entry, gpu) for entry in task.after]
                if task.stream is not None:
                    needs += [(last[task.stream], gpu)] if task.stream in last else []
                    last[task.stream] = name
                if workload.host.launch == "eager" and name in context.shapes:
                    launched = (f"launch of {name}", gpu)
                    needs.append(launched)
                    context.host(gpu, name).do(
                        self._launch_time(task), partial(self.signals.fire, launched)
                    )
                self._needs[name, gpu] = tuple(needs)
                self.unfinished += 1
                self.signals.when(needs, partial(self._run, name, gpu, 1))

    def waiting(self) -> dict[str, str]:
        """What each unfinished task waits for: the text of a deadlock."""
        found: dict[str, str] = {}
        for (name, gpu), needs in self._needs.items():
            times = self.times.get((name, gpu))
            if times is None:
                found.setdefault(name, ", ".join(self.signals.missing(needs)))
            elif times.end is None:
                what = (
                    "a compute unit with room for its workgroups"
                    if times.start is None
                    else "; ".join(self.dma.engines.stuck()) or "its peers or progress"
                )
                found.setdefault(name, what)
        return found

    # -- private -----------------------------------------------------------------------------------
    # -------------

    def _run(self, name: str, gpu: int, turn: int) -> None:
        """Run the task for the *turn*-th time; the next repeat, or its end, follows."""
        times = self.times.setdefault((name, gpu), Times(ready=self.context.env.now))

        def started() -> None:
            if times.start is None:
                times.start = self.context.env.now

        looped = self.context.workload.host.launch == "looped" and name in self.context.shapes
        missing = 2 if looped else 1  # the task's own end; the launch of the loop's next turn

        def done() -> None:
            nonlocal missing
            missing -= 1
            if missing:
                return
            if turn < self._turns(name):
                self._run(name, gpu, turn + 1)
                return
            times.end = self.context.env.now
            assert times.start is not None
            stream = self.context.workload.tasks[name].stream or name
            self.context.span(gpu, f"stream.{stream}", name, name, times.start, **times.detail)
            self.unfinished -= 1
            self.signals.fire((name, gpu))

        if looped:
            self.context.host(gpu, name).do(
                self._launch_time(self.context.workload.tasks[name]), done
            )
        self._start(name, gpu, turn, times, started, done)

    def _start(
        self, name: str, gpu: int, turn: int, times: Times, started: Call, done: Call
    ) -> None:
        context, task = self.context, self.context.workload.tasks[name]
        if isinstance(task, Gemm | StreamKernel | Hold) or (
            isinstance(task, Copy) and task.executor == "kernel"
        ):
            self._start_kernel(name, gpu, self._kernel_spec(name, gpu, task, times), started, done)
        elif isinstance(task, Collective) and task.backend != "dma":
            self._ends[name, gpu, turn] = (started, done)
            run = self._collective(name, turn, task)
            times.detail.update(run.describe())
            context.after(context.node.gpu.kernels.dispatch_latency, partial(run.launch, gpu))
        elif isinstance(task, HostTask):
            started()
            context.host(gpu, name).do(task.time, done)
        else:
            started()
            finished = partial(self._all_chunks, name, gpu, done)
            if self.across.takes(task):
                self.across.submit(name, gpu, turn, times.detail, finished)
            else:
                self._submit_commands(name, gpu, task, times, finished)

    def _turns(self, name: str) -> int:
        """How often the task runs as a whole. The copies of a repeated DMA copy are submitted
        together instead.
        """
        task = self.context.workload.tasks[name]
        return 1 if isinstance(task, Copy) and task.executor == "dma" else task.repeat

    def _launch_time(self, task: Task) -> float:
        """Host time of one launch."""
        if isinstance(task, Collective) and task.backend != "dma":
            return self.context.node.collective_library(task.backend).enqueue_time
        return self.context.node.host.launch_time

    def _submit_commands(
        self, name: str, gpu: int, task: Collective | Copy | Commands, times: Times, finished: Call
    ) -> None:
        context, host = self.context, self.context.workload.host
        if isinstance(task, Commands):
            noted: dict[str, float] = {}
            steps = program_steps(context, self.words, name, gpu, task.program, times=noted)
            if any(command.op == "timestamp" for command in task.program):
                times.detail["timestamps_s"] = noted
        elif isinstance(task, Copy):
            in_order = host.submission == "one_by_one" and task.repeat > 1
            copies = task_copies(context, gpu, name, task) * task.repeat
            steps = [copy_step(context, name, copy, in_order=in_order) for copy in copies]
        else:
            batch = is_one_batch(context.workload, task)
            program = collective_program(context.node, gpu, task, batch=batch)
            steps = program_steps(
                context,
                self.words,
                name,
                gpu,
                program,
                mirrored=task.variant != "swap"
                or context.node.gpus > 2,  # of two, one GPU submits the only swap
                queue=stream_queue(context, name),
                batch=batch,
            )

        def ended() -> None:
            if isinstance(task, Collective) and task.variant == "swap":
                self._swapped.setdefault(name, []).append(finished)
                if len(self._swapped[name]) == len(self.context.machine.gpus):
                    for finish in self._swapped.pop(
                        name
                    ):  # what one GPU asked for changes the memory of another
                        finish()
            else:
                finished()

        self.dma.submit(name, gpu, steps, ended)

    def _all_chunks(self, name: str, gpu: int, done: Call) -> None:
        """The engines report completion of whole copies only."""
        task = self.context.workload.tasks[name]
        for chunk in range(task.chunks) if isinstance(task, Collective) else ():
            self.signals.fire((f"{name}.chunk[{chunk}]", gpu))
        done()

    def _kernel_spec(
        self, name: str, gpu: int, task: Gemm | StreamKernel | Hold | Copy, times: Times
    ) -> KernelSpec:
        if isinstance(task, Gemm):
            plan = plan_gemm(self.context.node.gpu, task)
            times.detail.update(
                macro_tile=f"{plan.tile[0]}x{plan.tile[1]}",
                tiles=plan.tiles,
                split_k=plan.split_k,
                schedule=plan.schedule,
            )
            return gemm_kernel(self.context, name, gpu, task, fold_rounds=name not in self._awaited)
        if isinstance(task, StreamKernel):
            return stream_kernel(self.context, name, gpu, task)
        if isinstance(task, Hold):
            return hold_kernel(self.context, task)
        return copy_kernel(self.context, name, gpu, task)

    def _start_kernel(
        self, name: str, gpu: int, spec: KernelSpec, started: Call, done: Call
    ) -> None:
        latencies = self.context.node.gpu.kernels
        self._tiles[name, gpu] = 0.0
        kernel = Kernel(
            self.context,
            name,
            gpu,
            spec,
            started=started,
            progressed=lambda tiles: self._progress(name, gpu, tiles / spec.tiles),
            done=partial(self.context.after, latencies.completion_latency, done),
        )
        self.context.after(spec.setup + latencies.dispatch_latency, kernel.launch)

    def _progress(self, name: str, gpu: int, share: float) -> None:
        """Tiles have finished: release who waits for that share."""
        self._tiles[name, gpu] += share
        for signal, wanted in self._awaited.get(name, ()):
            if self._tiles[name, gpu] >= wanted * (1 - 1e-9):
                self.signals.fire((signal, gpu))

    def _collective(self, name: str, turn: int, task: Collective) -> ChannelCollective:
        """The run that all ranks share."""
        key = (name, turn)
        if key not in self._collectives:
            context, kernels = self.context, self.context.node.gpu.kernels

            def chunk_done(chunk: int) -> None:
                for gpu in context.machine.gpus:
                    self.signals.fire((f"{name}.chunk[{chunk}]", gpu))

            self._collectives[key] = channel_collective(
                context,
                name,
                task,
                started=lambda rank: self._ends[name, rank, turn][0](),
                chunk_done=chunk_done,
                done=lambda rank: context.after(
                    kernels.completion_latency, self._ends[name, rank, turn][1]
                ),
            )
        return self._collectives[key]
