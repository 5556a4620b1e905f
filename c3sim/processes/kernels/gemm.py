"""A GEMM as a kernel: plan, caches and memory put together into the cost of a tile."""

from __future__ import annotations

from math import hypot

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.caches import GemmTraffic, cache_share, gemm_traffic, resident_fraction
from c3sim.models.gemm import GemmPlan, plan_gemm
from c3sim.models.memory import memory_given, served_share
from c3sim.models.power import pace
from c3sim.processes.context import Context
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.processes.kernels.warm_operands import surviving_share
from c3sim.specs.hardware import Gpu
from c3sim.specs.workload import DTYPE_BYTES, Gemm


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


def _warm_bytes(context: Context, name: str, task: Gemm) -> float:
    """Operand bytes that the memory-side cache holds at the start, if they fit."""
    if not task.reads:
        operands = (task.m * task.k + task.k * task.n) * DTYPE_BYTES[task.dtype] * task.batch
        warm = float(operands) if task.inputs == "warm" else 0.0
    else:
        buffers = context.workload.buffers
        warm = sum(buffers[buffer].size for buffer in task.reads if buffers[buffer].state == "warm")
    return warm * surviving_share(context, name) if warm else 0.0


def gemm_kernel(
    context: Context, name: str, gpu: int, task: Gemm, *, fold_rounds: bool
) -> KernelSpec:
    """The kernel of *task*; a tile's cost depends on what else fills the memory-side cache when it
    starts.

    Misses to HBM come in bursts: workgroups that started together touch the same new rows and
    columns together, so all of them wait, and the burst meets a memory loaded by all of them at
    once; with several workgroups on a CU, or several stages of operands in LDS, one waits while
    another works. This is why cold operands cost a GEMM about their bytes over the memory
    bandwidth, whatever its arithmetic (github.com/ROCm/tritonBLAS @70f7484
    docs/overlap-analysis.md: 3 to 5 % at 8192^3, 4 to 10 % at 4096^3).
    """
    spec = context.node.gpu
    plan = plan_gemm(spec, task)
    element = DTYPE_BYTES[task.dtype]
    library = spec.gemm_library(task.library)
    operands = (task.m * task.k + task.k * task.n) * element * task.batch
    warm = _warm_bytes(context, name, task)
    flop_energy = spec.energy.flop[task.dtype]
    last_is_l2 = spec.memory_side_cache is None and spec.shared_cache > 0

    def cost(per_unit: int, concurrent: int) -> TileCost:
        traffic = gemm_traffic(
            task.m,
            task.n,
            task.k,
            task.batch,
            plan.tile,
            plan.split_k,
            element,
            spec.dies.count,
            concurrent,
            spec.l2.capacity / (2 * library.slice_bytes),
            plan.cluster,
        )
        compute = per_unit * plan.body + plan.prologue
        first, again = _misses(context, name, gpu, traffic, concurrent / compute, warm, operands)
        from_hbm = first + again
        moved = Traffic(
            l2=traffic.l2,
            cache=from_hbm + traffic.written if last_is_l2 else traffic.past_l2,
            hbm_read=from_hbm,
            hbm_write=traffic.written,
            core_energy=plan.flops_per_tile * flop_energy,
            inserted=from_hbm + traffic.written,
        )
        unit_rate = spec.compute_units.read_bandwidth * spec.clock.maximum
        demanded = unit_rate * library.memory_efficiency / per_unit  # B/s of a workgroup
        burst = concurrent * demanded / memory_given(spec, 0.0)
        own = concurrent * context.machine.memory_time(moved) / (compute + from_hbm / demanded)
        # the operands that come through the caches; the others are in `missing`
        feed = plan.feed * max(0.0, 1.0 - from_hbm / (traffic.l2 - traffic.written))
        clocked = plan.issue**2 / (plan.issue**2 + feed**2)

        def rate(state: GpuState) -> float:
            others = max(0.0, state.load - own * pace(clocked, state.clock))
            missing = (
                from_hbm / demanded / served_share(burst + others, spec.hbm.saturation_exponent)
            )
            busy = hypot(plan.issue / state.clock, feed / state.memory)
            working = per_unit * busy + plan.prologue / state.clock
            return 1.0 / (
                max(working, missing) + min(working, missing) / (per_unit * library.stages)
            )

        return TileCost(rate=rate, traffic=moved, clocked=clocked)

    return KernelSpec(
        tiles=plan.tiles,
        schedule=plan.schedule,
        claim=Claim(plan.lds, plan.registers, plan.waves),
        residents=plan.residents,
        cost=cost,
        setup=library.setup,
        own_tiles=library.own_tiles,
        fold_rounds=fold_rounds,
    )


def _misses(
    context: Context,
    name: str,
    gpu: int,
    traffic: GemmTraffic,
    tiles_per_second: float,
    warm: float,
    operands: float,
) -> tuple[float, float]:
    """HBM bytes per tile: operands touched for the first time, operands read again.

    The last cache that all compute units share holds what is read again: the memory-side cache, or
    the L2 of a GPU with one die. Where there is none, whatever passes L2 comes from HBM.
    """
    capacity = context.node.gpu.shared_cache
    if not capacity:
        return traffic.first_touch, max(
            0.0, traffic.past_l2 - traffic.written - traffic.first_touch
        )
    own = tiles_per_second * (traffic.first_touch + traffic.reread + traffic.written)
    others = context.machine.other_insertion(name, gpu)
    share = cache_share(capacity, own, own + others)
    kept = (
        min(warm, capacity) / operands * resident_fraction(min(warm, capacity), share)
        if warm
        else 0.0
    )
    return traffic.first_touch * (1 - kept), traffic.reread * (
        1 - resident_fraction(traffic.reuse_footprint, share)
    )
