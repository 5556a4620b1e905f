"""Kernels that store into the memory of peers, or load from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.links import Hop, route
from c3sim.models.stores import kept_share, policy_cost, remote_stores, tile_time
from c3sim.processes.context import Context
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.specs.hardware import Node
from c3sim.specs.stores import Stores
from c3sim.specs.workload import Gemm


def stores_kernel(context: Context, name: str, gpu: int, task: Stores, *, fold: bool) -> KernelSpec:
    """Workgroups stay, one on a compute unit, and take the next tile from a pool; *fold*: several
    rounds of tiles may be one segment.
    """
    node, spec = context.node, context.node.gpu
    workgroups = context.shapes[name].workgroups
    tiles = workgroups if task.tile is None else max(workgroups, ceil(task.bytes / task.tile))
    traffic = _traffic(node, gpu, task, task.bytes / tiles)
    units = spec.compute_units

    def cost(_per_unit: int, concurrent: int) -> TileCost:
        time = tile_time(node, task, task.bytes / tiles, ceil(concurrent / spec.dies.count))

        def rate(state: GpuState) -> float:
            return 1.0 / max(time.issue / state.clock + time.wait, time.turn)

        if task.direction == "pull":
            return TileCost(rate, traffic)
        policy = policy_cost(remote_stores(spec), task.policy)
        return TileCost(
            rate,
            traffic._replace(stored=True, releasing=time.release, release_hold=policy.release_hold),
        )

    return KernelSpec(
        tiles=tiles,
        schedule="work_stealing",
        claim=Claim(lds=units.lds, registers=1, waves=min(units.waves, 16)),
        residents=1,
        cost=cost,
        fold_rounds=fold,
    )


def storing_gemm(context: Context, gpu: int, task: Gemm, spec: KernelSpec) -> KernelSpec:
    """*spec* of a GEMM that stores its results at peers, or makes a release behind each tile, by
    the first policy of the GPU's file. A workgroup does so once its tile is computed.

    Tiles of a round end together, so their stores come at once; while the links drain them, what
    waits behind them in the queues of the dies goes on at the share of models/stores.py.
    """
    if task.publish is None and task.results == "here":
        return spec
    node, device = context.node, context.node.gpu
    stores = remote_stores(device)
    policy = policy_cost(stores, None)
    away = (node.gpus - 1) / node.gpus if task.results == "peers" else 0.0
    release = policy.release_time if task.publish else 0.0

    def cost(per_unit: int, concurrent: int) -> TileCost:
        tile = spec.cost(per_unit, concurrent)
        stored = away * tile.traffic.hbm_write
        storing = stored * per_unit / (policy.bandwidth * device.clock.maximum)
        per_die = ceil(concurrent / device.dies.count) if policy.one_release else 0
        traffic = tile.traffic._replace(
            ports=tuple(_ports(node, gpu, range(1, node.gpus), stored).items()),
            stored=stored > 0,
            releasing=release,
            release_hold=policy.release_hold,
        )

        draining = concurrent * context.machine.port_time(traffic) if stored else 0.0
        overload = draining * per_unit / storing if storing else 0.0
        held = draining * (1.0 - kept_share(stores.local_share, overload))

        def rate(state: GpuState) -> float:
            time = 1.0 / tile.rate(state) + max(storing / state.clock, held) + release
            return 1.0 / max(time, per_die * release)

        return TileCost(rate, traffic)

    return replace(spec, cost=cost)


def _traffic(node: Node, gpu: int, task: Stores, tile: float) -> Traffic:
    """What *tile* bytes move. Every GPU does the same: what arrives here is as much as leaves."""
    pull = task.direction == "pull"
    offsets = range(1, 2 if task.peers == "one" else node.gpus)
    return Traffic(
        l2=tile,
        cache=tile,
        hbm_read=tile if pull else 0.0,
        hbm_write=0.0 if pull else tile,
        ports=tuple(_ports(node, gpu, offsets, tile, pull=pull).items()),
        vector=tile,
    )


def _ports(
    node: Node, gpu: int, offsets: Sequence[int], amount: float, *, pull: bool = False
) -> dict[Hop, float]:
    """Bytes on each port of *amount* that goes to (or comes from) peers at *offsets*."""
    drawn: dict[Hop, float] = {}
    for offset in offsets if amount else ():
        here, there = gpu, node.peer(gpu, offset)
        source, destination = (there, here) if pull else (here, there)
        for hop in route(node.links.topology, node.gpus, source, destination):
            drawn[hop] = drawn.get(hop, 0.0) + amount / len(offsets)
    return drawn
