"""Kernels that only move memory: stream kernels and copies on compute units."""

from __future__ import annotations

from c3sim.machine import GpuState, Traffic
from c3sim.models.caches import cache_share
from c3sim.models.links import route
from c3sim.models.memory import ARRAYS
from c3sim.processes.context import Context
from c3sim.processes.dispatcher import Claim
from c3sim.processes.kernels import KernelSpec, TileCost
from c3sim.processes.warmth import surviving_share
from c3sim.specs.workload import Copy, StreamKernel

__all__ = ["copy_kernel", "stream_kernel"]

VECTOR_FLOPS = 256  # fp32 FLOP per cycle and CU of the vector units, fused multiply-add
CLAIM = Claim(lds=1.0, registers=256, waves=4)  # 256 threads, 64 registers each; no LDS to speak of


def stream_kernel(context: Context, name: str, gpu: int, task: StreamKernel) -> KernelSpec:
    """Every workgroup moves an equal part; its arrays may be in the memory-side cache at the start."""
    spec = context.node.gpu
    read, written = ARRAYS[task.pattern]
    workgroups = context.shapes[name].workgroups
    total = (read + written) * task.bytes
    part = total / workgroups
    write_share = written / (read + written)

    def cost(crowd: int, together: int) -> TileCost:
        ask = spec.compute_units.read_bandwidth * spec.clock.maximum / crowd
        missed = 1.0 - _hit_share(context, name, gpu, task, together * ask, total)
        alu = task.flops_per_byte * part / (VECTOR_FLOPS * spec.clock.maximum) * crowd
        moved = part * missed

        def rate(state: GpuState) -> float:
            return state.clock / max(part / (ask * state.memory), alu)

        return TileCost(
            rate=rate,
            traffic=Traffic(
                l2=part, cache=part, hbm_read=moved * (1 - write_share), hbm_write=moved * write_share, inserted=moved,
                core_energy=task.flops_per_byte * part * spec.energy.flop["fp32"],
            ),
        )  # fmt: skip

    return KernelSpec(tiles=workgroups, schedule="one_per_tile", claim=CLAIM, residents=8, cost=cost)


def _hit_share(
    context: Context, name: str, gpu: int, task: StreamKernel, asked: float, footprint: float
) -> float:
    """Part of the arrays that the memory-side cache serves: all of what is warm and still there, or nothing, since a
    sweep over more than fits evicts each line before it is needed.
    """
    cache = context.node.gpu.memory_cache
    if cache is None or task.inputs != "warm":
        return 0.0
    share = cache_share(cache.capacity, asked, asked + context.machine.other_insertion(name, gpu))
    return surviving_share(context, name) if footprint <= share else 0.0


def copy_kernel(context: Context, name: str, gpu: int, task: Copy) -> KernelSpec:
    """A copy on compute units: local (read and write here) or remote (over links or the host link)."""
    spec, node = context.node.gpu, context.node
    workgroups = context.shapes[name].workgroups
    part = task.bytes / workgroups
    ends = (task.source, task.destination)
    local = ends == ("gpu", "gpu")
    peer = (gpu + task.peer) % node.gpus
    bound = spec.compute_units.copy_bandwidth if local else spec.compute_units.remote_bandwidth

    def cost(crowd: int, together: int) -> TileCost:
        time = (2 if local else 1) * part * crowd / (bound * spec.clock.maximum)

        def rate(state: GpuState) -> float:
            return state.clock * state.memory / time

        if local:
            return TileCost(
                rate, Traffic(l2=2 * part, cache=2 * part, hbm_read=part, hbm_write=part, inserted=2 * part)
            )
        reads, writes = float(task.source == "gpu") * part, float(task.destination == "gpu") * part
        if "host" in ends:
            direction = "out" if task.destination == "host" else "in"
            return TileCost(
                rate,
                Traffic(l2=part, cache=part, hbm_read=reads, hbm_write=writes, host=((direction, part),)),
            )
        source, destination = (gpu, peer) if task.source == "gpu" else (peer, gpu)
        hops = tuple((hop, part) for hop in route(node.links.topology, node.gpus, source, destination))
        mirrored = task.gpus == "all"
        remote = () if mirrored else ((peer, part - reads, part - writes),)
        if mirrored:
            reads = writes = part
        return TileCost(
            rate,
            Traffic(
                l2=part, cache=reads + writes, hbm_read=reads, hbm_write=writes, ports=hops, remote=remote
            ),
        )

    return KernelSpec(tiles=workgroups, schedule="one_per_tile", claim=CLAIM, residents=1, cost=cost)
