"""How a task of each kind does its work; signals the tiles and chunks that others wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from c3sim.models.gemm import plan_gemm
from c3sim.processes.collectives.collective import ChannelCollective, together
from c3sim.processes.context import Context
from c3sim.processes.dma.collectives import collective_program, is_one_batch
from c3sim.processes.dma.commands import Words, copy_step
from c3sim.processes.dma.copies import stream_queue, task_copies
from c3sim.processes.dma.engines import Step
from c3sim.processes.dma.host import DmaHost
from c3sim.processes.dma.programs import program_steps
from c3sim.processes.kernels.any_kernel import any_kernel
from c3sim.processes.kernels.gemm import gemm_kernel, reduction_kernel
from c3sim.processes.kernels.grids import own_shard
from c3sim.processes.kernels.kernel import Kernel
from c3sim.processes.kernels.latencies import Latencies, latencies_of
from c3sim.processes.kernels.memory_kernels import (
    copy_kernel,
    hold_kernel,
    runtime_copy_kernel,
    stream_kernel,
)
from c3sim.processes.kernels.spec import KernelSpec
from c3sim.processes.kernels.stores import stores_kernel, storing_gemm
from c3sim.processes.network.engines_and_nics import AcrossNodes
from c3sim.processes.signals import Callback, Signals, countdown
from c3sim.processes.tiles import Tiles
from c3sim.specs.task import Kernel as AnyKernel
from c3sim.specs.task import KernelBase, Stores
from c3sim.specs.workload import (
    Collective,
    Commands,
    Copy,
    Gemm,
    Hold,
    HostTask,
    StreamKernel,
    parse_after,
)

Detail = dict[str, object]  # what was decided for a task, for its result
KernelTask = Gemm | StreamKernel | AnyKernel | Stores | Hold | Copy
OnEngines = Collective | Copy | Commands


class Starter:
    """Starts tasks of one run; they call back when they start and when they are done."""

    def __init__(self, context: Context, signals: Signals):
        self.context, self.signals = context, signals
        self.dma = DmaHost(context)
        self.words = Words()
        self.across = AcrossNodes(context, self.dma, self.words)
        self._collectives: dict[tuple[str, int, int], ChannelCollective] = {}
        # (collective, rank, repeat) -> what to call when it starts, and when it is done
        self._callbacks: dict[tuple[str, int, int], tuple[Callback, Callback]] = {}
        self._tiles = Tiles(context, signals)
        self._steps: dict[tuple[int, int, bool, Collective], list[Step]] = {}
        self._swapped: dict[str, list[Callback]] = {}  # GPUs whose own swaps have ended
        profile = context.node.host_profiles.get(context.workload.host.profile or "")
        self._collective_latency = profile.collective_latency if profile else 0.0

    def start(
        self,
        name: str,
        gpu: int,
        repeat: int,
        detail: Detail,
        started: Callback,
        done: Callback,
        *,
        follows: bool = False,
    ) -> None:
        """Do task *name* on *gpu* for the *repeat*-th time; *follows*: it has only waited for the
        task before it in its stream.
        """
        context, task = self.context, self.context.workload.tasks[name]
        looped = context.workload.host.launch in ("looped", "graph")
        queued = follows and context.workload.host.launch == "eager"
        latencies = latencies_of(
            context.node.gpu.kernels,
            first=repeat == 1 and not (looped or queued),
            over_memory=isinstance(task, StreamKernel | Copy),
            last=repeat == task.repeat and not looped,
            gap=context.workload.host.kernel_gap if follows else None,
        )
        if isinstance(task, Gemm | StreamKernel | AnyKernel | Stores | Hold) or (
            isinstance(task, Copy) and name in context.shapes
        ):
            self._start_kernel(name, gpu, task, latencies, detail, started, done)
        elif isinstance(task, Collective) and task.backend != "dma":
            self._callbacks[name, gpu, repeat] = (started, done)
            run = self._collective(name, gpu, repeat, task, latencies.completion, looped)
            detail.update(run.describe())
            context.after(latencies.dispatch + self._collective_latency, partial(run.launch, gpu))
        elif isinstance(task, HostTask):
            started()
            context.host(gpu, name).do(task.time, done)
        else:
            started()
            finished: Callback = partial(self._all_chunks, name, gpu, done)
            own = own_shard(context.node, context.workload, task)
            if own is not None:
                finished = countdown(2, finished)
                self._start_kernel(name, gpu, own, latencies, detail, _nothing, finished)
            if self.across.takes(task):
                self.across.submit(name, gpu, repeat, detail, finished)
            else:
                self._submit_commands(name, gpu, task, detail, finished)

    def _start_kernel(
        self,
        name: str,
        gpu: int,
        task: KernelTask,
        latencies: Latencies,
        detail: Detail,
        started: Callback,
        done: Callback,
    ) -> None:
        context, spec = self.context, self._kernel_spec(name, gpu, task)
        last: KernelSpec | None = None
        if isinstance(task, Gemm):
            plan = plan_gemm(context.node.gpu, task)
            last = reduction_kernel(context, name, task, plan)
            detail.update(
                macro_tile=f"{plan.tile[0]}x{plan.tile[1]}",
                tiles=plan.tiles,
                split_k=plan.split_k,
                schedule=plan.schedule,
            )
        self._tiles.begin(name, gpu)
        done = partial(context.after, latencies.completion, done)
        tiles_done = partial(self._tiles.finished, name, gpu)
        launch = partial(self._launch, name, gpu)
        if last is None:
            first = partial(launch, spec, started, tiles_done, done)
        else:  # its tiles are results, those of the first kernel are not
            second = partial(launch, last, _nothing, tiles_done, done)
            follow = partial(context.after, context.node.gpu.kernels.gap, second)
            first = partial(launch, spec, started, _no_time, follow)
        context.after(spec.setup + latencies.dispatch, first)

    def _launch(
        self,
        name: str,
        gpu: int,
        spec: KernelSpec,
        started: Callback,
        tiles_done: Callable[[float], float],
        done: Callback,
    ) -> None:
        """One kernel of task *name*; *tiles_done(share)* as its tiles finish: seconds in which one
        of its workgroups posts packets.
        """
        task = self.context.workload.tasks[name]
        awaits = task.awaits if isinstance(task, KernelBase) else ()
        Kernel(
            self.context,
            name,
            gpu,
            spec,
            started=started,
            progressed=lambda tiles: tiles_done(tiles / spec.tiles),
            done=done,
            awaited=self._tiles.awaited(awaits, gpu),
        ).launch()

    def _kernel_spec(self, name: str, gpu: int, task: KernelTask) -> KernelSpec:
        spec = self._kernel(name, gpu, task)
        if not (spec.parts or (isinstance(task, KernelBase) and task.awaits)):
            return spec
        pooled = "one_per_tile" if spec.schedule == "one_per_tile" else "work_stealing"
        return replace(spec, schedule=pooled, fold_rounds=False)  # in the order of their tiles

    def _kernel(self, name: str, gpu: int, task: KernelTask) -> KernelSpec:
        if isinstance(task, Gemm):
            fold = not self._tiles.watched(name)
            spec = gemm_kernel(self.context, name, gpu, task, fold_rounds=fold)
            return storing_gemm(self.context, gpu, task, spec)
        if isinstance(task, StreamKernel):
            return stream_kernel(self.context, name, gpu, task)
        if isinstance(task, AnyKernel):
            fold = not self._tiles.watched(name)
            return any_kernel(self.context, name, gpu, task, fold_rounds=fold)
        if isinstance(task, Stores):
            return stores_kernel(self.context, name, gpu, task, fold=not self._tiles.watched(name))
        if isinstance(task, Hold):
            return hold_kernel(self.context, task)
        if task.executor == "dma":  # the runtime's kernel
            return runtime_copy_kernel(self.context, name, gpu, task)
        return copy_kernel(self.context, name, gpu, task)

    def _collective(
        self, name: str, gpu: int, repeat: int, task: Collective, completion: float, looped: bool
    ) -> ChannelCollective:
        """The run that the ranks of a group share; *completion*: s from its end to the signal."""
        context, ranks = self.context, together(self.context.machine, task, gpu)
        key = name, repeat, ranks[0]  # of its group

        def chunk_done(chunk: int) -> None:
            for rank in ranks:
                self.signals.fire((f"{name}.chunk[{chunk}]", rank))

        def done(rank: int) -> None:
            self._collectives.pop(key, None)  # the last of its workgroups have ended on all ranks
            context.after(completion, self._callbacks.pop((name, rank, repeat))[1])

        if key not in self._collectives:
            self._collectives[key] = ChannelCollective(
                context,
                name,
                task,
                ranks,
                started=lambda rank: self._callbacks[name, rank, repeat][0](),
                chunk_done=chunk_done,
                done=done,
                warm=looped or repeat > 1,
            )
        return self._collectives[key]

    def _submit_commands(
        self, name: str, gpu: int, task: OnEngines, detail: Detail, finished: Callback
    ) -> None:
        context, host = self.context, self.context.workload.host
        if isinstance(task, Commands):
            stamps: dict[str, float] = {}
            words, program, alike = self.words, task.program, self.dma.on_all_at_once(name, task)
            steps = program_steps(context, words, name, gpu, program, mirrored=alike, times=stamps)
            if any(command.op == "timestamp" for command in task.program):
                detail["timestamps_s"] = stamps
        elif isinstance(task, Copy):
            in_order = host.submission == "one_by_one" and task.repeat > 1
            copies = task_copies(context, gpu, name, task) * task.repeat
            steps = [copy_step(context, name, copy, in_order=in_order) for copy in copies]
        else:
            steps = self._collective_steps(name, gpu, task)
            if task.variant == "swap":
                finished = partial(self._swapped_on_one, name, finished)
        if task.posted is None:
            self.dma.submit(name, gpu, steps, finished)
            return
        busy = self.dma.post(name, gpu, steps, task.posted, finished)
        for entry in task.after:  # none where the task is run alone
            self._tiles.stall(parse_after(entry).task, gpu, busy)

    def _collective_steps(self, name: str, gpu: int, task: Collective) -> list[Step]:
        """Steps of *task* on *gpu*. Pieces, which differ in what they wait for alone, have those of
        the first of them.
        """
        context, queue = self.context, stream_queue(self.context, name)
        own = task.out_of_place and name not in context.shapes
        like = gpu, queue, own, task.at_any_time()
        steps = self._steps.get(like)
        if steps is None:
            batch = is_one_batch(context.workload, task)
            steps = program_steps(
                context,
                self.words,
                name,
                gpu,
                collective_program(context.node, gpu, task, batch=batch, own=own),
                # of two GPUs, one submits the only swap
                mirrored=task.variant != "swap" or context.node.gpus > 2,
                queue=queue,
                batch=batch,
                mapping=task.mapping,
            )
            if all(step.only_moves for step in steps):
                self._steps[like] = steps
        return [step._replace(task=name) for step in steps]

    def _swapped_on_one(self, name: str, finished: Callback) -> None:
        """A swap that one GPU submits changes the memory of another: all GPUs end with the last."""
        self._swapped.setdefault(name, []).append(finished)
        if len(self._swapped[name]) == len(self.context.machine.gpus):
            for finish in self._swapped.pop(name):
                finish()

    def _all_chunks(self, name: str, gpu: int, done: Callback) -> None:
        """The engines report completion of whole copies only."""
        task = self.context.workload.tasks[name]
        for chunk in range(task.chunks) if isinstance(task, Collective) else ():
            self.signals.fire((f"{name}.chunk[{chunk}]", gpu))
        done()


def _nothing(*_: object) -> None:
    """Nobody waits for this."""


def _no_time(_share: float) -> float:
    """Nobody waits for these tiles, and so nothing is posted behind them."""
    return 0.0
