"""Kernels that only move memory: stream kernels and copies on compute units."""

from __future__ import annotations

from c3sim.machine import Traffic
from c3sim.models.caches import cache_share, resident_fraction
from c3sim.models.links import route
from c3sim.models.memory import ARRAYS, unit_rate
from c3sim.processes.context import Context
from c3sim.processes.dispatcher import Claim
from c3sim.processes.kernels import KernelSpec, TileCost
from c3sim.specs.workload import Copy, StreamKernel

__all__ = ["copy_kernel", "stream_kernel"]

CLAIM = Claim(lds=1.0, registers=256, waves=4)  # 256 threads, 64 registers each; no LDS to speak of


def stream_kernel(context: Context, name: str, gpu: int, task: StreamKernel) -> KernelSpec:
    """Every workgroup moves an equal part; its arrays may be in the memory-side cache at the start."""
    spec = context.node.gpu
    read, written = ARRAYS[task.pattern]
    workgroups = context.shapes[name].workgroups
    total = (read + written) * task.bytes
    part = total / workgroups
    write_share = written / (read + written)
    footprint = total

    def cost(crowd: int, together: int) -> TileCost:
        rate = unit_rate(spec, together / crowd, spec.compute_units.read_bandwidth, write_share) / crowd
        hit = 0.0
        if spec.memory_cache is not None and task.inputs == "warm":
            own = together * rate
            share = cache_share(
                spec.memory_cache.capacity, own, own + context.machine.other_insertion(name, gpu)
            )
            hit = resident_fraction(footprint, share) if footprint <= share else 0.0  # a sweep evicts what it needs
            if hit:
                ask = spec.compute_units.read_bandwidth * spec.clock.maximum / crowd
                rate = min(ask, spec.memory_cache.bandwidth / together)
        alu = task.flops_per_byte * part / (128 * spec.clock.maximum) * crowd
        moved = part * (1 - hit)
        return TileCost(
            time=max(part / rate, alu),
            traffic=Traffic(
                l2=part, cache=part, hbm_read=moved * (1 - write_share), hbm_write=moved * write_share, inserted=moved,
                core_energy=task.flops_per_byte * part * spec.energy.flop["fp32"],
            ),
        )  # fmt: skip

    return KernelSpec(tiles=workgroups, schedule="one_per_tile", claim=CLAIM, residents=8, cost=cost)


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
        if local:
            rate = unit_rate(spec, together / crowd, 2 * bound, 0.5) / 2 / crowd
            return TileCost(
                part / rate, Traffic(l2=2 * part, cache=2 * part, hbm_read=part, hbm_write=part, inserted=2 * part)
            )
        time = part * crowd / (bound * spec.clock.maximum)
        reads, writes = float(task.source == "gpu") * part, float(task.destination == "gpu") * part
        if "host" in ends:
            direction = "out" if task.destination == "host" else "in"
            return TileCost(
                time, Traffic(l2=part, cache=part, hbm_read=reads, hbm_write=writes, host=((direction, part),))
            )
        source, destination = (gpu, peer) if task.source == "gpu" else (peer, gpu)
        hops = tuple((hop, part) for hop in route(node.links.topology, node.gpus, source, destination))
        mirrored = task.gpus == "all"
        remote = () if mirrored else ((peer, part - reads, part - writes),)
        if mirrored:
            reads = writes = part
        return TileCost(
            time, Traffic(l2=part, cache=reads + writes, hbm_read=reads, hbm_write=writes, ports=hops, remote=remote)
        )

    return KernelSpec(tiles=workgroups, schedule="one_per_tile", claim=CLAIM, residents=1, cost=cost)
