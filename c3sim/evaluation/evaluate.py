"""One run under one strategy, from models that have been checked to a result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from c3sim.errors import InputError
from c3sim.evaluation.losses import Overlap, overlap
from c3sim.evaluation.notes import Noted, notes
from c3sim.evaluation.strategies.rewrites import baseline, collectives
from c3sim.evaluation.strategies.table import Best, best_candidate, strategy_name
from c3sim.evaluation.trust import nearest
from c3sim.result import (
    ClassTime,
    DrawResult,
    Later,
    Losses,
    OverlapResult,
    PowerResult,
    RankClass,
    RankResult,
    Result,
    TaskResult,
    later,
)
from c3sim.simulation.critical_path import least_of, precedence
from c3sim.simulation.draws import weighted_quantile
from c3sim.simulation.exposure import busy_and_exposed, classes_of
from c3sim.simulation.run import Outcome, Run, TaskRun
from c3sim.simulation.runs import each_isolated, undisturbed
from c3sim.simulation.simulate import check_room, simulate, uncollected
from c3sim.spec.energies import by_component, components_of
from c3sim.spec.hardware import Node
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Task, Workload
from c3sim.tasks.plan import kind_of, payload_bytes, plan


def best_of(workload: Workload, node: Node, strategy: str, *, energy: bool = True) -> Best:
    """The best candidate of *strategy* with its run, of a schedule too; *energy*: of that as well.
    Raises InputError.
    """
    name = strategy_name(strategy)
    return best_candidate(name, expanded(workload, node), node, energy=energy)


class Apart:
    """The tasks of *workload*, which has no schedule, on *node*: isolated times under its baseline,
    and the overlaps that runs reach beside these.
    """

    def __init__(self, workload: Workload, node: Node, base: Workload | None = None):
        """*base*: the baseline, from who has it."""
        base, self._node = base or _baseline(workload, node), node
        self._times = each_isolated(node, base, workload.tasks)
        self._moved = collectives(workload)
        self._chains = precedence(plan(base, node))

    def overlap(self, best: Best, *, own: bool = False) -> Overlap:
        """The overlap of the run of *best*; *own*: collectives as that runs them when alone."""
        times = self._times
        if own:
            times = times | each_isolated(self._node, best.workload, self._moved)
        ends = [task.end for task in times.values()]
        return overlap(ends, best.run.end, least_of(self._chains, times))


class _Isolated:
    """The tasks of *best* alone, which runs *workload*, and its overlaps beside those and those of
    the baseline *base*: worked out when one is asked for.
    """

    def __init__(self, workload: Workload, base: Workload, node: Node, best: Best):
        self._workload, self._base, self._node, self._best = workload, base, node, best

    @cached_property
    @uncollected()  # tens of thousands of runs of one task, of 10 kB each
    def tasks(self) -> dict[str, TaskRun]:
        """Each task, as the run has it."""
        return each_isolated(self._node, self._best.workload, self._workload.tasks)

    @cached_property
    @uncollected()
    def _overlaps(self) -> tuple[Overlap, Overlap]:
        apart = Apart(self._workload, self._node, self._base)
        return apart.overlap(self._best), apart.overlap(self._best, own=True)

    @property
    def shared(self) -> Overlap:
        """Against the baseline."""
        return self._overlaps[0]

    @property
    def own(self) -> Overlap:
        """Against collectives alone as the run has them."""
        return self._overlaps[1]


@uncollected()
def evaluate_run(
    workload: Workload,
    node: Node,
    strategy: str,
    *,
    trace: bool = False,
    noted: bool = True,
    stretched: bool = True,
) -> Result:
    """Result as of :func:`c3sim.run`, for models that have been checked against each other.

    What needs tasks alone is worked out when somebody looks at it, and so are losses, notes and
    trust, which *noted* = False leaves out, and the time that contention adds to compute, which
    *stretched* = False does.
    """
    strategy, given, workload = strategy_name(strategy), workload, expanded(workload, node)
    best, base = best_of(workload, node, strategy), _baseline(workload, node)
    check_room(base, node)
    run = simulate(node, best.workload, trace=True) if trace else best.run
    alone = _Isolated(workload, base, node, best)
    about = Later(lambda: Noted(given, workload, node, strategy, best, alone.shared, alone.own))
    stretch = later(lambda: _stretched(best.workload, node, run, alone)) if stretched else None
    lost = later(lambda: about().lost) if noted else None
    return Result(
        workload=workload.name,
        node=node.name,
        strategy=strategy,
        wall_s=run.end,
        serial_s=later(lambda: alone.shared.serial),
        ideal_speedup=later(lambda: alone.shared.ideal_speedup),
        speedup=later(lambda: alone.shared.speedup),
        fraction_of_ideal=later(lambda: alone.shared.fraction),
        memory_bytes=sum(task.operand_bytes for task in given.tasks.values()),
        energy_j=run.energy,
        tasks=later(lambda: _task_results(node, best.workload, run, alone.tasks)),
        overlap=_overlap_result(best.workload, run, alone, stretch, lost),
        power=power_result(node, run.account, run.energy, run.end),
        ranks=_ranks(node, run),
        notes=later(lambda: notes(about())) if noted else (),
        trust=later(lambda: nearest(node, best.workload)) if noted else "",
        trace=run.timeline,
    )


def _overlap_result(
    workload: Workload, run: Run, alone: _Isolated, stretched: float | None, lost: Losses | None
) -> OverlapResult:
    return OverlapResult(
        ideal_s=later(lambda: alone.shared.least),
        own_fraction=later(lambda: alone.own.fraction),
        exposed_s=run.exposure.exposed,
        stretched_s=stretched,
        classes=_classes(workload, run),
        losses=lost,
    )


def power_result(
    node: Node, account: Mapping[str, float], energy: float, wall: float
) -> PowerResult:
    """Power of a run of *wall* s; *account*: J by name of the energy, *energy* in all."""
    return PowerResult(
        average_w=energy / wall,
        energy=by_component(node, account),
        component_names=components_of(node),
        measured=node.gpu.energy.measured,
    )


def _ranks(node: Node, run: Run) -> RankResult:
    return RankResult(
        count=node.ranks,
        folded=run.folded,
        events=run.events,
        wall_p5_s=_quantile(run, 0.05),
        wall_p95_s=_quantile(run, 0.95),
        draws=[_draw(outcome) for outcome in run.outcomes],
    )


def _classes(workload: Workload, run: Run) -> dict[str, ClassTime]:
    if not any(kind_of(task).detail(task) for task in workload.tasks.values()):
        return {}
    times = busy_and_exposed(run, classes_of(workload))
    return {name: ClassTime(busy_s=busy, exposed_s=only) for name, (busy, only) in times.items()}


def _stretched(workload: Workload, node: Node, run: Run, alone: _Isolated) -> float:
    """Time [s] that contention adds to compute: the time in which compute runs on the slowest rank,
    less that of a run in which compute and communication share nothing. A single compute task then
    runs as it does *alone*.
    """
    sides = {name: kind_of(task).side for name, task in workload.tasks.items()}
    if not {"compute", "communication"} <= set(sides.values()):
        return 0.0
    in_step = workload.host.release == "event" and workload.host.loop is None
    compute = [name for name, what in sides.items() if what == "compute"]
    if len(compute) == 1 and in_step:
        task = alone.tasks[compute[0]]
        return run.exposure.computing - (task.end - task.start)
    return run.exposure.computing - undisturbed(node, workload).exposure.computing


def _quantile(run: Run, share: float) -> float:
    """Quantile of the wall time [s], over the ways in which ranks may begin."""
    if not run.outcomes:
        return run.end
    weights = [outcome.probability for outcome in run.outcomes]
    return weighted_quantile([outcome.end for outcome in run.outcomes], weights, share)


def _draw(outcome: Outcome) -> DrawResult:
    return DrawResult(
        probability=outcome.probability,
        wall_s=outcome.end,
        classes=[
            RankClass(late_s=arrival.late, order=arrival.order)
            for arrival in outcome.arrivals.classes
        ],
    )


def _baseline(workload: Workload, node: Node) -> Workload:
    """Baseline of *workload*; itself where it has none: one stream for all, a collective no library
    has.
    """
    try:
        return baseline(workload, node)
    except InputError:
        return workload


def _task_results(
    node: Node, workload: Workload, run: Run, alone: Mapping[str, TaskRun]
) -> dict[str, TaskResult]:
    return {
        name: _task_result(node, name, task, run, alone[name])
        for name, task in workload.tasks.items()
    }


def _task_result(node: Node, name: str, task: Task, run: Run, alone: TaskRun) -> TaskResult:
    times, account = run.task(name), run.account_of(name)
    payload = payload_bytes(node, task)
    energy = sum(account.values())
    duration = times.end - times.start
    room = times.waited_for_room(alone)
    detail = kind_of(task).detail(task)
    if name in run.lines:
        detail["cache"] = run.lines[name]._asdict()
    return TaskResult(
        isolated_s=alone.end,
        start_s=times.start,
        end_s=times.end,
        time_s=times.end,
        slowdown=times.end / alone.end,
        stream=task.stream or "",
        ready_s=times.ready,
        predecessors_s=times.start - alone.start - room,
        room_s=room,
        slower_s=duration - (alone.end - alone.start),
        waited_for_ranks_s=times.waited,
        kind=task.kind,
        energy_j=energy,
        energy=by_component(node, account, idle=False),
        average_power_w=energy / duration if duration else 0.0,
        payload_bytes=payload,
        energy_per_byte=energy / payload if payload else None,
        detail={**detail, **times.detail},
    )
