"""Kernels on compute units: batches of workgroups (cohorts) become flows, rounds become segments.

A cohort is the workgroups of one kernel that got room at one instant. One flow stands for it; its
unit of work is one tile per workgroup. The schedule says where the next tile comes from:

``one_per_tile``        a workgroup ends with its tile; the next one is dispatched
``persistent``          a workgroup stays and works down a fixed list (tiles w, w + G, w + 2G, ...
                        of a grid of G)
``stream_k``            a workgroup stays; every one gets the same share of the work, tiles are
                        split where needed
``work_stealing``       a workgroup stays and takes the next tile from a common pool
``dynamic_persistent``  the same, but the first *own_tiles* tiles of each workgroup are its own (w,
                        w + G, ...): a workgroup that starts late, because others held its compute
                        unit, still has them all to do
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil

from c3sim.engine.flow import Flow
from c3sim.machine.state import Asked, GpuState
from c3sim.machine.traffic import Traffic
from c3sim.models.unit_port import NOBODY, Company
from c3sim.processes.kernels.dispatcher import Batch, Grid
from c3sim.processes.kernels.residency import Claim, EngineGroup
from c3sim.processes.plan import Context


@dataclass(frozen=True, slots=True)
class TileCost:
    """Cost of one tile for a workgroup."""

    rate: Callable[[GpuState], float]  # tiles/s
    traffic: Traffic


#: Cost of a tile with so many workgroups of the kernel on its compute unit, and on the GPU.
CostOfTile = Callable[[float, int], TileCost]


@dataclass(frozen=True, slots=True)
class Beside:
    """What other grids have of a unit: *lds* that they keep, and what they ask of its port."""

    lds: float = 0.0
    company: Company = NOBODY


ALONE = Beside()
#: The same; third, where it matters, what others have of the unit.
CostBeside = Callable[[float, int, Beside], TileCost]
#: The same of tiles whose results go elsewhere than others'; third, of how many that now run.
CostOfPart = Callable[[float, int, int], TileCost]
#: Calls back once this share of the tiles that a kernel waits for has finished.
Awaited = Callable[[float, Callable[[], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSpec:
    """A kernel as the dispatcher sees it."""

    tiles: int
    schedule: str
    claim: Claim
    residents: int  # workgroups that share a compute unit
    cost: CostOfTile
    beside: CostBeside | None = None  # where others are on its units, left out: the same
    setup: float = 0.0  # s before the grid is launched
    closing: float = 0.0  # s behind the last workgroup until its result is there
    fault: float = 0.0  # s from the first workgroup's start until their parameters are there
    own_tiles: int = 1  # of each workgroup of a dynamic persistent grid
    # in their order, tiles that cost something else: (tiles up to the last of them, cost)
    parts: tuple[tuple[int, CostOfPart], ...] = ()
    # several rounds may be one segment (not when a task waits for tiles)
    fold_rounds: bool = True
    # the same where engines are not filled in one order, each by itself
    fold_any_order: bool = False
    # parts of a tile, each with the cost at its own begin (where rounds are not folded)
    pieces: int = 1


Parts = list[tuple[EngineGroup, int]]  # workgroups per engine of each group


class Cohort:
    """The workgroups of *parts* (*count* in all) working on *rounds* tiles each, of *cost*, and on
    *later* ones behind them, of a list whose tiles all cost *listed*, so many of them on a unit.
    *exact*: they take *count* tiles next, whatever *parts*, which are of all engines that are
    alike, would.
    """

    __slots__ = (
        "batch",
        "company",
        "cost",
        "count",
        "exact",
        "flow",
        "later",
        "left",
        "listed",
        "parts",
        "past",
        "rest",
        "rounds",
    )

    def __init__(
        self,
        parts: Parts,
        count: int,
        rounds: float,
        batch: Batch | None = None,
        cost: CostOfPart | None = None,
        *,
        later: float = 0.0,
        exact: bool = False,
        listed: tuple[TileCost, float] | None = None,
    ):
        self.parts, self.count, self.rounds, self.batch = parts, count, rounds, batch
        self.cost, self.later, self.exact, self.listed = cost, later, exact, listed
        self.flow: Flow | None = None
        self.left = 0  # pieces to do behind the one in progress
        self.company = NOBODY  # on its units, as its rate has it
        self.rest = 0.0  # of the piece in progress, to go on with at another rate
        self.past = 0.0  # of it, done at others

    def only(self, parts: Parts, count: int) -> Cohort:
        """Cohort of *parts*, *count* workgroups in all, behind the rounds in progress."""
        return Cohort(parts, count, 0.0, later=self.later, exact=True, listed=self.listed)

    @property
    def wanted(self) -> int:
        """Tiles that they take next from a pool."""
        if self.exact:
            return self.count
        return sum(group.multiplicity * count for group, count in self.parts)


def split(parts: Parts, wanted: int, total: int) -> tuple[Parts, Parts]:
    """*parts* (*total* workgroups) as about *wanted* of them, evenly over engines, and the rest."""
    chosen, rest, left = [], [], wanted
    for group, count in parts:
        part = max(0, min(count, -(-left // group.multiplicity), -(-count * wanted // total)))
        left -= part * group.multiplicity
        if part:
            chosen.append((group, part))
        if count > part:
            rest.append((group, count - part))
    return chosen, rest


#: Schedules whose workgroups take further tiles from a pool.
POOLED = ("work_stealing", "dynamic_persistent")
#: Rounds of a kernel of many short workgroups.
MANY = 16
#: Relative: progress this close to a whole number of rounds is whole.
ROUNDING = 1e-9


class Kernel:
    """One launch of a kernel on one GPU; calls *started()* when workgroups get room,
    *progressed(tiles)* as tiles finish (seconds in which one workgroup posts packets), *done()*
    after the last workgroup. *awaited*: what its tiles wait for.
    """

    def __init__(
        self,
        context: Context,
        task: str,
        gpu: int,
        spec: KernelSpec,
        *,
        started: Callable[[], None],
        progressed: Callable[[float], float],
        done: Callable[[], None],
        awaited: Awaited | None = None,
    ):
        self.context, self.task, self.gpu, self.spec = context, task, gpu, spec
        self.started, self.progressed, self.done = started, progressed, done
        self.awaited, self.begun = awaited, 0.0  # tiles
        planned, self.shape = context.plan[task], context.plan.shapes[task]
        self.pool = spec.tiles  # work stealing: tiles nobody has taken
        # persistent: workgroups to start whose list is longer
        self.longer = spec.tiles % self.shape.workgroups
        self.owed = 0  # dynamic_persistent: tiles that belong to a workgroup
        if spec.schedule == "dynamic_persistent":
            self.owed = min(spec.tiles, self.shape.workgroups * spec.own_tiles)
            self.pool -= self.owed
            self.longer = self.owed % self.shape.workgroups
        self.active: dict[Cohort, None] = {}
        self.parameters_at: float | None = None  # s, once the first workgroup has started
        self.finished = False
        self.dispatcher = context.dispatcher(gpu, task)
        ahead = spec.fold_rounds and spec.schedule == "one_per_tile"
        ahead = ahead and (self.dispatcher.in_order or spec.fold_any_order)
        calls = self._placed, self._cut if ahead or spec.schedule in POOLED else None
        self.grid = Grid(task, self.shape, spec.claim, planned.priority, ahead, *calls)
        port = context.node.gpu.compute_units.port
        if spec.beside is not None and spec.claim.loads and port is not None:
            self.grid.joined = self._joined
        self.grid.short = spec.fold_any_order and spec.schedule == "one_per_tile"
        self.concurrent = max(1, self.dispatcher.places(self.shape, spec.residents))
        self.grid.short &= spec.tiles >= MANY * self.concurrent
        self.most, self.per_unit, self.all_units = self._idle()

    def launch(self) -> None:
        self.dispatcher.launch(self.grid)

    def _placed(self, batch: Batch) -> None:
        self.started()
        schedule, tiles, grid = self.spec.schedule, self.spec.tiles, self.shape.workgroups
        if schedule == "one_per_tile":
            count = batch.workgroups
            cohort = Cohort(batch.parts, count, batch.tiles(batch.rounds) / count, batch)
            self.active[cohort] = None
            self.context.once_past(self._until_parameters(), lambda: self._begin(cohort))
        elif schedule == "stream_k":
            self._begin(Cohort(batch.parts, batch.workgroups, tiles / grid))
        elif schedule == "persistent":
            self._begin_lists(batch, tiles // grid)
        elif self.owed:
            self._begin_lists(batch, min(self.spec.own_tiles, tiles // grid))
        else:
            self._steal(Cohort(batch.parts, batch.workgroups, 0.0), first=True)

    def _until_parameters(self) -> float:
        """Seconds that workgroups which start now hold their room and wait for parameters."""
        now = self.context.env.now
        if self.parameters_at is None:
            self.parameters_at = now + self.spec.fault
        return self.parameters_at - now

    def _cut(self) -> None:
        """Another grid waits: keep only the round in progress of each multi-round segment."""
        for cohort in self.active:
            if cohort.rounds <= 1 or cohort.flow is None or cohort.rest:
                continue
            done = cohort.past + self.context.fluid.progress(cohort.flow)
            done -= ROUNDING * cohort.rounds
            keep, batch = max(1, ceil(done)), cohort.batch
            if batch is None:
                back, left = int(cohort.rounds) - keep, float(keep)
            else:  # rounds differ a little
                keep += batch.tiles(keep) < done * cohort.count
                back, left = batch.rounds - keep, batch.tiles(keep) / cohort.count
            if back <= 0:
                continue
            self.context.fluid.shorten(cohort.flow, left - cohort.past)
            cohort.rounds = left
            if batch is not None:
                self.dispatcher.cut_back(self.grid, batch, keep)
            else:
                self.pool += back * cohort.count

    def _begin_lists(self, batch: Batch, length: int) -> None:
        """Fixed lists; the first workgroups, spread over the engines, have one tile more."""
        count = batch.workgroups
        longer = min(self.longer, count)
        self.longer -= longer
        if longer in (0, count):
            self._begin(Cohort(batch.parts, count, float(length + bool(longer))))
            return
        more, less = split(batch.parts, longer, count)
        self._begin(Cohort(more, longer, length + 1.0))
        self._begin(Cohort(less, count - longer, float(length)))

    def _steal(self, cohort: Cohort, *, first: bool) -> None:
        """Take a tile (or several rounds) per workgroup from the pool; the others end."""
        want, exact, rounds = cohort.wanted, cohort.exact, 1
        if not first and self.spec.fold_rounds:
            rounds = max(1, self.pool // (want + sum(c.count for c in self.active)))
        count = min(self.pool, want)
        if count < want:
            rounds = 1
        self.pool -= rounds * count
        if count == 0:
            self._leave(cohort.parts)
            return
        if count == want:
            self._begin(Cohort(cohort.parts, count, float(rounds), exact=exact))
            return
        busy, idle = split(cohort.parts, count, want)
        self._begin(Cohort(busy, count, 1.0, exact=exact))
        self._leave(idle)

    def _idle(self) -> tuple[int, int, int]:
        """On an idle GPU without a mask: workgroups that run at once, how many share a unit, and
        units.
        """
        units, residents, most = self.dispatcher.unit_count, self.spec.residents, self.concurrent
        if self.shape.mask is not None:
            most = max(1, min(self.shape.workgroups, units * residents))
        return most, max(1, min(residents, ceil(most / units))), units

    def _begin(self, cohort: Cohort) -> None:
        if not self.spec.fold_rounds and cohort.rounds > 1:  # each of them counts
            cohort.later, cohort.rounds = cohort.rounds - 1.0, 1.0
        parts = list(self._by_cost(cohort)) if self.spec.parts else [cohort]
        self.active |= dict.fromkeys(parts)
        for part in parts:
            self._begin_part(part)

    def _by_cost(self, cohort: Cohort) -> Iterator[Cohort]:
        """*cohort*, of one round, as cohorts whose tiles cost the same, in the order of tiles."""
        parts, left, begin = cohort.parts, cohort.count, self.begun
        self.active.pop(cohort, None)
        for end, cost in self.spec.parts:
            count = min(left, int(end - begin))
            if count <= 0:
                continue
            mine, parts = split(parts, count, left) if count < left else (parts, [])
            left, begin = left - count, begin + count
            yield Cohort(mine, count, cohort.rounds, cohort.batch, cost, exact=True)

    def _begin_part(self, cohort: Cohort) -> None:
        if cohort.rounds <= 0:  # a persistent workgroup without a tile
            self._complete(cohort)
            return
        self.begun += cohort.count * cohort.rounds
        if self.awaited is None:
            self._run(cohort)
            return
        self.awaited(min(1.0, self.begun / self.spec.tiles), partial(self._run, cohort))

    def _run(self, cohort: Cohort) -> None:
        cohort.left = self.spec.pieces - 1
        self._run_piece(cohort)

    def _run_piece(self, cohort: Cohort, left: float | None = None) -> None:
        """The piece in progress, or what is *left* of it."""
        if left is None:
            cohort.past = 0.0
        running = min(self.concurrent, sum(other.count for other in self.active))
        if cohort.listed is None:
            per_unit = self._sharing(running, cohort.batch)
            cost = self._cost(cohort, per_unit, running)
            if cohort.later and cohort.cost is None:
                cohort.listed = cost, per_unit
        else:
            cost, per_unit = cohort.listed
        asked = Asked(
            gpu=self.gpu,
            cap=cost.rate,
            traffic=cost.traffic.times(cohort.count),
            compute_units=cohort.count / per_unit,
            share=min(1.0, cohort.count / self.concurrent),
        )
        work = cohort.rounds / self.spec.pieces if left is None else left
        cohort.flow = self.context.machine.flow(
            self.task, asked, work, lambda _flow: self._complete(cohort)
        )

    def _joined(self) -> None:
        """Others came to its units, or left them: go on at the rate that is left."""
        company = self.dispatcher.company(self.grid)
        for cohort in self.active:
            if cohort.flow is not None and cohort.company != company and not cohort.rest:
                done = self.context.fluid.progress(cohort.flow)
                cohort.rest, cohort.past = cohort.flow.work - done, cohort.past + done
                self.context.fluid.shorten(cohort.flow, done)  # it ends now, and all hear of it

    def _sharing(self, running: int, batch: Batch | None) -> float:
        """Workgroups of the kernel that share what a compute unit has, with *running* of them.

        As many as on an idle GPU, where they spread over all units; more by as much as there are
        now more on a unit, since a mask or others leave them fewer units.
        """
        usual = min(self.per_unit, max(1, ceil(self.per_unit * running / self.most)))
        resident = self.grid.resident
        here = resident / max(1, self.dispatcher.units(self.grid))
        if self.spec.beside is not None and batch is not None and batch.units:
            here = batch.workgroups / batch.units
        if here <= 1.0:
            return usual
        spread = running / min(running, self.all_units)
        return min(usual * max(1.0, here / spread), max(usual, ceil(here)))

    def _cost(self, cohort: Cohort, per_unit: float, running: int) -> TileCost:
        if cohort.cost is None:
            batch, beside = cohort.batch, self.spec.beside
            if beside is not None and batch is not None:
                cohort.company = self.dispatcher.company(self.grid)
                return beside(per_unit, max(1, running), Beside(batch.kept, cohort.company))
            return self.spec.cost(per_unit, max(1, running))
        alike = sum(other.count for other in self.active if other.cost is cohort.cost)
        return cohort.cost(per_unit, running, alike)

    def _complete(self, cohort: Cohort) -> None:
        if cohort.rest:
            left, cohort.rest = cohort.rest, 0.0
            self._run_piece(cohort, left)
            return
        if cohort.left:
            cohort.left -= 1
            self._run_piece(cohort)
            return
        del self.active[cohort]
        cohort.flow = None
        posting = self.progressed(cohort.count * cohort.rounds)
        if not posting:
            self._go_on(cohort)
            return
        mine, rest = split(cohort.parts, 1, cohort.count)
        one = cohort.only(mine, 1)
        self.active[one] = None
        self.context.after(posting, partial(self._posted, one))
        if cohort.count > 1:
            self._go_on(cohort.only(rest, cohort.count - 1))

    def _posted(self, cohort: Cohort) -> None:
        del self.active[cohort]
        self._go_on(cohort)

    def _go_on(self, cohort: Cohort) -> None:
        """Workgroups that have ended their tiles take the next ones, or leave."""
        if cohort.later > 0:
            parts, count, rounds = cohort.parts, cohort.count, cohort.later
            self._begin(Cohort(parts, count, rounds, exact=cohort.exact, listed=cohort.listed))
        elif self.spec.schedule in POOLED:
            self._steal(cohort, first=False)
        else:
            self._leave(cohort.parts)

    def _leave(self, parts: Parts) -> None:
        self.dispatcher.release(self.grid, parts)
        if not (self.active or self.dispatcher.waits(self.grid) or self.finished):
            self.finished = True
            self.dispatcher.retire(self.grid)
            self.context.once_past(self.spec.closing, self.done)
