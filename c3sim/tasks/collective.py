"""A collective on compute units: its channels move parts of the message through the phases of a
plan, all ranks in step.

A phase takes the parts in order, one at a time. A part enters the next phase when it has been sent
on every rank and the latency of its phase (steps, last slice) has passed, which overlaps with the
sending of the part behind it. A flat collective has one phase, its chunks as parts, and all its
latency before the first of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from c3sim.machine.state import Asked, GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_lines import CacheUse, predicts
from c3sim.models.collective import channels_of
from c3sim.models.collective_counts import SHOTS
from c3sim.models.groups import group_of, ranks_in, span_of
from c3sim.models.hierarchy import CollectivePlan, collective_plan
from c3sim.models.network import mirrored
from c3sim.models.phase import PhasePlan, channel_speed
from c3sim.processes.channels import Channels, HeldWorkgroups
from c3sim.processes.kernels.dealing import usable_cluster
from c3sim.processes.kernels.residency import Claim, GridShape
from c3sim.processes.plan import Context, Planned, Scene, Turn, hosts_call
from c3sim.processes.signals import countdown
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.task import Kernel
from c3sim.spec.workload import DTYPE_BYTES, Collective, Copy
from c3sim.tasks.copy import CopyByRuntime, by_units
from c3sim.tasks.engine_collective import ByEngines, InsideNode, OfCollective, together
from c3sim.tasks.kernel import KernelKind
from c3sim.tasks.kind import DMA, ENGINES, LAUNCH, Conditions
from c3sim.tasks.network import AcrossNodes
from c3sim.tasks.on_engines import EngineKind


class CollectiveKind(EngineKind[Collective]):
    """Collectives: on compute units by a library, on DMA engines inside a node or across nodes."""

    def use(self, task: Collective, gpu: Gpu) -> CacheUse:
        """A reuse predictor knows kernels, and that those of libraries find nothing again."""
        return CacheUse(policy=task.cache, reused=not predicts(gpu) or task.on_engines)

    def on_units(self, task: Collective) -> bool:
        return not task.on_engines

    def payload(self, task: Collective, node: Node) -> float | None:
        """The bytes that have to cross links or NICs, (n-1)/n of its size per GPU, twice that in an
        all-reduce (nccl-tests' bus bytes).
        """
        among = ranks_in(node, task)
        each = (2.0 if task.op == "all_reduce" else 1.0) * (among - 1) * task.size * task.repeat
        return each * (node.ranks // among)

    def conditions(self, task: Collective, node: Node) -> Conditions | None:
        backend = task.backend or next(iter(node.collective_libraries))
        values = {"size": task.size, "ranks": float(ranks_in(node, task))}
        if task.on_engines:
            return Conditions(owner=ENGINES, family=task.op, values=values)
        channels = node.collective_library(backend).channels
        used = min(task.channels or channels.default[task.op], channels.maximum)
        return Conditions(
            owner=f"collective_libraries.{backend}",
            family=task.op,
            values=values | {"channels": float(used)},
        )

    def events(self, task: Collective, node: Node) -> float:
        if task.on_engines:
            return 5 * (ranks_in(node, task) - 1) * (task.engines or 1)
        wide = node.scale_out if node.nodes > 1 else None
        parts = 1 if wide is None else task.pipeline or wide.pipeline
        return LAUNCH * parts + task.chunks

    def has_room(self, task: Collective, node: Node) -> bool:
        """A compute unit holds the channels of a workgroup; engines need none."""
        if task.on_engines:
            return True
        rules, unit = node.collective_library(task.backend).channels, node.gpu.compute_units
        most = rules.most_on_a_unit(unit.lds, unit.registers, unit.waves)
        return most >= rules.channels_per_unit

    def as_run(self, task: Collective, node: Node) -> Collective:
        """An exchange by copies within a node moves what a gathering does, from and to as many
        peers, as soon.
        """
        copied = task.backend == DMA and task.variant in (None, "pcpy", "b2b")
        if not copied or task.op != "all_to_all" or node.nodes > 1:
            return task
        return task.changed(op="all_gather")

    def resolve(self, name: str, task: Collective, scene: Scene) -> Planned[Collective]:
        placed = self.placed(name, task, scene)
        return (self._by_engines if task.on_engines else self._by_library)(placed, task, scene)

    def _by_library(
        self, placed: dict[str, Any], task: Collective, scene: Scene
    ) -> Planned[Collective]:
        node, mask = scene.node, scene.mask(task.stream)
        plan, library = collective_plan(node, task), node.collective_library(task.backend)
        placed["call_time"] = _call_time(task, scene, plan.algorithm)
        groups = library.channels.workgroups(plan.channels)
        size = usable_cluster(node.gpu, mask, groups, library.channels.cluster)
        return OnChannels(
            **placed,
            plan=plan,
            shape=GridShape(groups, mask, size),
            foldable=True,  # all ranks of all groups move the same over links that are alike
        )

    def _by_engines(
        self, placed: dict[str, Any], task: Collective, scene: Scene
    ) -> Planned[Collective]:
        node = scene.node
        group = group_of(node, task)
        inside, between = span_of(node, group)
        how: type[ByEngines] = AcrossNodes if between.size > 1 else InsideNode
        of_any = dict(placed)
        placed["copy_call"] = node.host.copy_time
        if task.by == "engines":
            placed["call_time"] = _call_time(task, scene)
            task = self._as_its_library_does(placed, task, scene)
        # every GPU asks engines for the same; but of a swap one GPU of each pair does, and in
        # groups of some of a node engines go to peers at other places of it for each GPU
        placed["foldable"] = task.variant != "swap" and inside.size in (1, node.gpus)
        own_part = task.size / ranks_in(node, task)
        copy = Copy(kind="copy", bytes=own_part, destination="gpu", gpus="all")
        if not (task.out_of_place and by_units(node, scene.workload, copy)):
            if task.by != "engines":  # a program calls for copies alone
                placed["call_time"] = task.launch_time or 0.0
            return how(**placed)
        shape = GridShape(CopyByRuntime.workgroups(copy, node.gpu), scene.mask(task.stream))
        own = CopyByRuntime(**{**of_any, "task": copy}, shape=shape)
        return how(**placed, shape=shape, own=own)

    def _as_its_library_does(
        self, placed: dict[str, Any], task: Collective, scene: Scene
    ) -> Collective:
        """*task* as its library has engines carry it; what is beside the copies goes to *placed*.

        A reduce-scatter is an exchange, and a kernel that reads what all ranks have sent it and
        writes the sum.
        """
        use = scene.node.collective_library(task.backend).engines
        assert use is not None  # checked on input
        change: dict[str, Any] = {"direction": task.direction or use.direction}
        if task.op == "all_gather" and task.variant is None:
            change["variant"] = use.gather_variant
        if task.op == "reduce_scatter":
            change["op"] = "all_to_all"
            own = task.size / ranks_in(scene.node, task)
            kernel = Kernel(
                kind="kernel",
                stream=task.stream,
                operator="communication",
                read=task.size,
                written=own,
                flops=(task.size - own) / DTYPE_BYTES[task.dtype],
            )
            adds = KernelKind().resolve(placed["name"], kernel, scene)
            placed.update(adds=adds, shape=adds.shape)
        task = task.changed(**change)
        placed.update(task=task, barrier=use.barrier_time, own_first=use.own_part == "first")
        return task


def _call_time(task: Collective, scene: Scene, algorithm: str = "") -> float:
    """Seconds of the host thread for the call of a collective's library. A shot is a kernel that is
    launched like any other: the library plans no channels for it.
    """
    if task.launch_time is not None or not hosts_call(scene.workload.host):
        return task.launch_time or 0.0
    if scene.profile is not None:
        return scene.profile.collective_call(task.op, ranks_in(scene.node, task))
    if algorithm in SHOTS:
        return scene.node.host.launch_time
    library, warm = scene.node.collective_library(task.backend), scene.workload.host.launch
    own = library.loop_enqueue_time if warm == "looped" else None
    return library.enqueue_time if own is None else own


@dataclass(frozen=True, kw_only=True, eq=False)
class OnChannels(OfCollective):
    """A library's kernel on every rank, as its *plan* says."""

    plan: CollectivePlan

    @property
    def inserted(self) -> float:
        return self.task.repeat * self.plan.moved

    def start(self, context: Context, turn: Turn) -> None:
        run = context.part(ChannelRuns).joined(self, turn)
        turn.detail.update(run.describe())
        profile = self.scene.usual_profile
        late = profile.collective_latency if profile else 0.0
        context.after(turn.latencies.dispatch + late, partial(run.launch, turn.gpu))


class ChannelRuns:
    """The collectives under way in one run, each of which the ranks of a group share."""

    def __init__(self, context: Context):
        self.context = context
        self._runs: dict[tuple[str, int, int], ChannelCollective] = {}
        self._turns: dict[tuple[str, int, int], Turn] = {}  # by rank

    def joined(self, planned: OnChannels, turn: Turn) -> ChannelCollective:
        """The one that *turn* is part of."""
        name, repeat = planned.name, turn.repeat
        self._turns[name, turn.gpu, repeat] = turn
        ranks = together(self.context.machine, planned.task, turn.gpu)
        key, completion = (name, repeat, ranks[0]), turn.latencies.completion

        def chunk_done(chunk: int) -> None:
            for rank in ranks:
                self.context.signals.fire((f"{name}.chunk[{chunk}]", rank))

        def done(rank: int) -> None:
            self._runs.pop(key, None)  # the last of its workgroups have ended on all ranks
            self.context.after(completion, self._turns.pop((name, rank, repeat)).done)

        if key not in self._runs:
            self._runs[key] = ChannelCollective(
                self.context,
                planned,
                ranks,
                started=lambda rank: self._turns[name, rank, repeat].started(),
                waited=lambda rank, seconds: self._turns[name, rank, repeat].waited(seconds),
                chunk_done=chunk_done,
                done=done,
                warm=turn.warm,
            )
        return self._runs[key]


@dataclass(frozen=True, slots=True)
class _Working:
    """Progress of channels' own work by state, as a share of that at full speed; *clocked*: share
    of it that follows the clock; *beside*: share that is kept where arithmetic runs on every unit.
    """

    clocked: float
    beside: float

    def __call__(self, state: GpuState) -> float:
        kept = 1.0 - state.computing * (1.0 - self.beside)
        return kept * channel_speed(self.clocked, state.clock, state.memory)


@dataclass(frozen=True, slots=True)
class _Sending:
    """Payload rate [B/s] of *channels* in *phase* by state; *speed*: what is given of that."""

    speed: float
    phase: PhasePlan
    channels: float
    working: _Working

    def __call__(self, state: GpuState) -> float:
        return self.speed * self.phase.rate(self.channels, self.working(state))

    def freely(self, state: GpuState) -> float:
        """The same if links were no limit."""
        return self.speed * self.phase.unlinked_rate(self.channels, self.working(state))


def _phase_traffic(node: Node, phase: PhasePlan, rank: int, *, folded: bool) -> Traffic:
    """Per payload byte that *rank* sends. Waves load, store here, and store to peers as much as
    arrives from them; NICs do not go through waves.
    """
    moved, group = phase.reads + phase.writes, phase.group
    if group is None:
        hops = [((node.peer(rank, to), port), amount) for (to, port), amount in phase.paths]
    else:
        own = folded or rank == 0  # a GPU that stands for all has the ports of GPU 0
        hops = [
            (hop if own else group.hop(node.gpus, rank, hop), amount) for hop, amount in phase.paths
        ]
    return Traffic(
        cache=moved,
        hbm_read=phase.reads,
        hbm_write=phase.writes,
        inserted=moved,
        ports=tuple(hops),
        alike=group if folded else None,
        network=mirrored(node, rank, phase.peers, phase.network, phase.span)
        if phase.network
        else (),
        together=True,
        vector=moved - 2 * phase.by_nic,
    )


class ChannelCollective:
    """One run of *planned* over *ranks*. Calls *started(rank)* when its channels get room,
    *waited(rank, s)* when all are there that it waited for, *chunk_done(i)* as chunks arrive
    everywhere, and *done(rank)*. ``phases``: of each its name, when it began and ended [s], and for
    how long it sent. *warm*: it follows another run of it.
    """

    def __init__(
        self,
        context: Context,
        planned: OnChannels,
        ranks: tuple[int, ...],
        *,
        started: Callable[[int], None],
        waited: Callable[[int, float], None],
        chunk_done: Callable[[int], None],
        done: Callable[[int], None],
        warm: bool = False,
    ):
        name, task = planned.name, planned.task
        self.context, self.name, self.chunks = context, name, task.chunks
        self.chunk_done, self.done, self.plan = chunk_done, done, planned.plan
        self.started, self.waited = started, waited
        self.since: dict[int, float] = {}  # when a rank's first channels got room
        library = context.node.collective_library(task.backend)
        self.cold = 0.0 if warm else self.plan.connections * library.cold_step_latency
        self.phases: list[dict[str, Any]] = [{"name": phase.name} for phase in self.plan.phases]
        rules = library.channels
        self.most = channels_of(library, task)
        self.working = _Working(rules.clocked, rules.beside_compute)
        each = rules.channels_per_unit
        self.workgroups = rules.workgroups(self.plan.channels)
        claim = Claim(each * rules.lds, each * rules.registers, each * rules.waves)
        calls: Any = {"placed": self._placed, "ready": self._begin}
        self.channels = Channels(context, name, claim, ranks, **calls)
        self.launch = self.channels.launch
        self.ended = 0  # workgroups
        self.speed, self.late = task.speed, task.peers_late
        self.peers_at: float | None = None  # when the last peer, which is not simulated, begins
        self.chunk_progress = [0] * task.chunks  # workgroups whose part has arrived

    def describe(self) -> dict[str, Any]:
        """Decisions of the library, for the result."""
        plan = self.plan
        names = ("channels", "algorithm", "protocol")
        decided = {name: getattr(plan, name) for name in names}
        if self.most > plan.channels and plan.algorithm == "ring":
            decided["of_channels"] = self.most
        return decided | ({"parts": plan.parts, "phases": self.phases} if plan.hierarchical else {})

    def _placed(self, rank: int) -> None:
        self.since.setdefault(rank, self.context.env.now)
        self.started(rank)

    def _begin(self, workgroups: int, held: HeldWorkgroups) -> None:
        """*workgroups* are resident on every rank: after the latency, their channels move data."""
        passage = _Passage(self, workgroups, held)
        fill = partial(self.on_all_ranks, workgroups, self.plan.work + self.cold, passage.start)
        now = self.context.env.now
        if self.peers_at is None:
            self.peers_at = now + self.late
            for rank, since in self.since.items():
                self.waited(rank, self.peers_at - since)
        self.context.once_past(max(0.0, self.peers_at - now) + self.plan.flight, fill)

    def arrived(self, workgroups: int, chunk: int) -> None:
        """The part of *workgroups* of a chunk has arrived everywhere."""
        self.chunk_progress[chunk] += workgroups
        if self.chunk_progress[chunk] >= self.workgroups:
            self.chunk_done(chunk)

    def end(self, workgroups: int, held: HeldWorkgroups) -> None:
        """All that the channels of *workgroups* have to move has arrived."""
        self.ended += workgroups
        last = self.ended >= self.workgroups
        for rank in self.channels.ranks:
            self.channels.release(rank, held, last=last)
            if last:
                self.done(rank)

    def on_all_ranks(
        self,
        workgroups: int,
        work: float,
        done: Callable[[], None],
        *,
        cap: Callable[[GpuState], float] | None = None,
        traffic: Callable[[int], Traffic] = lambda _rank: Traffic(),
        units: float = 1.0,
        share: float = 1.0,
    ) -> None:
        """The same flow on every rank; *done()* when the last one has ended. *units*, *share*: what
        it has of the channels' compute units, and of what the collective may declare, beside other
        flows of the same channels.
        """
        ended = countdown(len(self.channels.ranks), done)
        for rank in self.channels.ranks:
            asked = Asked(
                gpu=rank,
                cap=cap or self.working,
                traffic=traffic(rank),
                compute_units=self.channels.units(rank, units * workgroups),
                share=share * workgroups / self.workgroups,
            )
            self.context.machine.flow(self.name, asked, work, lambda _flow: ended())


class _Passage:
    """The passage of the parts of some workgroups' channels through the phases."""

    def __init__(self, run: ChannelCollective, workgroups: int, held: HeldWorkgroups):
        self.run, self.plan, self.workgroups, self.held = run, run.plan, workgroups, held
        phases = self.plan.phases
        self.ready = [0 for _ in phases]  # parts that may be sent
        self.sent = [0 for _ in phases]
        self.busy = [False for _ in phases]
        self.complete = 0  # parts that have passed all phases
        # Phases of one level use the same links, and get half of them when there are two.
        levels = [phase.level for phase in phases]
        total = sum(phase.sent for phase in phases)
        at_once = self.plan.parts > 1
        self.share = [1.0 / levels.count(level) if at_once else 1.0 for level in levels]
        self.units = [phase.sent / total if at_once else 1.0 for phase in phases]

    def start(self) -> None:
        self.ready[0] = self.plan.parts
        self._send(0)

    def _send(self, index: int) -> None:
        """Send the next part of a phase, if there is one and the phase is free."""
        if self.busy[index] or self.sent[index] >= self.ready[index]:
            return
        self.busy[index] = True
        run, phase, since = self.run, self.plan.phases[index], self.run.context.env.now
        run.phases[index].setdefault("start_s", since)
        # a phase may use fewer channels than there are
        working = self.workgroups * phase.channels / run.workgroups
        run.on_all_ranks(
            self.workgroups,
            phase.sent * self.workgroups / run.workgroups,
            lambda: self._was_sent(index, since),
            cap=_Sending(run.speed, phase, working, run.working),
            traffic=lambda rank: _phase_traffic(
                run.context.node, phase, rank, folded=run.context.machine.folded
            ),
            units=self.units[index],
            share=self.share[index],
        )

    def _was_sent(self, index: int, since: float) -> None:
        run, phase = self.run, self.plan.phases[index]
        self.sent[index] += 1
        self.busy[index] = False
        if not self.plan.hierarchical:
            self._arrive(index)
        else:
            self._note(index, since)
            units = float(self.plan.parts == 1)  # else they are with the next part
            run.context.after(
                phase.flight,
                lambda: run.on_all_ranks(
                    self.workgroups, phase.work, lambda: self._arrive(index), units=units
                ),
            )
        self._send(index)

    def _arrive(self, index: int) -> None:
        """A part has gone through a phase everywhere."""
        run = self.run
        run.phases[index]["end_s"] = run.context.env.now
        if index + 1 < len(self.plan.phases):
            self.ready[index + 1] += 1
            self._send(index + 1)
            return
        per_chunk = self.plan.parts // run.chunks
        self.complete += 1
        if self.complete % per_chunk == 0:
            run.arrived(self.workgroups, self.complete // per_chunk - 1)
        if self.complete == self.plan.parts:
            run.end(self.workgroups, self.held)

    def _note(self, index: int, since: float) -> None:
        """Note the part just sent, and the time that the phase has sent, channels weighted."""
        run, noted = self.run, self.run.phases[index]
        sending = (run.context.env.now - since) * self.workgroups / run.workgroups
        noted["sending_s"] = noted.get("sending_s", 0.0) + sending
        label = f"{noted['name']}, part {self.sent[index]} of {self.plan.parts}"
        channels = self.workgroups * self.plan.channels // run.workgroups
        for rank in run.channels.ranks:
            track = f"phases of {run.name}"
            run.context.span(rank, track, label, run.name, since, channels=channels)
