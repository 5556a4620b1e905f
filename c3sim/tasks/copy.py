"""A copy: by DMA engines, by compute units, or by a kernel that the runtime launches for it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_lines import CacheUse, predicts
from c3sim.models.links import route
from c3sim.models.unit_port import Way
from c3sim.processes.dma.commands import copy_step
from c3sim.processes.dma.copies import HOST, DmaCopy, engine_for, host_engine_for, local_engine_for
from c3sim.processes.dma.engines import Step
from c3sim.processes.kernels.kernel import Beside, KernelSpec, TileCost
from c3sim.processes.kernels.residency import GridShape
from c3sim.processes.nics import NicQueue, copy_transfer
from c3sim.processes.plan import Context, Planned, Scene, Turn
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.task import TaskClass
from c3sim.spec.workload import Copy, StreamKernel, Workload
from c3sim.tasks.kind import DMA, ENGINES, LAUNCH, Conditions
from c3sim.tasks.network import copies_alike
from c3sim.tasks.on_engines import EngineKind, OnEngines, stall
from c3sim.tasks.on_units import REGISTERS, OnUnits, one_per_tile, plain_claim, port_share, way_of
from c3sim.tasks.stream import stream_kernel


class CopyKind(EngineKind[Copy]):
    """Copies."""

    def use(self, task: Copy, gpu: Gpu) -> CacheUse:
        """A reuse predictor knows kernels, and that those that copy find nothing again."""
        reused = not predicts(gpu) or task.executor != "kernel"
        return CacheUse(policy=task.cache, reused=reused)

    def payload(self, task: Copy, node: Node) -> float | None:
        """The bytes written."""
        return task.bytes * task.repeat * (node.ranks if task.gpus == "all" else 1)

    def conditions(self, task: Copy, _node: Node) -> Conditions | None:
        if task.executor != DMA:
            return None
        return Conditions(owner=ENGINES, family="copy", values={"bytes": task.bytes})

    def events(self, task: Copy, _node: Node) -> float:
        return LAUNCH * (task.engines or 1)

    def resolve(self, name: str, task: Copy, scene: Scene) -> Planned[Copy]:
        placed: dict[str, Any] = self.placed(name, task, scene)
        if task.executor == "nic":
            placed["call_time"] = task.launch_time or 0.0
            return NicCopy(**placed, foldable=copies_alike(scene.node, task))
        # with gpus: all as much arrives at every GPU as leaves it
        placed["foldable"] = task.gpus == "all"
        if scene.profile is not None and task.launch_time is None:
            placed["call_time"] = scene.profile.launch_time + scene.profile.copy_time
        if by_units(scene.node, scene.workload, task):
            how = CopyByRuntime if task.executor == DMA else CopyOnUnits
            groups = task.workgroups or how.workgroups(task, scene.node.gpu)
            return how(**placed, shape=GridShape(groups, scene.mask(task.stream)))
        placed["turns"] = 1  # repeats are submitted at once
        runtime = scene.profile is None and task.launch_time is None
        call = scene.node.host.copy_time if runtime else placed["call_time"]
        return CopyByEngines(**{**placed, "call_time": 0.0}, copy_call=call)


def by_units(node: Node, workload: Workload, copy: Copy) -> bool:
    """True if compute units do *copy*: it says so, or it is a call of the runtime within the GPU,
    and the runtime launches a kernel for it (``dma_engines.local_copies``).
    """
    within = (copy.source, copy.destination) == ("gpu", "gpu") and copy.executor == DMA
    by_kernel = node.gpu.dma_engines.local_copies == "kernels"
    a_call = workload.host.submission == "one_by_one"
    return copy.executor == "kernel" or (within and by_kernel and a_call)


@dataclass(frozen=True, kw_only=True, eq=False)
class _AnyCopy(Planned[Copy]):
    """The common part of all copies."""

    side: ClassVar[TaskClass] = "communication"

    @property
    def on_first_gpu(self) -> bool:
        return self.task.gpus == "first"

    @property
    def inserted(self) -> float:
        return 2 * self.task.bytes

    @property
    def resource(self) -> tuple[Hashable, float] | None:
        """The path between two memories."""
        return (self.task.source, self.task.destination, self.task.peer), 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class NicCopy(_AnyCopy):
    """A copy to a GPU of another node."""

    @property
    def called(self) -> bool:
        return self.posted is None

    def start(self, context: Context, turn: Turn) -> None:
        turn.started()
        transfer = copy_transfer(context.node, turn.gpu, self.task)
        nic = NicQueue(context, self.name, turn.gpu)
        if self.task.posted is None:
            nic.post(transfer, turn.done)
        else:
            stall(context, self, turn.gpu, nic.put(transfer, self.task.posted, turn.done))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Copies(_AnyCopy):
    """The common part of copies within a node."""

    @property
    def over_memory(self) -> bool:
        return True

    @property
    def pulls(self) -> int:
        task = self.task
        return task.direction == "pull" or (task.source == "peer" and task.direction is None)


@dataclass(frozen=True, kw_only=True, eq=False)
class CopyByEngines(_Copies, OnEngines[Copy]):
    """A command, or one for each engine that shares it."""

    def steps(self, context: Context, gpu: int, _detail: dict[str, object]) -> list[Step]:
        host, task, streams = self.scene.workload.host, self.task, len(self.scene.queues)
        in_order = host.submission == "one_by_one" and task.repeat > 1
        copies = task_copies(context.node, gpu, task, self.queue, streams) * task.repeat
        return [copy_step(context, self.name, copy, in_order=in_order) for copy in copies]


@dataclass(frozen=True, kw_only=True, eq=False)
class CopyOnUnits(_Copies, OnUnits[Copy]):
    """A copy kernel and its grid."""

    @staticmethod
    def workgroups(_task: Copy, gpu: Gpu) -> int:
        """Workgroups where the task says no number: one for each unit."""
        return gpu.compute_unit_count

    def kernel(self, context: Context, gpu: int, *, watched: bool) -> KernelSpec:
        return copy_kernel(context.node, gpu, self.task, self.grid.workgroups)


@dataclass(frozen=True, kw_only=True, eq=False)
class CopyByRuntime(_Copies, OnUnits[Copy]):
    """The kernel that the runtime launches for a copy within the GPU: it goes over memory, and runs
    beside kernels that have all LDS (stress test ``copy_beside_holds``).
    """

    by_host: ClassVar[bool] = True
    by_engines: ClassVar[bool] = True

    @staticmethod
    def workgroups(task: Copy, gpu: Gpu) -> int:
        """Workgroups that fill the threads of all units: of two copies of 256 MiB in two streams of
        an H200 the second begins when the first ends (suite ``h200_dma_beside``).
        """
        waves = plain_claim(gpu.compute_units, task.threads).waves
        return gpu.compute_unit_count * (gpu.compute_units.waves // waves)

    def kernel(self, context: Context, gpu: int, *, watched: bool) -> KernelSpec:
        task = StreamKernel(
            kind="stream",
            pattern="copy",
            bytes=self.task.bytes,
            threads=self.task.threads,
            registers=REGISTERS,
            loads=self.task.loads,
        )
        spec = stream_kernel(context, self.name, gpu, task, self.grid.workgroups)
        return replace(spec, claim=spec.claim._replace(lds=0.0))


def task_copies(node: Node, gpu: int, task: Copy, stream: int, streams: int) -> list[DmaCopy]:
    """A copy task as commands, of the engines of *gpu* or of the other end (*direction*); *stream*:
    the number of its stream, one of so many *streams*.
    """
    peer, parts = node.peer(gpu, task.peer), task.engines or 1
    where = {"gpu": gpu, "peer": peer, "host": HOST}
    source, destination = where[task.source], where[task.destination]
    by = {None: gpu, "push": source, "pull": destination}[task.direction]
    offset = task.peer if by == gpu else node.gpus - task.peer
    if by != gpu and task.gpus == "all":  # every GPU carries a copy of another one
        by, source, destination = (
            (end + gpu - by) % node.gpus for end in (by, source, destination)
        )
    copies = []
    for part in range(parts):
        if HOST in (source, destination):
            engine, queue = host_engine_for(node, by, part, parts, out=destination == HOST)
        elif source == destination:
            engine, queue = local_engine_for(node, by, part, parts)
        else:
            engine, queue = engine_for(node, by, offset, part, parts)
        queue = queue * streams + stream
        queue %= node.gpu.dma_engines.queues_for_streams
        copies.append(
            DmaCopy(
                by,
                engine,
                source,
                destination,
                task.bytes / parts,
                task.gpus == "all",
                queue=queue,
                mapping=task.mapping,
            )
        )
    return copies


def copy_kernel(node: Node, gpu: int, task: Copy, workgroups: int) -> KernelSpec:
    """A copy on compute units: local, or remote over links or the host link."""
    spec = node.gpu
    part = task.bytes / workgroups
    local = (task.source, task.destination) == ("gpu", "gpu")
    units = spec.compute_units
    most = inf  # tiles/s that the host's memory gives to each
    if task.source == "host":
        concurrent_readers = min(workgroups, spec.compute_unit_count)
        most = node.host.kernel_read_bandwidth / concurrent_readers / part
    own = units.copy_bandwidth if local else units.remote_bandwidth
    traffic = _copy_traffic(node, gpu, task, part)

    claim = plain_claim(units, task.threads)
    if local:
        claim = claim._replace(loads=task.threads * task.loads, stored=1.0)

    def cost(per_unit: float, concurrent: int, beside: Beside) -> TileCost:
        way = Way(own / port_share(units, per_unit, own))
        if local and units.port is not None:
            way = way_of(spec, claim, per_unit, concurrent, beside)
        moved = (2 if local else 1) * part / spec.clock.maximum
        return TileCost(_CopyRate(way, moved, most), traffic)

    managed = task.parameters == "managed"
    fault = spec.kernels.parameter_fault if managed else None
    return replace(one_per_tile(workgroups, units, claim, cost), fault=fault or 0.0)


@dataclass(frozen=True, slots=True)
class _CopyRate:
    """Workgroups per second by state; a value, so that equal workgroups have equal ones."""

    way: Way
    moved: float  # bytes times s of a cycle
    most: float  # that the host's memory gives to each

    @property
    def posts(self) -> bool:
        """True if its rate falls by less than what memory gives to loads."""
        return self.way.posts

    def __call__(self, state: GpuState) -> float:
        return min(state.clock * self.way.at(state.memory) / self.moved, self.most)


def _copy_traffic(node: Node, gpu: int, task: Copy, part: float) -> Traffic:
    """Traffic of *part* bytes of the copy."""
    if (task.source, task.destination) == ("gpu", "gpu"):
        moved = 2 * part
        return Traffic(
            l2=moved, cache=moved, hbm_read=part, hbm_write=part, inserted=moved, vector=moved
        )
    reads, writes = float(task.source == "gpu") * part, float(task.destination == "gpu") * part
    traffic = Traffic(l2=part, cache=part, hbm_read=reads, hbm_write=writes, vector=2 * part)
    if "host" in (task.source, task.destination):
        direction = "out" if task.destination == "host" else "in"
        return traffic._replace(host=((direction, part),))
    peer = node.peer(gpu, task.peer)
    source, destination = (gpu, peer) if task.source == "gpu" else (peer, gpu)
    hops = tuple((hop, part) for hop in route(node.links.topology, node.gpus, source, destination))
    if task.gpus == "all":  # the peer's copy does here what this one does there
        return traffic._replace(cache=2 * part, hbm_read=part, hbm_write=part, ports=hops)
    return traffic._replace(ports=hops, remote=((peer, part - reads, part - writes),))
