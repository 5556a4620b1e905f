"""A stream kernel: it goes over its arrays, several times or once, and may compute on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.cache_lines import CacheUse, predicts, released_of
from c3sim.models.cache_policy import found_again, last_policy, room, share_of_policy
from c3sim.models.unit_port import Way
from c3sim.processes.kernels.kernel import Beside, KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.processes.plan import Context, Planned, Scene
from c3sim.spec.hardware import ComputeUnits, Gpu, Node
from c3sim.spec.workload import ARRAYS, StreamKernel
from c3sim.tasks.on_units import (
    OnUnits,
    OnUnitsKind,
    one_per_tile,
    plain_claim,
    surviving_share,
    way_of,
)

#: Looks per pass of a stream: so often a kernel beside others looks which of them have its lines.
PIECES = 16


def footprint_of(task: StreamKernel) -> float:
    """Bytes of all its arrays."""
    return sum(ARRAYS[task.pattern]) * task.bytes


def use_of(task: StreamKernel, gpu: Gpu) -> CacheUse:
    """Accesses and policy of a stream in the caches of *gpu*. A reuse predictor knows whether it
    finds lines again.
    """
    stored, size = ARRAYS[task.pattern][1] * task.bytes, footprint_of(task)
    reused = True
    if predicts(gpu):
        held = gpu.shared_cache * share_of_policy(last_policy(gpu, task.cache), gpu.cache_policies)
        reused = (task.passes > 1 or task.inputs == "warm") and size <= held
    return CacheUse(
        policy=task.cache,
        stores=task.cache.stores,
        stored=stored,
        written=stored / size,
        reused=reused,
    )


class StreamKind(OnUnitsKind[StreamKernel]):
    """Stream kernels."""

    works: ClassVar[bool] = True

    def use(self, task: StreamKernel, gpu: Gpu) -> CacheUse:
        return use_of(task, gpu)

    def payload(self, task: StreamKernel, node: Node) -> float | None:
        """The bytes read and written."""
        return footprint_of(task) * task.passes * task.repeat * node.ranks

    def touched(self, task: StreamKernel) -> tuple[float, float]:
        read, written = ARRAYS[task.pattern]
        size = task.bytes * task.passes * task.repeat
        return read * size, written * size

    def resolve(self, name: str, task: StreamKernel, scene: Scene) -> Planned[StreamKernel]:
        # it stays within its GPU, and every GPU has it
        return PlannedStream(**self.placed(name, task, scene), foldable=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedStream(OnUnits[StreamKernel]):
    """A stream kernel and its grid."""

    @property
    def over_memory(self) -> bool:
        return True

    @property
    def inserted(self) -> float:
        return footprint_of(self.task)

    def kernel(self, context: Context, gpu: int, *, watched: bool) -> KernelSpec:
        return stream_kernel(context, self.name, gpu, self.task, self.grid.workgroups)


def stream_kernel(
    context: Context, name: str, gpu: int, task: StreamKernel, workgroups: int
) -> KernelSpec:
    """Every workgroup goes over an equal part of the arrays, *passes* times.

    The first pass finds them in the shared cache if they are warm, else in HBM; later ones wherever
    they fit and their policy lets them stay. What L2 serves arrives
    at the CU's L2 rate, the rest at the rate at which it reads memory.
    """
    spec, units = context.node.gpu, context.node.gpu.compute_units
    claim = claim_of(task, units)

    def cost(per_unit: float, concurrent: int, beside: Beside) -> TileCost:
        way = way_of(spec, claim, per_unit, concurrent, beside)
        served = served_passes(context, name, gpu, task, concurrent, per_unit)
        return _pass_cost(spec, task, workgroups, per_unit, way, served)

    kernel = one_per_tile(workgroups, units, claim, cost)
    if task.passes == 1 or len(context.plan.tasks) == 1:
        return kernel
    return replace(kernel, pieces=min(task.passes, PIECES), fold_rounds=False)


def _pass_cost(
    spec: Gpu, task: StreamKernel, workgroups: int, per_unit: float, way: Way, served: Served
) -> TileCost:
    """Cost of a workgroup's part, *per_unit* of which share a unit, each with its own *way* over
    memory, of passes *served* as counted.
    """
    units, clock = spec.compute_units, spec.clock.maximum
    read, written = ARRAYS[task.pattern]
    total = (read + written) * task.bytes
    part, write_share = total / workgroups, written / (read + written)
    release = released_of(spec, use_of(task, spec)) / workgroups
    near = served.l1 + served.l2
    far_bytes, l2_bytes = part * (task.passes - near) + release, part * served.l2
    flops = task.flops_per_byte * part * task.passes
    vector_rate = units.flops_per_cycle["fp32"] * clock
    alu = flops / vector_rate * per_unit if flops else 0.0
    moved = part * served.hbm
    l1 = part * served.l1 * per_unit / served.l1_rate if served.l1 else 0.0

    stored = write_share / units.port.store_bandwidth if units.port else 0.0
    from_l2 = l2_bytes * max(1.0 / units.l2_bandwidth, stored) * per_unit / clock
    rate = _PassRate(way, far_bytes / clock, from_l2, l1, alu)
    return TileCost(
        rate=rate,
        traffic=Traffic(
            l2=part * (task.passes - served.l1) + release,
            cache=far_bytes,
            hbm_read=moved * (1 - write_share),
            hbm_write=moved * write_share + release,
            inserted=moved,
            touched=part * served.found,
            footprint=total,
            core_energy=flops * spec.energy.flop.get("fp32", 0.0),
            vector=part * task.passes,
        ),
    )


@dataclass(frozen=True, slots=True)
class _PassRate:
    """Workgroups per second by state; a value, so that equal workgroups have equal ones."""

    way: Way  # of what comes past L2
    far: float  # bytes of it times s of a cycle
    near: float  # s of what L2 serves
    l1: float  # s of what L1 does
    computing: float  # s of vector units

    @property
    def posts(self) -> bool:
        """True if its rate falls by less than what memory gives to loads."""
        return self.way.posts

    def __call__(self, state: GpuState) -> float:
        moving = self.far / self.way.at(state.memory) + self.near / state.memory
        return state.clock / max(moving + self.l1, self.computing)


def claim_of(task: StreamKernel, units: ComputeUnits) -> Claim:
    """Room of a workgroup of *task*."""
    lds = task.lds
    if lds is None:
        lds = units.lds if task.workgroups else 0.0
    read, written = ARRAYS[task.pattern]
    room = plain_claim(units, task.threads, task.registers, max(1.0, lds))
    stored = written / read if read else inf
    return room._replace(loads=task.threads * task.loads, stored=stored)


@dataclass(slots=True)
class Served:
    """Passes by the level that serves them; *l1_rate*: B/s of a compute unit from L1; *found*: of
    all, again in the last shared cache.
    """

    l1: float = 0.0
    l2: float = 0.0
    cache: float = 0.0
    hbm: float = 0.0
    l1_rate: float = 0.0
    found: float = 0.0


def served_passes(
    context: Context, name: str, gpu: int, task: StreamKernel, concurrent: int, per_unit: float
) -> Served:
    """Passes of *task* with *concurrent* workgroups on the GPU, *per_unit* of them on a unit; the
    room in a cache goes by what they demand.
    """
    spec, policies = context.node.gpu, context.node.gpu.cache_policies
    policy = task.cache
    memory_side = spec.memory_side_cache is not None
    set_aside = context.workload.host.set_aside
    footprint = sum(ARRAYS[task.pattern]) * task.bytes
    demanded = concurrent * spec.compute_units.read_bandwidth * spec.clock.maximum / per_unit
    last = last_policy(spec, policy)
    others = context.machine.other_insertion(name, gpu, footprint / demanded)
    held = room(spec.shared_cache, demanded, last, others, policies, set_aside)
    served = Served()
    again = task.passes - 1.0
    if policy.l1 == "allocate" and policies is not None:
        units = min(concurrent, spec.compute_unit_count)
        served.l1 = again * min(1.0, units * policies.l1_capacity / footprint)
        served.l1_rate = policies.l1_bandwidth * spec.clock.maximum
        again -= served.l1
    if memory_side or not spec.shared_cache:
        of_l2 = spec.dies.count * spec.l2.capacity * share_of_policy(policy.at("l2"), policies)
        served.l2 = again * found_again(footprint, of_l2, policy.at("l2"))
        again -= served.l2
    round_robin = last == "keep" and not set_aside  # all lines are equal again
    order = "allocate" if round_robin else last
    reach = policies.sweep_share if policies and order == "allocate" else 1.0
    found = again * found_again(footprint, reach * held, order) if spec.shared_cache else 0.0
    served.found = found
    warm = task.inputs == "warm" and footprint <= held
    kept = surviving_share(context, name) if warm else 0.0
    if memory_side:
        served.cache = kept + found
    else:
        served.l2 += kept + found
    served.hbm = 1.0 - kept + (again - found)
    return served
