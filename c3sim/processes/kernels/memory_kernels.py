"""Kernels that only move memory, or only hold compute units: stream kernels, copies, holds."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.insertion import released_of
from c3sim.models.links import route
from c3sim.models.memory import ARRAYS
from c3sim.processes.context import Context
from c3sim.processes.kernels.passes import served_passes
from c3sim.processes.kernels.residency import Claim
from c3sim.processes.kernels.spec import CostOfTile, KernelSpec, TileCost
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Copy, Hold, StreamKernel

#: A workgroup of a stream or copy kernel: 4 waves with 64 registers per lane, no LDS to speak of.
#: Estimate, as of 256 threads in TransferBench (GFX_BLOCK_SIZE): 2 to 16 waves, 32 to 128
#: registers.
CLAIM = Claim(lds=1.0, registers=4 * 64, waves=4)
#: Copy kernels are launched with a workgroup for each compute unit they may use (TransferBench:
#: subexecutors), and the rate of a unit is known for one.
COPIES_PER_UNIT = 1
#: Of the passes of a stream: so often a kernel beside others looks which of them have its lines.
PIECES = 16


def stream_kernel(context: Context, name: str, gpu: int, task: StreamKernel) -> KernelSpec:
    """Every workgroup goes over an equal part of the arrays, *passes* times.

    The first pass finds them in the shared cache if they are warm, else in HBM; later ones wherever
    they fit and their policy lets them stay (processes/kernels/passes.py). What L2 serves arrives
    at the CU's L2 rate, the rest at the rate at which it reads memory.
    """
    spec = context.node.gpu
    read, written = ARRAYS[task.pattern]
    workgroups = context.shapes[name].workgroups
    total = (read + written) * task.bytes
    part = total / workgroups
    write_share = written / (read + written)
    release = released_of(spec, task) / workgroups

    def cost(per_unit: int, concurrent: int) -> TileCost:
        units = spec.compute_units
        demanded = units.read_bandwidth * spec.clock.maximum / per_unit
        from_l2 = units.l2_bandwidth * spec.clock.maximum / per_unit
        served = served_passes(context, name, gpu, task, concurrent, per_unit)
        near = served.l1 + served.l2
        far_bytes, l2_bytes = part * (task.passes - near) + release, part * served.l2
        flops = task.flops_per_byte * part * task.passes
        vector_rate = units.flops_per_cycle["fp32"] * spec.clock.maximum
        alu = flops / vector_rate * per_unit if flops else 0.0
        moved = part * served.hbm
        l1 = part * served.l1 * per_unit / served.l1_rate if served.l1 else 0.0

        def rate(state: GpuState) -> float:
            moving = far_bytes / (demanded * state.memory) + l2_bytes / (from_l2 * state.memory)
            return state.clock / max(moving + l1, alu)

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

    kernel = _kernel(workgroups, CLAIM.fitting(spec.compute_units), cost)
    if task.passes == 1 or len(context.workload.tasks) == 1:
        return kernel
    return replace(kernel, pieces=min(task.passes, PIECES), fold_rounds=False)


def as_stream(copy: Copy) -> StreamKernel:
    """The kernel that the runtime launches for a *copy* within the GPU: it goes over memory."""
    return StreamKernel(kind="stream", pattern="copy", bytes=copy.bytes)


def runtime_copy_kernel(context: Context, name: str, gpu: int, copy: Copy) -> KernelSpec:
    """The kernel that the runtime launches for a copy within the GPU. It runs beside kernels that
    have all LDS (stress test ``copy_beside_holds``).
    """
    spec = stream_kernel(context, name, gpu, as_stream(copy))
    return replace(spec, claim=replace(CLAIM, lds=0.0))


def hold_kernel(context: Context, task: Hold) -> KernelSpec:
    """A workgroup keeps a compute unit, its LDS and waves, for *time* s at any clock."""
    unit = context.node.gpu.compute_units
    held = TileCost(rate=lambda _state: 1.0 / task.time, traffic=Traffic())
    return KernelSpec(
        tiles=task.workgroups,
        schedule="one_per_tile",
        claim=Claim(lds=unit.lds, registers=1, waves=task.waves or unit.waves),
        residents=1,
        cost=lambda _per_unit, _concurrent: held,
    )


def copy_kernel(context: Context, name: str, gpu: int, task: Copy) -> KernelSpec:
    """A copy on compute units: local, or remote over links or the host link."""
    spec, node = context.node.gpu, context.node
    workgroups = context.shapes[name].workgroups
    part = task.bytes / workgroups
    local = (task.source, task.destination) == ("gpu", "gpu")
    units = spec.compute_units
    most = inf  # tiles/s that the host's memory gives to each
    if task.source == "host":
        concurrent_readers = min(workgroups, spec.compute_unit_count)
        most = node.host.kernel_read_bandwidth / concurrent_readers / part
    unit_rate = (units.copy_bandwidth if local else units.remote_bandwidth) * spec.clock.maximum
    traffic = _copy_traffic(node, gpu, task, part)

    def cost(per_unit: int, _concurrent: int) -> TileCost:
        time = (2 if local else 1) * part * per_unit / unit_rate
        return TileCost(lambda state: min(state.clock * state.memory / time, most), traffic)

    managed = task.parameters == "managed"
    fault = spec.kernels.parameter_fault if managed else None
    return replace(_kernel(workgroups, COPIES_PER_UNIT, cost), fault=fault or 0.0)


def _copy_traffic(node: Node, gpu: int, task: Copy, part: float) -> Traffic:
    """What *part* bytes of the copy move."""
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


def _kernel(workgroups: int, residents: int, cost: CostOfTile) -> KernelSpec:
    """A workgroup per tile, of which *residents* share a compute unit."""
    return KernelSpec(
        tiles=workgroups, schedule="one_per_tile", claim=CLAIM, residents=residents, cost=cost
    )
