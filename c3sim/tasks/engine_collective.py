"""Collectives on DMA engines as command programs: what each GPU asks its engines to do, by variant.

=====  =========================================================================================
pcpy   a copy to every peer, each on an engine of its own (or split over several)
bcst   all-gather only: a broadcast for every two peers (or as many as one can have); the engine
       reads once and writes to each
swap   all-to-all only: one command per pair of GPUs exchanges what they have for each other
b2b    the copies back to back on one engine (or dealt over several, and over queues of each),
       with one signal at the end
multi- all-gather only: one copy to an address behind which the switch has every peer
cast
=====  =========================================================================================

Names as in arXiv 2511.06605. Prelaunch is the host's (``host.prelaunched``) and works with each.
Reduce-scatter and all-reduce need engines that reduce (``dma_engines.reduce_bandwidth``): every GPU
adds its part to what its peers have. For an all-reduce it also tells them by an atomic, waits for
theirs, and copies its reduced part to all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar, Literal

from c3sim.machine.machine import Machine
from c3sim.models.groups import group_of, ranks_in, span_of
from c3sim.processes.dma.commands import program_steps
from c3sim.processes.dma.copies import engine_for
from c3sim.processes.dma.engines import Step
from c3sim.processes.plan import Context, Planned, Turn
from c3sim.processes.signals import Callback, countdown
from c3sim.spec.dma_engines import Operation
from c3sim.spec.hardware import Node
from c3sim.spec.task import Command, Kernel, TaskClass
from c3sim.spec.workload import After, Collective, Copy, Workload
from c3sim.tasks.on_engines import OnEngines
from c3sim.tasks.on_units import nothing

CollectiveLike = tuple[int, int, bool, Collective]  # GPU, queue, with its own shard


@dataclass(frozen=True, kw_only=True, eq=False)
class OfCollective(Planned[Collective]):
    """The part that all collectives share."""

    side: ClassVar[TaskClass] = "communication"

    @property
    def resource(self) -> tuple[Hashable, float] | None:
        """All links."""
        return "links", 1.0

    def share(self, after: After) -> float:
        if after.chunk is None:
            return super().share(after)
        return (after.chunk + 1) / self.task.chunks / self.task.repeat


@dataclass(frozen=True, kw_only=True, eq=False)
class ByEngines(OfCollective, OnEngines[Collective]):
    """Engines copy; *own*: the kernel that copies each rank's own shard, if one does, beside them
    or before them (*own_first*); *adds*: the one that adds what has arrived. They report completion
    of whole copies only. *barrier*: s until ranks know of each other, before and behind the copies,
    where ranks wait for each other; None: none waits.
    """

    own: Planned[Copy] | None = None
    own_first: bool = False
    adds: Planned[Kernel] | None = None
    barrier: float | None = None

    @property
    def inserted(self) -> float:
        ranks = ranks_in(self.scene.node, self.task)
        return self.task.repeat * 2 * self.task.size * (ranks - 1) / ranks

    def program(self) -> Sequence[Command]:
        batch = is_one_batch(self.scene.workload, self.task)
        return collective_program(self.scene.node, 0, self.task, batch=batch)

    @property
    def pulls(self) -> int:
        return super().pulls if self.task.direction == "pull" else 0

    def start(self, context: Context, turn: Turn) -> None:
        turn.started()
        self._meet(context, turn, "begin", partial(self._copy, context, turn))

    def _meet(self, context: Context, turn: Turn, where: str, further: Callback) -> None:
        """Call *further()* when every rank of the collective has come *where* this one has."""
        if self.barrier is None:
            further()
            return
        came, ranks = context.env.now, together(context.machine, self.task, turn.gpu)

        def met() -> None:
            turn.waited(context.env.now - came)
            context.once_past(self.barrier or 0.0, further)

        context.part(EngineRuns).meet((self.name, turn.repeat, where, ranks), len(ranks), met)

    def _copy(self, context: Context, turn: Turn) -> None:
        finished: Callback = partial(
            self._meet, context, turn, "end", partial(self._add, context, turn)
        )
        submit = partial(self.submit, context, turn)
        if self.own is not None and self.own_first:
            own = replace(turn, started=nothing, done=partial(submit, finished))
            self.own.start(context, own)
            return
        if self.own is not None:
            finished = countdown(2, finished)
            self.own.start(context, replace(turn, started=nothing, done=finished))
        submit(finished)

    def _add(self, context: Context, turn: Turn) -> None:
        """Everything has arrived: add it, where it has to be."""
        ended = partial(self._ended, context, turn)
        if self.adds is None:
            ended()
        else:
            self.adds.start(context, replace(turn, started=nothing, done=ended))

    def _ended(self, context: Context, turn: Turn) -> None:
        for chunk in range(self.task.chunks):
            context.signals.fire((f"{self.name}.chunk[{chunk}]", turn.gpu))
        turn.done()


def together(machine: Machine, task: Collective, gpu: int) -> tuple[int, ...]:
    """The simulated GPUs that run *task* with *gpu*: its group, or those that stand for all."""
    group = None if machine.folded else group_of(machine.node, task)
    return machine.gpus if group is None else group.members(gpu)


class EngineRuns:
    """The state that collectives on engines share in one run."""

    def __init__(self, context: Context):
        self.steps: dict[CollectiveLike, list[Step]] = {}
        self._came: dict[Hashable, list[Callback]] = {}

    def meet(self, where: Hashable, ranks: int, further: Callback) -> None:
        """Call *further()*, and that of all others who came *where*, when so many *ranks* have."""
        came = self._came.setdefault(where, [])
        came.append(further)
        if len(came) == ranks:
            for each in self._came.pop(where):
                each()


@dataclass(frozen=True, kw_only=True, eq=False)
class InsideNode(ByEngines):
    """A command program for every GPU of a node."""

    def steps(self, context: Context, gpu: int, _detail: dict[str, object]) -> list[Step]:
        """Pieces, which differ in what they wait for alone, have those of the first of them."""
        known, task = context.part(EngineRuns).steps, self.task
        own = task.out_of_place and self.shape is None
        like = gpu, self.queue, own, task.at_any_time()
        steps = known.get(like)
        if steps is None:
            batch = is_one_batch(self.scene.workload, task)
            steps = program_steps(
                context,
                self.name,
                gpu,
                collective_program(context.node, gpu, task, batch=batch, own=own),
                # of two GPUs, one submits the only swap
                mirrored=task.variant != "swap" or context.node.gpus > 2,
                queue=self.queue,
                batch=batch,
                mapping=task.mapping,
            )
            if all(step.only_moves for step in steps):
                known[like] = steps
        if steps and steps[0].task == self.name:
            return steps
        return [step._replace(task=self.name) for step in steps]

    def submit(self, context: Context, turn: Turn, done: Callback) -> None:
        if self.task.variant == "swap":
            # it changes the memory of another GPU: all end with the last
            ranks = len(context.machine.gpus)
            done = partial(context.part(EngineRuns).meet, self.name, ranks, done)
        super().submit(context, turn, done)


def collective_program(
    node: Node, gpu: int, task: Collective, *, batch: bool = False, own: bool = False
) -> tuple[Command, ...]:
    """Commands of *gpu* for *task*; *batch*: in one call, all of an engine in one queue; *own*: a
    copy of its own shard as well.
    """
    if task.variant in ("bcst", "multicast"):
        program = _broadcasts(node, gpu, task)
    elif task.variant == "swap":
        program = _swaps(node, gpu, task)
    elif task.op == "all_reduce":
        program = _reduced_then_gathered(node, gpu, task)
    else:
        program = _to_all(node, gpu, task, "reduce" if task.op == "reduce_scatter" else "copy")
    if own:
        program.append(Command(op="copy", bytes=task.size / (len(_peers(node, gpu, task)) + 1)))
    if not batch:
        return tuple(program)
    return tuple(command.changed(queue=0) for command in program)


def _peers(node: Node, gpu: int, task: Collective) -> tuple[int, ...]:
    """The offsets round the node from *gpu* to each other GPU of *task* in it."""
    group = span_of(node, group_of(node, task)).inside
    return tuple((group.peer(gpu, number) - gpu) % node.gpus for number in range(1, group.size))


def is_one_batch(workload: Workload, task: Collective) -> bool:
    """True if one call, split by peer by the runtime, asks for all of *task* (not back to back)."""
    return workload.host.submission == "batch" and task.variant != "b2b"


def _to_all(node: Node, gpu: int, task: Collective, op: Operation) -> list[Command]:
    """size/n to each peer (push) or from each (pull).

    The commands of one round go to different peers, so that all links are busy from the first round
    on. Back to back, the peers are dealt over engines, then over their queues.
    """
    parts = 1 if task.variant == "b2b" else task.engines or 1
    peers = _peers(node, gpu, task)
    places = [
        (peer, *_engine_and_queue(node, gpu, task, peer, number, part))
        for part in range(parts)
        for number, peer in enumerate(peers)
    ]
    size = task.size / (len(peers) + 1) / parts
    return [*_copies(op, size, task.direction or "push", tuple(places))]


@lru_cache(maxsize=256)
def _copies(
    op: Operation,
    size: float,
    direction: Literal["push", "pull"],
    places: tuple[tuple[int, int, int], ...],
) -> tuple[Command, ...]:
    """A command of *size* bytes for each peer, engine and queue of *places*."""
    any_of_them = Command(op=op, bytes=size, direction=direction)
    return tuple(  # a tenth of making each anew
        any_of_them.changed(peer=peer, engine=engine, queue=queue) for peer, engine, queue in places
    )


def _engine_and_queue(
    node: Node, gpu: int, task: Collective, peer: int, number: int, part: int
) -> tuple[int, int]:
    """Engine and queue of part *part* of the copy to *peer*, the *number*-th of them."""
    engines = task.engines or 1
    if task.variant != "b2b":
        return engine_for(node, gpu, peer, part, engines)
    rounds, number = divmod(number, engines)
    return engine_for(node, gpu, 1 + number)[0], rounds % (task.ways or 1)


def _broadcasts(node: Node, gpu: int, task: Collective) -> list[Command]:
    """A broadcast for every so many peers; one that is left over gets a copy. Each is on the map's
    engine for its first peer; without a map engines take turns.
    """
    every, most = _peers(node, gpu, task), node.gpu.dma_engines.broadcast_destinations or 1
    if task.variant == "multicast":
        most = len(every)
    size = task.size / (len(every) + 1)
    commands = []
    for number, begin in enumerate(range(0, len(every), most), start=1):
        first, peers = every[begin], every[begin : begin + most]
        engine, _ = engine_for(node, gpu, first if node.engine_map else number)
        if len(peers) > 1:
            commands.append(Command(op="broadcast", bytes=size, peers=peers, engine=engine))
        else:
            commands.append(Command(op="copy", bytes=size, peer=first, engine=engine))
    return commands


def _swaps(node: Node, gpu: int, task: Collective) -> list[Command]:
    """Each pair once: peers up to half way round, and those half way round by the lower GPU."""
    gpus = node.gpus
    peers = list(range(1, (gpus + 1) // 2))
    if gpus % 2 == 0 and gpu < gpus // 2:
        peers.append(gpus // 2)
    return [Command(op="swap", bytes=task.size / gpus, peer=peer) for peer in peers]


def _reduced_then_gathered(node: Node, gpu: int, task: Collective) -> list[Command]:
    """Reduce-scatter, then all-gather; the word "reduced" counts the peers that have added."""
    commands = []
    for command in _to_all(node, gpu, task, "reduce"):
        count = command.changed(op="atomic", bytes=None, on="reduced")
        commands += [command, count]
    additions = len(commands) // 2
    for command in _to_all(node, gpu, task, "copy"):
        update = {"op": "poll", "bytes": None, "peer": None, "on": "reduced", "value": additions}
        commands += [command.changed(**update), command]
    return commands
