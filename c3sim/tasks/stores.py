"""Kernels that store into the memory of peers, or load from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar

from c3sim.machine.state import GpuState, Rate
from c3sim.machine.traffic import Traffic
from c3sim.models.links import Hop, route
from c3sim.models.stores import busy_links, policy_cost, remote_stores, tile_time, written_back
from c3sim.models.tile_order import groups_of, share_behind
from c3sim.processes.kernels.kernel import KernelSpec, TileCost
from c3sim.processes.kernels.residency import Claim
from c3sim.processes.plan import Context, Planned, Scene
from c3sim.spec.hardware import Node
from c3sim.spec.task import AtOwners, Stores, TaskClass
from c3sim.tasks.on_units import OnUnits, TellingKind


class StoresKind(TellingKind[Stores]):
    """Kernels that store at peers."""

    side: ClassVar[TaskClass] = "communication"

    def stores_at_peers(self, task: Stores) -> bool:
        return task.direction == "push"

    def payload(self, task: Stores, node: Node) -> float | None:
        """The bytes that go to peers."""
        return task.bytes * task.repeat * node.ranks

    def resolve(self, name: str, task: Stores, scene: Scene) -> Planned[Stores]:
        # as much arrives at every GPU as leaves it
        return PlannedStores(**self.placed(name, task, scene), foldable=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedStores(OnUnits[Stores]):
    """A kernel that stores at peers, and its grid."""

    side: ClassVar[TaskClass] = "communication"
    occupies: ClassVar[bool] = False

    def kernel(self, context: Context, gpu: int, *, watched: bool) -> KernelSpec:
        return stores_kernel(context, gpu, self.task, self.grid.workgroups, fold=not watched)


def stores_kernel(
    context: Context, gpu: int, task: Stores, workgroups: int, *, fold: bool
) -> KernelSpec:
    """Workgroups stay, one on a compute unit, and take the next tile from a pool; *fold*: several
    rounds of tiles may be one segment.
    """
    node, spec = context.node, context.node.gpu
    tiles = workgroups if task.tile is None else max(workgroups, ceil(task.bytes / task.tile))
    traffic = _traffic(node, gpu, task, task.bytes / tiles)
    units = spec.compute_units

    def cost(_per_unit: float, concurrent: int) -> TileCost:
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


def storing_kernel(
    context: Context, gpu: int, task: AtOwners, spec: KernelSpec, *, in_step: bool
) -> KernelSpec:
    """*spec* of a kernel that stores its results at peers, or makes a release behind each tile. A
    workgroup does so once its tile is computed; *in_step*: tiles of a round end together.

    Where tiles come in an order, each group of owners has a cost of its own.
    """
    if task.publish is None and task.results == "here":
        return spec
    if task.results == "here":
        return replace(spec, cost=_Storing(context, gpu, task, spec, (), in_step).cost)
    gpus = context.node.gpus
    groups = groups_of(task.order, gpu % gpus, gpus)
    costs = [_Storing(context, gpu, task, spec, group, in_step).cost for group in groups]
    if len(groups) == 1:
        return replace(spec, cost=costs[0])
    ends = [round(spec.tiles * share_behind(groups, group[-1])) for group in groups]
    return replace(spec, parts=tuple(zip(ends, costs, strict=True)))


@dataclass(frozen=True, slots=True)
class _BesideStores:
    """Tiles per second of a workgroup that stores each, *freely*: if that took no time."""

    freely: Rate
    storing: float  # s at full clock
    release: float  # s
    least: float  # s that a tile takes at least: of links that drain, of releases in turn

    def __call__(self, state: GpuState) -> float:
        time = 1.0 / self.freely(state) + self.storing / state.clock + self.release
        return 1.0 / max(time, self.least)


class _Storing:
    """Cost of a tile whose owner is one of the GPUs at *owners*, averaged.

    Tiles of a GEMM's round end together, so their stores come at once. Where they stand in the
    queues of the dies, the next loads stand behind them: nothing is computed until the links have
    drained them. Where no queue blocks (no local_share), or workgroups are not in step and stores
    of some lie between loads of others, they drain while the next tiles are computed.
    While a die writes back for its workgroups, the next tiles of all of them stand still for the
    share that other kernels do; behind the last tiles nothing is held up.
    """

    def __init__(
        self,
        context: Context,
        gpu: int,
        task: AtOwners,
        spec: KernelSpec,
        owners: Sequence[int],
        in_step: bool,
    ):
        self.context, self.gpu, self.spec = context, gpu, spec
        device = context.node.gpu
        stores = remote_stores(device)
        self.queues = stores.queues or device.dies.count
        self.dies, self.blocks = device.dies.count, stores.local_share is not None
        self.in_step, self.policy = in_step, policy_cost(stores, task.policy)
        self.peers = [owner for owner in owners if owner]
        self.away = len(self.peers) / len(owners) if owners else 0.0
        self.published = task.publish is not None
        # other GPUs store elsewhere in the meantime: what leaves here is not what arrives
        self.apart = task.order == "by_owner" and bool(owners)

    def cost(self, per_unit: float, concurrent: int, alike: int | None = None) -> TileCost:
        """*alike*: of the workgroups, those whose tiles belong to these owners; None: all."""
        tile, policy = self.spec.cost(per_unit, concurrent), self.policy
        stored = self.away * tile.traffic.hbm_write
        clock = self.context.node.gpu.clock.maximum
        storing = stored * per_unit / (policy.bandwidth * clock)
        written = written_back(policy, stored) if self.published else 0.0
        traffic = self._traffic(tile.traffic, stored, written)
        draining = self._draining(traffic, alike or concurrent) if stored and self.blocks else 0.0
        turn = ceil(concurrent / self.dies) * written
        followed = max(0.0, 1.0 - concurrent / self.spec.tiles)  # tiles with one behind them
        held = (turn - written) * policy.release_hold * followed
        release = written + held + (policy.release_time if self.published else 0.0)

        if not self.in_step:
            return TileCost(
                _BesideStores(tile.rate, storing, release, max(draining, turn)), traffic
            )

        def rate(state: GpuState) -> float:
            time = 1.0 / tile.rate(state) + max(storing / state.clock, draining) + release
            return 1.0 / max(time, turn)

        return TileCost(rate, traffic)

    def _traffic(self, tile: Traffic, stored: float, written: float) -> Traffic:
        """Traffic of *tile* bytes, *stored* of them at peers and *written* back in so many s."""
        node = self.context.node
        remote = tuple((node.peer(self.gpu, peer), 0.0, stored) for peer in self.peers)
        return tile._replace(
            hbm_write=tile.hbm_write - stored * self.apart,
            remote=remote if self.apart else (),
            ports=tuple(_ports(node, self.gpu, self.peers, stored).items()),
            stored=stored > 0,
            releasing=written,
            release_hold=self.policy.release_hold,
        )

    def _draining(self, traffic: Traffic, concurrent: int) -> float:
        """Seconds in which the links drain a tile of each of *concurrent* workgroups."""
        links = sum(where == self.gpu for (where, _), _ in traffic.ports)
        busy = busy_links(min(self.queues, concurrent), links) if links > 1 else 1.0
        return concurrent * self.context.machine.port_time(traffic) / busy


def _traffic(node: Node, gpu: int, task: Stores, tile: float) -> Traffic:
    """Traffic of *tile* bytes. Every GPU does the same: what arrives here is as much as leaves."""
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
