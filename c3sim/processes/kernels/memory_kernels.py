"""Kernels that only move memory, or only hold compute units: stream kernels, copies, holds."""

from __future__ import annotations

from math import inf

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.caches import cache_share, serving_level
from c3sim.models.links import route
from c3sim.models.memory import ARRAYS
from c3sim.processes.context import Context
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.processes.kernels.warm_operands import surviving_share
from c3sim.specs.workload import Copy, Hold, StreamKernel

CLAIM = Claim(lds=1.0, registers=256, waves=4)  # 256 threads, 64 registers each; no LDS to speak of


def stream_kernel(context: Context, name: str, gpu: int, task: StreamKernel) -> KernelSpec:
    """Every workgroup goes over an equal part of the arrays, *passes* times.

    The first pass finds them in the shared cache if they are warm, else in HBM; later ones wherever
    they fit. What L2 serves arrives at the CU's L2 rate, the rest at the rate at which it reads
    memory.
    """
    spec = context.node.gpu
    read, written = ARRAYS[task.pattern]
    workgroups = context.shapes[name].workgroups
    total = (read + written) * task.bytes
    part = total / workgroups
    write_share = written / (read + written)

    def cost(crowd: int, together: int) -> TileCost:
        units = spec.compute_units
        ask = units.read_bandwidth * spec.clock.maximum / crowd
        near = units.l2_bandwidth * spec.clock.maximum / crowd
        passes = _passes(context, name, gpu, task, together * ask, total)
        past_l2, near_l2 = part * (task.passes - passes["l2"]), part * passes["l2"]
        flops = task.flops_per_byte * part * task.passes
        alu = flops / (units.flops_per_cycle["fp32"] * spec.clock.maximum) * crowd if flops else 0.0
        moved = part * passes["hbm"]

        def rate(state: GpuState) -> float:
            return state.clock / max(
                past_l2 / (ask * state.memory) + near_l2 / (near * state.memory), alu
            )

        return TileCost(
            rate=rate,
            traffic=Traffic(
                l2=part * task.passes,
                cache=past_l2,
                hbm_read=moved * (1 - write_share),
                hbm_write=moved * write_share,
                inserted=moved,
                core_energy=flops * spec.energy.flop.get("fp32", 0.0),
                vector=part * task.passes,
            ),
        )

    return KernelSpec(
        tiles=workgroups, schedule="one_per_tile", claim=CLAIM, residents=8, cost=cost
    )


def _passes(
    context: Context, name: str, gpu: int, task: StreamKernel, asked: float, footprint: float
) -> dict[str, float]:
    """How many passes each level serves. *asked*: B/s that the kernel asks of memory; a share of
    the cache goes by it.
    """
    spec = context.node.gpu
    served = {"l2": 0.0, "cache": 0.0, "hbm": 0.0}
    others = context.machine.other_insertion(name, gpu)
    share = cache_share(spec.shared_cache, asked, asked + others)
    side, own = (
        (share, spec.l2.capacity)
        if spec.memory_side_cache is not None
        else (0.0, share or spec.l2.capacity)
    )
    shared = "cache" if spec.memory_side_cache is not None else "l2"
    kept = surviving_share(context, name) if task.inputs == "warm" and footprint <= share else 0.0
    served[shared] += kept
    served["hbm"] += 1.0 - kept
    served[serving_level(footprint, spec.dies.count, own, side)] += task.passes - 1.0
    return served


def hold_kernel(context: Context, task: Hold) -> KernelSpec:
    """Every workgroup takes a compute unit with all its LDS and waves and keeps it for *time* s,
    whatever the clock.
    """
    unit = context.node.gpu.compute_units
    held = TileCost(rate=lambda _state: 1.0 / task.time, traffic=Traffic(), clocked=0.0)
    claim = Claim(lds=unit.lds, registers=1, waves=unit.waves)
    return KernelSpec(
        tiles=task.workgroups,
        schedule="one_per_tile",
        claim=claim,
        residents=1,
        cost=lambda _crowd, _together: held,
    )


def copy_kernel(context: Context, name: str, gpu: int, task: Copy) -> KernelSpec:
    """A copy on compute units: local (read and write here) or remote (over links or the host link)."""
    spec, node = context.node.gpu, context.node
    workgroups = context.shapes[name].workgroups
    part = task.bytes / workgroups
    ends = (task.source, task.destination)
    local = ends == ("gpu", "gpu")
    peer = node.peer(gpu, task.peer)
    bound = spec.compute_units.copy_bandwidth if local else spec.compute_units.remote_bandwidth
    abreast = min(workgroups, spec.compute_unit_count)  # that share what can be read of the host
    most = node.host.kernel_read_bandwidth / abreast / part if task.source == "host" else inf

    def cost(crowd: int, together: int) -> TileCost:
        time = (2 if local else 1) * part * crowd / (bound * spec.clock.maximum)

        def rate(state: GpuState) -> float:
            return min(state.clock * state.memory / time, most)

        if local:
            moved = 2 * part
            return TileCost(
                rate,
                Traffic(
                    l2=moved,
                    cache=moved,
                    hbm_read=part,
                    hbm_write=part,
                    inserted=moved,
                    vector=moved,
                ),
            )
        reads, writes = float(task.source == "gpu") * part, float(task.destination == "gpu") * part
        if "host" in ends:
            direction = "out" if task.destination == "host" else "in"
            return TileCost(
                rate,
                Traffic(
                    l2=part,
                    cache=part,
                    hbm_read=reads,
                    hbm_write=writes,
                    host=((direction, part),),
                    vector=2 * part,
                ),
            )
        source, destination = (gpu, peer) if task.source == "gpu" else (peer, gpu)
        hops = tuple(
            (hop, part) for hop in route(node.links.topology, node.gpus, source, destination)
        )
        mirrored = task.gpus == "all"
        remote = () if mirrored else ((peer, part - reads, part - writes),)
        if mirrored:
            reads = writes = part
        return TileCost(
            rate,
            Traffic(
                l2=part,
                cache=reads + writes,
                hbm_read=reads,
                hbm_write=writes,
                ports=hops,
                remote=remote,
                vector=2 * part,
            ),
        )

    return KernelSpec(
        tiles=workgroups, schedule="one_per_tile", claim=CLAIM, residents=1, cost=cost
    )
