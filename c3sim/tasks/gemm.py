"""A GEMM: what its library plans for it, and caches and memory put together into the cost of a
tile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, hypot
from typing import ClassVar

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_lines import CacheUse, results_take_lines
from c3sim.models.cache_policy import between, found_again, last_policy, operand_misses, room
from c3sim.models.caches import (
    PARTIAL_BYTES,
    GemmTraffic,
    TileOrder,
    gemm_traffic,
    resident_fraction,
)
from c3sim.models.gemm import REDUCTION_LOADS, GemmPlan, plan_gemm
from c3sim.models.links import route
from c3sim.models.memory import memory_given, served_share
from c3sim.models.unit_port import way
from c3sim.processes.kernels.dealing import usable_cluster
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim, GridShape
from c3sim.processes.plan import Context, Planned, Scene
from c3sim.spec.hardware import Gpu, Node
from c3sim.spec.task import Operator, Served
from c3sim.spec.workload import Gemm
from c3sim.tasks.kind import LAUNCH, Conditions
from c3sim.tasks.on_units import MadeForOwners, TellingKind, plain_claim, surviving_share
from c3sim.tasks.stores import storing_kernel

TILE = 256  # rows, columns, to count events by before a library has planned


class GemmKind(TellingKind[Gemm]):
    """GEMMs."""

    works: ClassVar[bool] = True

    def operator(self, _task: Gemm) -> Operator | None:
        return "gemm"

    def use(self, task: Gemm, gpu: Gpu) -> CacheUse:
        """A reuse predictor lets its operands stay."""
        evicted = None if results_take_lines(gpu, task.updates, task.accumulate) else 0.0
        return CacheUse(policy=task.cache, evicted=evicted)

    def stores_at_peers(self, task: Gemm) -> bool:
        return task.results == "peers"

    def conditions(self, task: Gemm, node: Node) -> Conditions | None:
        library = task.library or next(iter(node.gpu.gemm_libraries))
        sides = {"m": task.m, "n": task.n, "k": task.k}
        return Conditions(
            owner=f"gpu.gemm_libraries.{library}", family=f"{task.dtype} GEMM", values=sides
        )

    def touched(self, task: Gemm) -> tuple[float, float]:
        return task.input_bytes * task.repeat, task.result_bytes * task.repeat

    def events(self, task: Gemm, node: Node) -> float:
        rows, columns = task.macro_tile or (TILE, TILE)
        tiles = ceil(task.m / rows) * ceil(task.n / columns) * task.batch
        return LAUNCH + tiles / node.gpu.compute_unit_count

    def filled(self, task: Gemm, gpu: Gpu) -> Gemm:
        """Quicker by the share of places in its rounds that have no tile. Stream-K has no such
        round.
        """
        plan = plan_gemm(gpu, task)
        places = ceil(plan.tiles / gpu.compute_unit_count) * gpu.compute_unit_count
        if plan.schedule == "stream_k" or places <= plan.tiles:
            return task
        return task.changed(speed=task.speed * places / plan.tiles)

    def resolve(self, name: str, task: Gemm, scene: Scene) -> Planned[Gemm]:
        gpu, mask = scene.node.gpu, scene.mask(task.stream)
        plan, placed = plan_gemm(gpu, task), self.placed(name, task, scene)
        library = gpu.gemm_library(task.library)
        if task.launch_time is None and library.enqueue_time is not None:
            placed["call_time"] = library.enqueue_time
        workgroups = gemm_workgroups(gpu, plan, task)
        cluster = usable_cluster(gpu, mask, workgroups, plan.cluster_size)
        placed["shape"] = GridShape(workgroups, mask, cluster)
        return PlannedGemm(
            **placed,
            plan=plan,
            tiles_at_owners=task.results == "peers",
            # it stays within its GPU, or stores at all peers alike; but the owner whose tiles come
            # first is another one, seen from each GPU
            foldable=task.order != "by_owner",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedGemm(MadeForOwners[Gemm]):
    """A GEMM, its library's *plan* and its grid."""

    plan: GemmPlan

    @property
    def over_memory(self) -> bool:
        """True where memory gives operands later than the matrix units handle them."""
        task, gpu = self.task, self.scene.node.gpu
        if task.inputs == "warm":
            return False
        operands = (task.m + task.n) * task.k * task.element
        peak = gpu.compute_unit_count * gpu.compute_units.flops_per_cycle[task.dtype]
        computing = 2.0 * task.m * task.n * task.k / (peak * gpu.clock.maximum)
        return operands / gpu.hbm.bandwidth > computing

    @property
    def inserted(self) -> float:
        task = self.task
        stay = task.updates or self.use.evicted is None
        return task.input_bytes + task.result_bytes * stay

    def kernel(self, context: Context, gpu: int, *, watched: bool) -> KernelSpec:
        spec = gemm_kernel(context, self, gpu, fold_rounds=not watched)
        return storing_kernel(context, gpu, self.task, spec, in_step=True)

    def last_kernel(self, context: Context) -> KernelSpec | None:
        return reduction_kernel(context.node.gpu, self)

    def describe(self) -> dict[str, object]:
        plan = self.plan
        found: dict[str, object] = {
            "macro_tile": f"{plan.tile[0]}x{plan.tile[1]}",
            "tiles": plan.tiles,
            "split_k": plan.split_k,
            "schedule": plan.schedule,
        }
        if self.task.lines:
            found["caches"] = f"cache laboratory, {self.task.lines}"
        return found


def gemm_workgroups(gpu: Gpu, plan: GemmPlan, task: Gemm) -> int:
    """Grid size: a workgroup per tile, or for schedules that stay as many as the empty machine has
    room for, one per compute unit that clusters can use. Whole clusters always.
    """
    if plan.schedule == "one_per_tile":
        return plan.tiles
    size = plan.cluster_size
    room = gpu.dies.count * sum(units // size * size for units in gpu.dies.shader_engines)
    wanted = -(-task.workgroups // size) * size if task.workgroups else room
    if plan.schedule == "stream_k":
        return wanted
    return min(plan.tiles, wanted)


def gemm_kernel(
    context: Context, planned: PlannedGemm, gpu: int, *, fold_rounds: bool
) -> KernelSpec:
    """The kernel of a GEMM on *gpu*."""
    spec, task, plan = context.node.gpu, planned.task, planned.plan
    library = spec.gemm_library(task.library)
    lds = max(plan.lds, task.lds or 0.0)
    return KernelSpec(
        tiles=plan.tiles,
        schedule=plan.schedule,
        claim=Claim(lds, plan.registers, plan.waves),
        residents=min(plan.residents, int(spec.compute_units.lds // lds)),
        cost=_Tiles(context, planned.name, gpu, task, plan).cost,
        setup=library.setup,
        own_tiles=library.own_tiles,
        fold_rounds=fold_rounds,
    )


def reduction_kernel(spec: Gpu, planned: PlannedGemm) -> KernelSpec | None:
    """The kernel that adds the partial sums of a split, where the library launches one.

    Every compute unit has one workgroup. It reads its part of the partial sums, from the shared
    cache if they fit there, and writes its part of C, after loads that wait for each other.
    """
    task, plan, workgroups = planned.task, planned.plan, planned.grid.workgroups
    if plan.split_k == 1 or spec.gemm_library(task.library).reduction is None:
        return None
    results = task.m * task.n * task.batch / workgroups
    read, written = results * plan.split_k * PARTIAL_BYTES, results * task.result_element
    kept = read * workgroups <= spec.shared_cache
    units = spec.compute_units
    per_cycle = units.l2_bandwidth if kept else units.read_bandwidth
    rate = per_cycle * spec.clock.maximum
    traffic = Traffic(
        l2=read + written,
        cache=written if kept else read + written,
        hbm_read=0.0 if kept else read,
        hbm_write=written,
        inserted=written,
        vector=read + written,
    )

    waiting, claim = REDUCTION_LOADS * spec.hbm.latency, plain_claim(units)

    def cost(per_unit: float, _concurrent: int) -> TileCost:
        time = per_unit * (read + written) / rate
        return TileCost(_ReductionRate(waiting, time), traffic)

    return KernelSpec(
        tiles=workgroups,
        schedule="one_per_tile",
        claim=claim,
        residents=claim.fitting(units),
        cost=cost,
    )


@dataclass(frozen=True, slots=True)
class _ReductionRate:
    """Tiles per second of a workgroup by state, of the s that wait and those that follow memory."""

    waiting: float
    moving: float

    def __call__(self, state: GpuState) -> float:
        return 1.0 / (self.waiting + self.moving / (state.clock * state.memory))


@dataclass(frozen=True, slots=True)
class _TileRate:
    """Tiles per second of a workgroup by state; a value, so that equal tiles have equal ones."""

    per_unit: float
    issue: float  # s of the matrix units at full clock
    feed: float  # s of the operands that come through the caches, at full clock
    clocked: float  # share of that which follows the clock
    loop: float  # s in which slices follow each other at the soonest, at full clock
    prologue: float  # s at full clock, of what each tile needs
    epilogue: float  # s in which its results leave, once they are there
    waiting: float  # s of what comes from memory, when nobody else asks for any
    first: float  # s per tile of what of the first one no other tile's loads hide
    opening: float  # s per tile of what comes before the first one, and behind the last one
    share: float  # of the tiles that are a workgroup's first
    turn: float  # s in which the results of a tile leave beside the next one
    burst: float  # load of memory by workgroups that started together
    asked: float  # s of all that memory gives, of what runs at once
    storing: float  # s in which the unit's port lets the results through
    hidden: float  # how many times as much is under way as is waited for
    softness: float
    speed: float
    posts: bool  # what it asks memory for is what it loads, whatever that takes

    def __call__(self, state: GpuState) -> float:
        clock, load, through = state.clock, state.load, state.through
        per_unit, waiting = self.per_unit, self.waiting
        begin = (self.prologue + per_unit * self.epilogue) / clock
        issue = self.issue / clock
        feed = (
            self.feed * (self.clocked / clock + 1.0 - self.clocked) if self.clocked else self.feed
        )
        loop, paced = self.loop / clock, per_unit * hypot(issue, feed)
        alone = (paced if paced > loop else loop) + begin
        others = load - self.asked / (alone + waiting)
        burst = self.burst + (others if others > 0.0 else 0.0)
        missing = waiting / served_share(burst, self.softness)
        working = per_unit * hypot(issue, feed / through) + begin
        begun = missing + self.first / clock
        turned = (working + self.turn / clock) / 2.0  # the first tile has none beside
        pace = turned if turned > working else working
        time = max(pace, begun, loop + begin)
        time += (missing if missing < working else working) / self.hidden
        time += self.opening / clock - self.share * (pace - working)
        # stores are posted: memory slows none of them until it is full
        return self.speed / max(time, per_unit * self.storing / clock)


class _Tiles:
    """Cost of a tile of *task*; it depends on what else fills the shared cache when it starts.

    Misses to HBM come in bursts: workgroups that started together touch the same new rows and
    columns together, so all of them wait, and the burst meets a memory loaded by all of them at
    once. With several workgroups on a CU, or several stages of operands in LDS, one waits while
    another works. This is why cold operands cost a GEMM about their bytes over the memory
    bandwidth, whatever its arithmetic (github.com/ROCm/tritonBLAS @70f7484
    docs/overlap-analysis.md: 3 to 5 % at 8192^3, 4 to 10 % at 4096^3).
    """

    def __init__(self, context: Context, name: str, gpu: int, task: Gemm, plan: GemmPlan):
        self.context, self.name, self.gpu, self.task, self.plan = context, name, gpu, task, plan
        self.spec = context.node.gpu
        self.library = self.spec.gemm_library(task.library)
        self.operands, self.results = task.input_bytes, task.result_bytes
        self.results_stay = results_take_lines(self.spec, task.updates, task.accumulate)
        self.warm = self._warm_bytes()
        self.set_aside = context.workload.host.set_aside
        self.served: tuple[Served, ...] = ()
        if task.lines:
            self.served = self._followed()
        # bandwidth of memory that a byte takes beside itself: rows of a tile are far apart
        self.ported = self.spec.compute_units.port is not None
        self.idle = 1.0 / self.library.memory_efficiency - 1.0 if self.ported else 0.0
        self.apart = 1.0 / self.library.results_efficiency - 1.0
        energy = self.spec.energy
        self.flop_energy = energy.flop[task.dtype] * energy.operands.get(task.data, 1.0)

    def cost(self, per_unit: float, concurrent: int) -> TileCost:
        """Cost of a tile with *per_unit* workgroups on its CU and *concurrent* ones on the GPU."""
        task, spec, plan = self.task, self.spec, self.plan
        traffic = self._past_caches(concurrent)
        prologue, opening = (0.0, plan.prologue) if plan.epilogue else (plan.prologue, 0.0)
        behind, beside = (0.0, plan.epilogue) if plan.alternate else (plan.epilogue, 0.0)
        compute = per_unit * (plan.body + behind) + prologue
        first = min(1.0, concurrent / plan.tiles)  # share of the tiles that are a first one
        operands = sum(self._misses(traffic, concurrent / compute))
        added_to = self.results / plan.tiles if task.accumulate else 0.0
        from_hbm = operands
        if added_to:
            from_hbm += added_to * (1.0 - self._kept(traffic, concurrent / compute))
        moved = self._moved(traffic, from_hbm, added_to)
        demanded, given = self._asked(per_unit), memory_given(spec, 0.0) / (1.0 + self.idle)
        burst = concurrent * demanded / given
        memory_time = self.context.machine.memory_time(moved, self.name)
        # the operands that come through the caches; the others are in `missing`
        feed = plan.feed * max(0.0, 1.0 - operands / (traffic.l2 - traffic.written))
        rate = _TileRate(
            per_unit=per_unit,
            issue=plan.issue,
            feed=feed,
            clocked=plan.clocked,
            loop=plan.loop,
            prologue=prologue,
            epilogue=behind,
            waiting=from_hbm / demanded,
            first=first * (prologue + behind) if self.ported else 0.0,
            opening=first * (opening + beside),
            share=first,
            turn=beside,
            burst=burst,
            asked=task.speed * concurrent * memory_time,
            storing=self._storing(traffic.written),
            hidden=per_unit * plan.stages,
            softness=spec.hbm.saturation_exponent,
            speed=task.speed,
            posts=self.ported,
        )
        return TileCost(rate=rate, traffic=moved)

    def _asked(self, per_unit: float) -> float:
        """B/s that a workgroup asks memory for: where a unit's port is described, with its stages
        of operands under way; else the part of a stream that it was fitted to.
        """
        units, clock = self.spec.compute_units, self.spec.clock.maximum
        if units.port is None:
            return self.library.memory_efficiency * units.read_bandwidth * clock / per_unit
        loads = min(units.lds, per_unit * self.plan.lds)
        return way(units, loads, 0.0).loads * clock / per_unit

    def _storing(self, written: float) -> float:
        """Seconds in which *written* bytes leave a compute unit at full clock."""
        rate = self.spec.compute_units.store_bandwidth
        return written / rate / self.spec.clock.maximum if rate else 0.0

    def _past_caches(self, concurrent: int) -> GemmTraffic:
        task, spec, plan = self.task, self.spec, self.plan
        shape, l2_rows = (task.m, task.n, task.k), spec.l2.capacity / (2 * self.library.slice_bytes)
        tiling = (task.batch, plan.tile, plan.split_k, (task.element, task.result_element))
        run = (spec.dies.count, concurrent, l2_rows, plan.cluster)
        traffic = gemm_traffic(*shape, *tiling, *run, self._known_memory(), self._order())
        traffic = traffic.in_the_mean(self._whole_tiles / plan.tiles)
        if not self.served:
            return traffic
        past = (self.served[-1].cache + self.served[-1].read) / plan.tiles
        return replace(traffic, past_l2=past + traffic.written)

    @property
    def _whole_tiles(self) -> int:
        """Tiles that have operands: without those that a cluster or an expert's rows pad."""
        (tall, wide), task = self.plan.tile, self.task
        return ceil(task.m / tall) * ceil(task.n / wide) * task.batch * self.plan.split_k

    def _followed(self) -> tuple[Served, ...]:
        """Bytes by place, counted line by line: order and tiles are those of the formulas."""
        task, plan = self.task, self.plan
        together = min(plan.tiles, plan.residents * self.spec.compute_unit_count)
        from c3sim.cachelab.gemm import Tiled, served_gemm  # numpy
        from c3sim.cachelab.machine import machine_of

        tiled = Tiled(
            *(task.m, task.n, ceil(task.k / plan.split_k), task.element, task.result_element),
            times=task.batch * plan.split_k,
            tile=plan.tile,
            part=max(1, round(self.library.slice_bytes / task.element)),
            group=self._past_caches(together).group,
            cluster=plan.cluster,
            residents=plan.residents,
        )
        machine = machine_of(self.context.node, task.dtype)
        return served_gemm(tiled, machine, task.lines or "past_l1", alike=not task.rows)

    def _order(self) -> TileOrder:
        if self.library.tile_order != "rows":
            return "best"
        return "lists" if self.plan.schedule == "stream_k" else "rows"

    def _known_memory(self) -> tuple[float, float] | None:
        """Memory as the library's order of tiles assumes it: models/caches.py."""
        cache = self.spec.memory_side_cache
        if self.library.tile_order != "memory" or cache is None:
            return None
        return cache.capacity, cache.bandwidth / memory_given(self.spec, 0.0)

    def _moved(self, traffic: GemmTraffic, from_hbm: float, added_to: float) -> Traffic:
        """Traffic of a tile, *from_hbm* bytes of it from HBM; *added_to*: bytes of C it reads."""
        last_is_l2 = self.spec.memory_side_cache is None and self.spec.shared_cache > 0
        cost = self.spec.hbm.update_cost if self.task.updates else 1.0
        forwarded = traffic.written * self.task.forwarded
        node, here = self.context.node, self.gpu
        way = route(node.links.topology, node.gpus, here, node.peer(here, 1)) if forwarded else ()
        return Traffic(
            l2=traffic.l2 + added_to,
            cache=from_hbm + traffic.written if last_is_l2 else traffic.past_l2 + added_to,
            hbm_read=from_hbm,
            hbm_write=traffic.written,  # as much arrives as is forwarded
            hbm_busy=(cost - 1.0 + self.apart) * traffic.written + from_hbm * self.idle,
            ports=tuple((hop, forwarded) for hop in way),
            core_energy=self.plan.flops_per_tile * self.flop_energy,
            inserted=from_hbm + traffic.written * self.results_stay,
        )

    def _misses(self, traffic: GemmTraffic, tiles_per_second: float) -> tuple[float, float]:
        """HBM bytes per tile: operands touched for the first time, operands read again.

        The last cache that all compute units share holds what is read again: the memory-side cache,
        or the L2 of a GPU with one die. Where there is none, whatever passes L2 comes from HBM.
        """
        capacity = self.spec.shared_cache
        if not capacity:
            again = traffic.past_l2 - traffic.written - traffic.first_touch
            return traffic.first_touch, max(0.0, again)
        share = self._room(traffic, tiles_per_second)
        kept = self.warm / self.operands * self._found_warm(share) if self.warm else 0.0
        if self.task.reused:
            again = self.task.reused / self.operands * self._kept(traffic, tiles_per_second)
            kept = min(1.0, kept + again)
        if self.served:
            read = between(self.served, share).read / self.plan.tiles
            return traffic.first_touch * (1 - kept), max(0.0, read - traffic.first_touch)
        how = self.task.cache.operands()
        missing = operand_misses(
            traffic.again, share, self._operand_bytes(), how, self.spec, self.set_aside
        )
        return traffic.first_touch * (1 - kept), missing

    def _found_warm(self, share: float) -> float:
        """Part of the warm operands that a *share* [bytes] of the cache still holds. An L2 evicts
        in order of use, so a sweep over more than its reach finds nothing again.
        """
        policies = self.spec.cache_policies
        if self.spec.memory_side_cache is None and policies is not None:
            reach = policies.sweep_share * share
            return found_again(self.operands, reach, "allocate")
        return resident_fraction(min(self.warm, self.spec.shared_cache), share)

    def _operand_bytes(self) -> tuple[float, float]:
        task = self.task
        return float(task.m * task.k * task.element), float(task.k * task.n * task.element)

    def _room(self, traffic: GemmTraffic, tiles_per_second: float) -> float:
        """Bytes of the last shared cache that the GEMM holds."""
        results = traffic.written if self.results_stay else 0.0
        own = tiles_per_second * (traffic.first_touch + traffic.reread + results)
        others = self.context.machine.other_insertion(self.name, self.gpu)
        if self.spec.l2.keeps_results and self.spec.memory_side_cache is None:
            others = others._replace(usual=others.usual + tiles_per_second * results)
            own -= tiles_per_second * results
        policy, policies = last_policy(self.spec, self.task.cache), self.spec.cache_policies
        return room(self.spec.shared_cache, own, policy, others, policies, self.set_aside)

    def _kept(self, traffic: GemmTraffic, tiles_per_second: float) -> float:
        """Part of what the GEMM before it has just touched that is still in the shared cache: all
        that one of the two goes through must fit.
        """
        if not self.spec.shared_cache:
            return 0.0
        touched = self.operands + self.results * (self.results_stay or self.task.updates)
        return resident_fraction(touched, self._room(traffic, tiles_per_second))

    def _warm_bytes(self) -> float:
        """Operand bytes that the shared cache holds at the start, if they fit."""
        task, buffers = self.task, self.context.workload.buffers
        if not task.reads:
            warm = float(self.operands) if task.inputs == "warm" else 0.0
        else:
            warm = sum(buffers[name].size for name in task.reads if buffers[name].state == "warm")
        return warm * surviving_share(self.context, self.name) if warm else 0.0
