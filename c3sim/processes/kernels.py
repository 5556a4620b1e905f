"""Kernels on compute units: batches of workgroups (cohorts) become flows, rounds become segments.

A cohort is the workgroups of one kernel that got room in one group of shader engines at one instant. One flow stands
for it; its unit of work is one tile per workgroup. The schedule says where the next tile comes from:

``one_per_tile``   a workgroup ends with its tile; the next one is dispatched
``persistent``     a workgroup stays and works down a fixed list (tiles w, w + G, w + 2G, ... of a grid of G)
``stream_k``       a workgroup stays; every one gets the same share of the work, tiles are split where needed
``work_stealing``  a workgroup stays and takes the next tile from a common pool
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from c3sim.engine.fluid import Flow
from c3sim.machine import Traffic
from c3sim.processes.context import Context
from c3sim.processes.dispatcher import Claim, Grid, Group

__all__ = ["Kernel", "KernelSpec", "TileCost"]

WHOLE = 1e-9  # relative: progress this close to a whole number of rounds is whole


@dataclass(frozen=True, slots=True)
class TileCost:
    """What one tile costs a workgroup: *time* [s] at full clock, and what it moves."""

    time: float
    traffic: Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSpec:
    """A kernel as the dispatcher sees it. *cost(crowd, together)*: a tile's cost with *crowd* workgroups of the
    kernel on its CU and *together* on the GPU."""

    tiles: int
    schedule: str
    claim: Claim
    residents: int
    cost: Callable[[int, int], TileCost]
    fold_rounds: bool = True  # several rounds may be one segment (not when somebody waits for tiles)


class _Cohort:
    """*workgroups* per engine of *group* (*count* in all) working on *rounds* tiles each."""

    __slots__ = ("count", "flow", "group", "rounds", "workgroups")

    def __init__(self, group: Group, workgroups: int, count: int, rounds: float):
        self.group, self.workgroups, self.count, self.rounds = group, workgroups, count, rounds
        self.flow: Flow | None = None


class Kernel:
    """One launch of a kernel on one GPU; calls *started()* when workgroups get room, *progressed(tiles)* as
    tiles finish, *done()* after the last workgroup."""

    def __init__(
        self,
        context: Context,
        task: str,
        gpu: int,
        spec: KernelSpec,
        *,
        started: Callable[[], None],
        progressed: Callable[[float], None],
        done: Callable[[], None],
    ):
        self.context, self.task, self.gpu, self.spec = context, task, gpu, spec
        self.started, self.progressed, self.done = started, progressed, done
        self.shape = context.shapes[task]
        self.pool = spec.tiles  # work stealing: tiles nobody has taken
        self.longer: dict[int, int] = {}  # persistent: per group, workgroups still to start with one tile more
        self.active: dict[_Cohort, None] = {}
        self.finished = False
        self.dispatcher = context.dispatcher(gpu, task)
        self.grid = Grid(
            task, self.shape, spec.claim, context.stream_of(task).priority, self._placed, self._disturbed
        )
        self.together = self._expected_together()

    def launch(self) -> None:
        extra = self.context.longer.get(self.task)
        if extra is not None:
            self.longer = {id(group): group.shares[extra] for group in self.dispatcher.groups}
        self.dispatcher.launch(self.grid)

    # -- the dispatcher calls these ------------------------------------------------------------------------------

    def _placed(self, group: Group, workgroups: int) -> None:
        self.started()
        schedule = self.spec.schedule
        if schedule == "one_per_tile":
            self._begin(group, workgroups, 1.0 + self._take_ahead(group, workgroups))
        elif schedule == "stream_k":
            self._begin(group, workgroups, self.spec.tiles / self.shape.workgroups)
        elif schedule == "persistent":
            longer = min(workgroups, self.longer.get(id(group), 0))
            if longer:
                self.longer[id(group)] -= longer
            self._begin(group, longer, self.spec.tiles // self.shape.workgroups + 1.0)
            self._begin(group, workgroups - longer, float(self.spec.tiles // self.shape.workgroups))
        else:
            self._steal(group, workgroups, first=True)

    def _disturbed(self, group: Group) -> None:
        """Somebody else changed the group: keep only the round in progress of each multi-round segment."""
        if self.spec.schedule not in ("one_per_tile", "work_stealing"):
            return
        for cohort in self.active:
            if cohort.group is group and cohort.rounds > 1 and cohort.flow is not None:
                done = self.context.fluid.progress(cohort.flow)
                keep = max(1, ceil(done - WHOLE * cohort.rounds))
                back = int(cohort.rounds) - keep
                if back > 0:
                    self.context.fluid.shorten(cohort.flow, float(keep))
                    cohort.rounds = float(keep)
                    if self.spec.schedule == "one_per_tile":
                        group.waiting[self.grid.number] += back * cohort.workgroups
                    else:
                        self.pool += back * cohort.count

    # -- where tiles come from ------------------------------------------------------------------------------------

    def _take_ahead(self, group: Group, workgroups: int) -> int:
        """Rounds beyond the first that a cohort takes along, when nobody else waits in the group."""
        waiting = group.waiting.get(self.grid.number, 0)
        if not self.spec.fold_rounds or not waiting or not self.dispatcher.alone_in(group, self.grid):
            return 0
        holding = workgroups + sum(c.workgroups for c in self.active if c.group is group)
        ahead = waiting // holding
        group.waiting[self.grid.number] = waiting - ahead * workgroups
        return ahead

    def _steal(self, group: Group, workgroups: int, *, first: bool) -> None:
        """Take one tile (or several rounds) per workgroup from the pool; workgroups that find none end."""
        want = workgroups * group.multiplicity
        rounds = 1
        if not first and self.spec.fold_rounds:
            rounds = max(1, self.pool // (want + sum(cohort.count for cohort in self.active)))
        count = min(self.pool, want)
        if count < want:
            rounds = 1
        self.pool -= rounds * count
        busy = ceil(count / group.multiplicity)
        self._begin(group, busy, float(rounds), count)
        if busy < workgroups:
            self._leave(group, workgroups - busy)

    # -- running them ---------------------------------------------------------------------------------------------

    def _expected_together(self) -> int:
        """Workgroups that run together with the GPU to themselves."""
        together = 0
        for group in self.dispatcher.groups:
            together += group.multiplicity * min(group.shares[self.shape], self._units(group) * self.spec.residents)
        return max(1, together)

    def _units(self, group: Group) -> int:
        return sum(count for (masks, _), count in group.units.items() if self.shape.mask in masks)

    def _begin(self, group: Group, workgroups: int, rounds: float, count: int | None = None) -> None:
        if not workgroups:
            return
        count = workgroups * group.multiplicity if count is None else count
        cohort = _Cohort(group, workgroups, count, rounds)
        self.active[cohort] = None
        if rounds <= 0:  # a persistent workgroup without a tile
            self._over(cohort)
            return
        crowd = max(1, min(self.spec.residents, ceil(group.shares[self.shape] / max(1, self._units(group)))))
        cost = self.spec.cost(crowd, self.together)
        one, time = cost.traffic, cost.time
        cohort.flow = self.context.machine.flow(
            self.task,
            task=self.task,
            gpu=self.gpu,
            work=rounds,
            cap=lambda factor: factor / time,
            traffic=Traffic(
                l2=one.l2 * count, cache=one.cache * count, hbm_read=one.hbm_read * count,
                hbm_write=one.hbm_write * count, core_energy=one.core_energy * count, inserted=one.inserted * count,
                ports=tuple((port, amount * count) for port, amount in one.ports),
                remote=tuple((gpu, read * count, written * count) for gpu, read, written in one.remote),
                host=tuple((direction, amount * count) for direction, amount in one.host),
            ),
            compute_units=count / crowd,
            share=min(1.0, count / self.together),
            done=lambda _flow: self._over(cohort),
        )  # fmt: skip

    def _over(self, cohort: _Cohort) -> None:
        del self.active[cohort]
        self.progressed(cohort.count * cohort.rounds)
        if self.spec.schedule == "work_stealing":
            self._steal(cohort.group, cohort.workgroups, first=False)
        else:
            self._leave(cohort.group, cohort.workgroups)

    def _leave(self, group: Group, workgroups: int) -> None:
        self.dispatcher.release(self.grid, group, workgroups)
        waiting = any(g.waiting.get(self.grid.number, 0) for g in self.dispatcher.groups)
        if not (self.active or waiting or self.finished):
            self.finished = True
            self.dispatcher.retire(self.grid)
            self.done()
