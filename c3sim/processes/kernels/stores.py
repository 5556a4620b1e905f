"""A kernel that stores into the memory of peers, or loads from it."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from c3sim.machine.state import GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.links import Hop, route
from c3sim.models.stores import policy_cost, remote_stores, tile_time
from c3sim.processes.context import Context
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.specs.hardware import Node
from c3sim.specs.stores import Stores


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
            replace(traffic, stored=True, releasing=time.release, release_hold=policy.release_hold),
        )

    return KernelSpec(
        tiles=tiles,
        schedule="work_stealing",
        claim=Claim(lds=units.lds, registers=1, waves=min(units.waves, 16)),
        residents=1,
        cost=cost,
        fold_rounds=fold,
    )


def publishing(context: Context, spec: KernelSpec) -> KernelSpec:
    """*spec*, with a release behind each tile, by the first policy of the GPU's file."""
    gpu = context.node.gpu
    policy = policy_cost(remote_stores(gpu), None)

    def cost(per_unit: int, concurrent: int) -> TileCost:
        tile = spec.cost(per_unit, concurrent)
        per_die = ceil(concurrent / gpu.dies.count) if policy.one_release else 0
        turn = per_die * policy.release_time

        def rate(state: GpuState) -> float:
            return 1.0 / max(1.0 / tile.rate(state) + policy.release_time, turn)

        return TileCost(rate, tile.traffic)

    return replace(spec, cost=cost)


def _traffic(node: Node, gpu: int, task: Stores, tile: float) -> Traffic:
    """What *tile* bytes move. Every GPU does the same: what arrives here is as much as leaves."""
    reads, writes = (tile, 0.0) if task.direction == "pull" else (0.0, tile)
    return Traffic(
        l2=tile,
        cache=tile,
        hbm_read=reads,
        hbm_write=writes,
        ports=tuple(_ports(node, gpu, task, tile).items()),
        vector=tile,
    )


def _ports(node: Node, gpu: int, task: Stores, tile: float) -> dict[Hop, float]:
    offsets = (1,) if task.peers == "one" else range(1, node.gpus)
    drawn: dict[Hop, float] = {}
    for offset in offsets:
        ends = (gpu, node.peer(gpu, offset))
        source, destination = reversed(ends) if task.direction == "pull" else ends
        for hop in route(node.links.topology, node.gpus, source, destination):
            drawn[hop] = drawn.get(hop, 0.0) + tile / len(offsets)
    return drawn
