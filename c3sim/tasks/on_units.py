"""Tasks that are kernels: launched on compute units, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, ClassVar, TypeVar

from c3sim.models.cache_lines import insertion_parts
from c3sim.models.cache_policy import share_of_policy
from c3sim.models.stores import flag_latency
from c3sim.models.tile_order import Groups, groups_of, share_behind
from c3sim.models.unit_port import Company, Way, lines_beside, under_way, way
from c3sim.processes.kernels.kernel import ALONE, Beside, CostBeside, Kernel, KernelSpec
from c3sim.processes.kernels.residency import Claim, GridShape
from c3sim.processes.plan import Context, Planned, Scene, Turn
from c3sim.processes.signals import Callback
from c3sim.processes.tiles import Tiles
from c3sim.spec.hardware import ComputeUnits, Gpu, Node
from c3sim.spec.task import AtOwners, Stores, TaskBase
from c3sim.spec.task import Kernel as AnyKernel
from c3sim.spec.workload import After, Gemm, Hold, StreamKernel
from c3sim.tasks.kind import LAUNCH, RESIDENT, Kind

T_co = TypeVar("T_co", bound=TaskBase, covariant=True)
OnUnit = TypeVar("OnUnit", bound=Gemm | AnyKernel | StreamKernel | Stores | Hold)
Telling = TypeVar("Telling", bound=Gemm | AnyKernel | Stores)

#: Threads of a workgroup of a kernel that does not say how many share a unit, and registers of
#: each. Estimate: kernels of frameworks have 128 to 1024 threads of 32 to 128 registers.
THREADS, REGISTERS = 512, 64


def plain_claim(
    units: ComputeUnits, threads: int = THREADS, registers: int = REGISTERS, lds: float = 1.0
) -> Claim:
    """Room of a workgroup of so many *threads*, of so many *registers* each."""
    waves = max(1, threads // units.wave_lanes)
    return Claim(lds=lds, registers=waves * registers, waves=waves)


class OnUnitsKind(Kind[OnUnit]):
    """A kind whose tasks are kernels: workgroups on compute units."""

    def workgroups(self, task: OnUnit, gpu: Gpu) -> int:
        """Workgroups of its grid; where none are given, one for each compute unit."""
        return task.workgroups or gpu.compute_unit_count

    def events(self, task: OnUnit, node: Node) -> float:
        return LAUNCH + (task.workgroups or 0) / (node.gpu.compute_unit_count * RESIDENT)

    def placed(self, name: str, task: OnUnit, scene: Scene) -> dict[str, Any]:
        shape = GridShape(self.workgroups(task, scene.node.gpu), scene.mask(task.stream))
        return {**super().placed(name, task, scene), "shape": shape, "awaits": task.awaited}


class TellingKind(OnUnitsKind[Telling]):
    """A kind whose kernels tell others of their tiles, by releases and flags."""

    def placed(self, name: str, task: Telling, scene: Scene) -> dict[str, Any]:
        seen = flag_latency(scene.node.gpu, task.publish, task.flags)
        return {**super().placed(name, task, scene), "flag_latency": seen}


@dataclass(frozen=True, kw_only=True, eq=False)
class OnUnits(Planned[T_co]):
    """A kernel, or two behind each other."""

    occupies: ClassVar[bool] = True
    """whether it uses compute units one after the other with others of its like"""

    def kernel(self, context: Context, gpu: int, *, watched: bool) -> KernelSpec:
        """The kernel on *gpu*; *watched*: others wait for parts of its tiles."""
        raise NotImplementedError

    def last_kernel(self, _context: Context) -> KernelSpec | None:
        """The kernel behind it, whose tiles are the results; None: there is none."""
        return None

    def describe(self) -> dict[str, object]:
        """The decisions made for it, for the result."""
        return {}

    @property
    def grid(self) -> GridShape:
        """Grid of the kernel."""
        assert self.shape is not None
        return self.shape

    @property
    def resource(self) -> tuple[Hashable, float] | None:
        """Compute units: workgroups over rounds times units, so that small grids may run side by
        side.
        """
        units, groups = self.scene.node.gpu.compute_unit_count, self.grid.workgroups
        return ("compute_units", groups / (-(-groups // units) * units)) if self.occupies else None

    def start(self, context: Context, turn: Turn) -> None:
        """Launch it, and what runs behind it."""
        tiles, gpu = context.part(Tiles), turn.gpu
        spec = self.kernel(context, gpu, watched=tiles.watched(self.name))
        if spec.parts or self.awaits:  # in the order of their tiles
            pooled = "one_per_tile" if spec.schedule == "one_per_tile" else "work_stealing"
            spec = replace(spec, schedule=pooled, fold_rounds=False)
        last = self.last_kernel(context)
        turn.detail.update(self.describe())
        tiles.begin(self.name, gpu)
        done = partial(context.after, turn.latencies.completion, turn.done)
        tiles_done = partial(tiles.finished, self.name, gpu)
        launch = partial(self._launch, context, gpu)
        if last is None:
            first = partial(launch, spec, turn.started, tiles_done, done)
        else:  # its tiles are results, those of the first kernel are not
            second = partial(launch, last, nothing, tiles_done, done)
            follow = partial(context.after, context.node.gpu.kernels.gap, second)
            first = partial(launch, spec, turn.started, _no_time, follow)
        context.after(spec.setup + turn.latencies.dispatch, first)

    def _launch(
        self,
        context: Context,
        gpu: int,
        spec: KernelSpec,
        started: Callback,
        tiles_done: Callable[[float], float],
        done: Callback,
    ) -> None:
        """One kernel; *tiles_done(share)* as its tiles finish: seconds in which one of its
        workgroups posts packets.
        """
        Kernel(
            context,
            self.name,
            gpu,
            spec,
            started=started,
            progressed=lambda tiles: tiles_done(tiles / spec.tiles),
            done=done,
            awaited=context.part(Tiles).awaited(self.awaits, gpu),
        ).launch()


A_co = TypeVar("A_co", bound=AtOwners, covariant=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeForOwners(OnUnits[A_co]):
    """A kernel whose tiles belong to GPUs, and come in an order by them."""

    def tile_groups(self, gpu: int) -> Groups:
        gpus = self.scene.node.gpus
        return groups_of(self.task.order, gpu % gpus, gpus)

    def share(self, after: After) -> float:
        if after.peer is None:
            return super().share(after)
        return share_behind(self.tile_groups(0), after.peer) / self.task.repeat


def nothing(*_: object) -> None:
    """Nobody waits for this."""


def _no_time(_share: float) -> float:
    """Nobody waits for these tiles, and so nothing is posted behind them."""
    return 0.0


def port_share(units: ComputeUnits, per_unit: float, own: float) -> float:
    """The slowdown of a workgroup beside its like, against alone on its unit: each has at
    most its *own* rate [B/cycle], what it keeps in flight by the latency, and an equal part of the
    unit's port to L2.
    """
    return max(1.0, per_unit * own / max(own, units.l2_bandwidth))


def way_of(gpu: Gpu, claim: Claim, per_unit: float, concurrent: int, beside: Beside) -> Way:
    """The way over memory of a workgroup of a stream with *claim*, beside its like: *concurrent*,
    *per_unit* on each unit, and *beside* others.
    """
    units = gpu.compute_units
    if units.port is None:
        return Way(units.read_bandwidth / port_share(units, per_unit, units.read_bandwidth))
    asked, stored, company = claim.loads * per_unit, claim.stored, beside.company
    claimed = max(beside.lds, claim.lds * per_unit)
    lines = under_way(gpu, asked + company.loads, claimed)
    loads, others = lines_beside(lines, asked, claim.waves * per_unit, company)
    part = others / company.loads if company.loads else 0.0
    company = Company(others, part * company.stored)
    of_unit = way(units, loads, stored, asked, company)
    each = gpu.compute_unit_count / concurrent
    most = units.read_bandwidth * each
    if stored == inf:
        return Way(inf, min(of_unit.out / per_unit, most))
    return Way(of_unit.loads / per_unit, of_unit.out / per_unit, most, of_unit.softness)


def one_per_tile(
    workgroups: int, units: ComputeUnits, claim: Claim, cost: CostBeside
) -> KernelSpec:
    """A stream or copy kernel with a workgroup per tile."""
    return KernelSpec(
        tiles=workgroups,
        schedule="one_per_tile",
        claim=claim,
        residents=claim.fitting(units),
        cost=lambda per_unit, concurrent: cost(per_unit, concurrent, ALONE),
        beside=cost,
    )


def surviving_share(context: Context, name: str) -> float:
    """Part of what task *name* left in the last shared cache that is there at its next start.

    ``warm`` says that the workload runs in a loop on the same buffers. A task then finds its
    operands where the last iteration left them, less what all others have pulled through the cache
    since: with V bytes inserted by the other tasks of an iteration and a capacity C, the share
    max(0, 1 - V/C) survives. (Measured: a GEMM that runs after a collective, not beside it, is
    6.5 % slower than in a loop of its own, github.com/ROCm/tritonBLAS @3b84da4
    results/experiment_log.json, exp_007.)
    """
    gpu = context.node.gpu
    capacity = gpu.shared_cache
    if not capacity:
        return 0.0
    sharing = context.machine.beside(name, "cache")
    usual, streaming = 0.0, 0.0
    for other, task in context.plan.tasks.items():
        if other == name or not sharing(other):
            continue
        inserted, parts = task.inserted, insertion_parts(gpu, task.use)
        usual, streaming = usual + inserted * parts.usual, streaming + inserted * parts.streaming
    others = usual + min(streaming, capacity * share_of_policy("stream", gpu.cache_policies))
    return max(0.0, 1.0 - others / capacity)
