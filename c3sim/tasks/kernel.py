"""A kernel of which only the outside is known: its bytes, FLOP, workgroups, perhaps its time.

A tile is what a workgroup does, or takes from a pool where the kernel has more tiles than
workgroups. With b bytes and f FLOP of a tile, k workgroups on a compute unit, r the rate at which a
unit reads memory (or L2) and s its part that the kernel reaches, p the rate of its matrix or vector
units and e the efficiency, n loads that wait for each other for the latency l, and h the part of
the tiles that begin together, a tile takes, alone on an idle GPU, with m = k b / (s r) and w = n l,

    max(max(m, w) + h min(m, w) / (n - 1), k f / (e p))    where no time is given, else
    t k / sum of k over the rounds                         t the time given: all rounds take it

and at least w + f / (e p), where its workgroups are counted: the waves of one wait for each other.
The first load is of arguments, the others bring the bytes. What the first of these brings all tiles
wait for at once; later on some wait while memory serves others.

With *accesses*, or *served*, b is what caches find and what they do not (models/cache_policy.py),
each at its rate.
The share c of a given time follows the clock, the rest what memory gives: c / clock + (1 - c) /
memory. It has been measured with the kernel's own load on memory, so only that of others counts.
Where no time is given, FLOP take c / clock + 1 - c times as long at a lower clock, and loads, which
are under way on its clock as far as L2, with the part a of their latency, a / clock + 1 - a.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any, ClassVar

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_lines import CacheUse, predicts, released_of
from c3sim.models.cache_policy import last_policy, moved_by, room
from c3sim.models.memory import lost_on_lines, share_beside
from c3sim.models.unit_port import Way, way_of_loads
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.processes.plan import Context, Planned, Scene
from c3sim.spec.hardware import ComputeUnits, Gpu, Node
from c3sim.spec.task import Kernel, Operator
from c3sim.tasks.kind import LAUNCH
from c3sim.tasks.on_units import MadeForOwners, TellingKind, plain_claim
from c3sim.tasks.stores import storing_kernel


def claim_of(task: Kernel, units: ComputeUnits) -> Claim:
    """Room that a workgroup needs: an equal part of a unit where *per_unit* is given."""
    if task.per_unit is None:
        plain = plain_claim(units, task.threads, task.registers)
        lds = plain.lds if task.lds is None else task.lds
        return plain._replace(lds=lds, set_aside=task.set_aside or 0.0)
    share = task.per_unit
    return Claim(
        lds=units.lds // share if task.lds is None else task.lds,  # whole: parts add up
        registers=units.registers // share,
        waves=max(1, units.waves // share),
    )


def asking(task: Kernel, room: Claim, units: ComputeUnits) -> Claim:
    """*room* with what a workgroup asks of its unit's port: *loads* where they are said, else its
    part of what its requests are against those of a stream. (Waves that wait for each other load
    only part of the time; nobody measured which.)
    """
    read, written = task.read + task.loaded_again, task.stored
    if units.port is None or task.hits != "hbm" or not read + written:
        return room
    under_way = task.loads
    if under_way is None and _by_steps(task):
        return room
    if under_way is None:
        under_way = task.stream_efficiency * units.port.under_way / max(1, room.fitting(units))
    return room._replace(loads=under_way, stored=written / read if read else inf)


def kernel_workgroups(task: Kernel, gpu: Gpu) -> int:
    """Workgroups of *task*: given, or so many for each place on the GPU."""
    residents = claim_of(task, gpu.compute_units).fitting(gpu.compute_units)
    return task.workgroups or residents * gpu.compute_unit_count * _rounds(task)


def use_of(task: Kernel, gpu: Gpu) -> CacheUse:
    """Accesses and policy of *task* in the caches of *gpu*; accesses count what takes lines."""
    evicted = None
    if task.through_caches:
        moved = moved_by(gpu, task, gpu.shared_cache)
        evicted = moved.evicted / moved.written if moved.written else 0.0
    both = task.read + task.written
    return CacheUse(
        policy=task.cache,
        stores=task.cache.stores,
        stored=task.stored,
        written=task.written / both if both else 0.0,
        reused=not predicts(gpu) or task.hits != "hbm",
        counted=task.through_caches,
        evicted=evicted,
    )


class KernelKind(TellingKind[Kernel]):
    """Kernels of any kind."""

    works: ClassVar[bool] = True

    def operator(self, task: Kernel) -> Operator | None:
        return task.operator

    def detail(self, task: Kernel) -> dict[str, Any]:
        return {"operator": task.operator}

    def use(self, task: Kernel, gpu: Gpu) -> CacheUse:
        return use_of(task, gpu)

    def stores_at_peers(self, task: Kernel) -> bool:
        return task.results == "peers"

    def workgroups(self, task: Kernel, gpu: Gpu) -> int:
        return kernel_workgroups(task, gpu)

    def events(self, _task: Kernel, _node: Node) -> float:
        return LAUNCH

    def payload(self, task: Kernel, node: Node) -> float | None:
        """The bytes read and written, without FLOP."""
        if task.flops:
            return None
        again = sum(access.bytes * (1.0 + access.again) for access in task.accesses)
        again += sum(each.l1 + each.l2 + each.cache for each in task.served[-1:])
        again += sum(each.read + each.written for each in task.served[-1:])
        return (task.read + task.written + again) * task.repeat * node.ranks

    def touched(self, task: Kernel) -> tuple[float, float]:
        read = task.read + (task.served[-1].read if task.served else 0.0)
        read += sum(access.bytes for access in task.accesses if not access.stores)
        return read * task.repeat, task.stored * task.repeat

    def resolve(self, name: str, task: Kernel, scene: Scene) -> Planned[Kernel]:
        return PlannedKernel(
            **self.placed(name, task, scene),
            tiles_at_owners=task.results == "peers",
            # it stays within its GPU, or stores at all peers alike, and every GPU has it
            foldable=task.order != "by_owner",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedKernel(MadeForOwners[Kernel]):
    """A kernel and its grid."""

    @property
    def over_memory(self) -> bool:
        """A given time has been measured with it."""
        return self.task.time is None and self.task.hits == "hbm"

    @property
    def inserted(self) -> float:
        task, gpu = self.task, self.scene.node.gpu
        if task.through_caches:
            return moved_by(gpu, task, gpu.shared_cache).inserted
        return task.read + task.written if task.hits == "hbm" else 0.0

    def kernel(self, context: Context, gpu: int, *, watched: bool) -> KernelSpec:
        groups = self.grid.workgroups
        spec = any_kernel(context, self.name, gpu, self.task, groups, fold_rounds=not watched)
        return storing_kernel(context, gpu, self.task, spec, in_step=False)


def any_kernel(
    context: Context,
    name: str,
    of_gpu: int,
    task: Kernel,
    workgroups: int,
    *,
    fold_rounds: bool = True,
) -> KernelSpec:
    """The kernel of *task*, called *name*, on GPU *of_gpu*."""
    gpu = context.node.gpu
    claim = asking(task, claim_of(task, gpu.compute_units), gpu.compute_units)
    residents = claim.fitting(gpu.compute_units)
    tiles = max(workgroups, task.tiles or 0)
    plain = _Part.of(task, gpu, tiles, _away(task, context.node))
    turns = _turns(tiles, workgroups, residents, gpu.compute_unit_count)

    def cost(per_unit: float, concurrent: int) -> TileCost:
        part = plain
        if task.through_caches:
            part = _accessing(context, name, of_gpu, task, plain, tiles, per_unit, concurrent)
        together = min(1.0, concurrent * _rounds(task) / tiles) / max(1, task.dependent_loads - 1)
        limits = _limits(task, part, per_unit, together, gpu)
        if task.time is None:
            return TileCost(rate=limits, traffic=part.traffic)
        busy = task.time * per_unit / turns
        load = concurrent * context.machine.memory_time(part.traffic, name) / busy
        follows = _clocked(task, limits.moving, limits.computing)
        measured = _Measured(busy, load, follows, gpu.hbm.saturation_exponent)
        return TileCost(rate=measured, traffic=part.traffic)

    return KernelSpec(
        tiles=tiles,
        schedule="one_per_tile" if tiles == workgroups else "work_stealing",
        claim=claim,
        residents=residents,
        cost=cost,
        closing=task.closing_loads * gpu.hbm.latency,
        fold_rounds=fold_rounds,
        fold_any_order=True,
    )


#: Workgroups for each place on the GPU of a kernel of many short ones, of which nobody counts how
#: many. Where some of the places are taken, those that find one are within 2 % of even shares.
ROUNDS = 64


def _rounds(task: Kernel) -> int:
    """Workgroups of *task*, that does not say how many it has, for each place on the GPU."""
    alike = task.workgroups is None and task.tiles is None and task.time is None
    return ROUNDS if alike and task.results == "here" and not task.awaits else 1


def _by_steps(task: Kernel) -> bool:
    """True if the waves of a workgroup wait for each other between loads and computing."""
    return _rounds(task) == 1 and task.on == "vector"


def _limits(task: Kernel, part: _Part, per_unit: float, together: float, gpu: Gpu) -> _Limits:
    """Limits of *per_unit* tiles on a unit of *gpu*; *together* of them wait for memory at once."""
    way, units = None, gpu.compute_units
    if task.loads is not None and units.port is not None:
        way = way_of_loads(units, task.loads * per_unit)
        stream = task.stream_efficiency * units.read_bandwidth
        part = replace(part, moving=part.moving * stream / way.at(1.0))
    moving = _moving(per_unit * part.moving, part.waiting, together)
    follows = gpu.hbm.clocked, 1.0 if task.clocked is None else task.clocked
    if not _by_steps(task):
        return _Limits(moving, per_unit * part.computing, follows, way=way)
    alone = part.waiting, part.computing
    return _Limits(moving, per_unit * part.computing, follows, alone, per_unit, way)


@dataclass(frozen=True, slots=True)
class _Limits:
    """Tiles per second by state, of the s that memory and those that computing take, of which the
    parts *follows* follow the clock. Of workgroups that load, compute and store step by step: of
    one *alone* the s in which it waits and computes, and how many *residents* of a unit take turns;
    none: waves go on by themselves.
    """

    moving: float
    computing: float
    follows: tuple[float, float]
    alone: tuple[float, float] = (0.0, 0.0)
    residents: float = 0.0
    way: Way | None = None  # over memory, of the workgroups on a unit; None: as memory gives

    @property
    def posts(self) -> bool:
        """True if its rate falls by less than what memory gives to loads."""
        return self.way is not None

    def __call__(self, state: GpuState) -> float:
        memory, clock = state.memory, state.clock
        if self.way is not None:
            memory = self.way.at(memory) / self.way.at(1.0)
        later, slower = (part / clock + 1.0 - part for part in self.follows)
        moving, computing = self.moving * later / memory, self.computing * slower
        longer, shorter = max(moving, computing), min(moving, computing)
        if self.residents and shorter:
            longer *= 1.0 + _queued(shorter / longer, self.residents)
        waits, computes = self.alone
        return 1.0 / max(longer, waits * later + computes * slower)


def _queued(ratio: float, customers: float) -> float:
    """Share by which so many *customers* that go round two stations are slower than the longer one
    of these; *ratio* r <= 1: time at the shorter one, against the longer.

    With exponential times r^n (1 - r) / (1 - r^n) (Buzen, Computational Algorithms for Closed
    Queueing Networks, Communications of the ACM 16, 1973). Times here are constant, and then half
    as long is waited, as in M/D/1 against M/M/1.
    """
    power = ratio**customers
    return 0.5 * (power * (1.0 - ratio) / (1.0 - power) if power < 1.0 else 1.0 / customers)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Tiles per second by state, where the time of a tile alone is given."""

    busy: float  # that time [s]
    load: float  # of all tiles that run at once on memory
    follows: float  # part of the time that follows the clock
    softness: float

    def __call__(self, state: GpuState) -> float:
        follows, softness = self.follows, self.softness
        own = self.load / (follows / state.clock + 1.0 - follows)
        memory = share_beside(state.load, own, softness) if state.load > own else 1.0
        return 1.0 / (self.busy * (follows / state.clock + (1.0 - follows) / memory))


def _away(task: Kernel, node: Node) -> float:
    """Share of what *task* stores that belongs to peers."""
    return 1.0 - 1.0 / node.gpus if task.results == "peers" else 0.0


def _moving(moved: float, waited: float, together: float) -> float:
    """Seconds in which a tile's bytes arrive: *moved* at the rate of memory, *waited* for loads
    that wait for each other. *together*: part of what is moved for which all tiles wait at once.
    """
    return max(moved, waited) + together * min(moved, waited)


def _turns(tiles: int, workgroups: int, residents: int, units: int) -> int:
    """Workgroups on a compute unit, added up over the rounds of a kernel that is alone: in the last
    round of fewer tiles there are fewer.
    """
    concurrent = min(workgroups, residents * units)
    full, rest = divmod(tiles, concurrent)
    usual = ceil(concurrent / units)
    return usual * full + (ceil(usual * rest / concurrent) if rest else 0)


def _idle(task: Kernel) -> float:
    """Bandwidth of memory that a byte of *task* takes beside itself."""
    return 1.0 / task.memory_efficiency - 1.0


def _clocked(task: Kernel, moving: float, computing: float) -> float:
    """Part of the time that follows the clock."""
    if task.clocked is not None:
        return task.clocked
    total = moving + computing
    return computing / total if total else 1.0


@dataclass(frozen=True, slots=True)
class _Part:
    """One tile: seconds alone on a compute unit at full speed, and what it moves."""

    moving: float
    computing: float
    waiting: float
    traffic: Traffic

    @classmethod
    def of(cls, task: Kernel, gpu: Gpu, tiles: int, away: float) -> _Part:
        """*away*: share of what it stores that goes to peers, at a rate of its own (stores.py)."""
        units = gpu.compute_units
        release = released_of(gpu, use_of(task, gpu)) / tiles
        read, written = task.read / tiles, task.written / tiles + release
        moved, flops = read + written, task.flops / tiles
        dtype = task.dtype if task.on == "matrix" else "fp32"
        per_cycle = units.l2_bandwidth if task.hits == "l2" else units.read_bandwidth
        peak = task.efficiency * units.flops_per_cycle[dtype] if flops else 1.0
        in_cache = task.hits == "cache" and gpu.memory_side_cache is not None
        in_l2 = task.hits == "l2" or (task.hits == "cache" and not in_cache)
        in_hbm = not (in_cache or in_l2)
        return cls(
            moving=(moved - away * written)
            / (task.stream_efficiency * per_cycle)
            / gpu.clock.maximum,
            computing=flops / peak / gpu.clock.maximum,
            waiting=task.dependent_loads * gpu.hbm.latency / _rounds(task),
            traffic=Traffic(
                l2=moved,
                cache=0.0 if in_l2 else moved,
                hbm_read=read if in_hbm else 0.0,
                hbm_write=written if in_hbm else 0.0,
                hbm_busy=moved * _idle(task) if in_hbm else 0.0,
                inserted=moved if in_hbm else 0.0,
                core_energy=flops * gpu.energy.flop.get(dtype, 0.0),
                vector=moved,
            ),
        )


def _accessing(
    context: Context,
    name: str,
    of_gpu: int,
    task: Kernel,
    plain: _Part,
    tiles: int,
    per_unit: float,
    concurrent: int,
) -> _Part:
    """*plain*, with what *task* moves as caches serve it, beside whoever runs."""
    gpu, units = context.node.gpu, context.node.gpu.compute_units
    clock, policies = gpu.clock.maximum, gpu.cache_policies
    demanded = concurrent * units.read_bandwidth * clock / per_unit
    others = context.machine.other_insertion(name, of_gpu)
    aside = context.workload.host.set_aside
    last = last_policy(gpu, task.cache)
    held = room(gpu.shared_cache, demanded, last, others, policies, aside)
    moved = moved_by(gpu, task, held)
    past_l1, of_memory = moved.l2 + moved.past_l2, moved.read + moved.written
    write_share = moved.written / of_memory if of_memory else 0.0
    lost = _idle(task) + lost_on_lines(gpu, write_share, moved.row_misses, moved.stalls)
    time = moved.l2 / units.l2_bandwidth + moved.past_l2 / units.read_bandwidth
    if moved.l1 and policies is not None:
        time += moved.l1 / policies.l1_bandwidth
    return replace(
        plain,
        moving=time / clock / task.stream_efficiency / tiles + plain.moving,
        traffic=plain.traffic._replace(
            l2=past_l1 / tiles,
            cache=moved.past_l2 / tiles,
            hbm_read=moved.read / tiles,
            hbm_write=moved.written / tiles + plain.traffic.hbm_write,
            hbm_busy=of_memory * lost / tiles + plain.traffic.hbm_busy,
            inserted=moved.inserted / tiles,
            vector=(moved.l1 + past_l1) / tiles,
        ),
    )
