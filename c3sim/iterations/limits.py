"""Limits of a workload, or an iteration in its place: in full for ``explain``, in a line for
``run``.
"""

from __future__ import annotations

from c3sim.evaluation.effort import effort_of
from c3sim.evaluation.explanation import figures_of_run
from c3sim.evaluation.limiter import LEAST, STEP, Limit, Of, better, followed, limits
from c3sim.evaluation.shares import Each, Progress
from c3sim.evaluation.strategies.table import best_workload, strategy_name
from c3sim.iterations.described import asked_on, figures_on
from c3sim.simulation.runs import isolated, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.workload import Workload

TASKS = 12  # of more, each by itself is too much to read
#: Results that take as long as an explanation: for each task, whose limits are looked for one by
#: one (six workloads of 1 to 7 tasks took 0.6 to 1.1 times that); of many tasks; of an iteration,
#: whose sides are not run again, and of one in full.
OF_TASK, OF_MANY, OF_STEP, OF_WHOLE_STEP = 200, 60, 12, 24
SHORT_S = 0.05  # estimated time of one result: what takes no longer is searched whole by ``run``
WALL = "wall"
#: Parts of a machine -> numbers that are moved together where single ones take too long.
PARTS = {
    "the clock and its power limit": ("gpu.clock.maximum", "gpu.clock.power_limit"),
    "memory": ("gpu.hbm.bandwidth",),
    "links and network": ("links.bandwidth", "scale_out.bandwidth"),
}


def limits_of(
    workload: Workload,
    node: Node,
    strategy: str,
    progress: Progress | None = None,
    *,
    full: bool = True,
    each: Each = map,
) -> dict[str, Limit]:
    """Limits of the wall time, exposed communication and each operator class; of up to TASKS
    tasks each, among the others (``task NAME``) and alone (``NAME alone``). Of an iteration, and of
    many tasks, few numbers are moved, and what binds next is looked for of the wall time only; of
    an iteration if *full*. *each* goes through the runs of one.
    """
    times = _times(workload, node, strategy)
    if isinstance(workload, Described) or len(workload.tasks) > TASKS:
        further = {WALL} if full or not isinstance(workload, Described) else set()
        each = each if isinstance(workload, Described) else map
        return limits(times, node, further, progress, chief=True, each=each)
    return limits(times, node, times(node).keys(), progress)


def results_behind(workload: Workload, *, full: bool = False) -> float:
    """Number of results that take as long as an explanation of *workload* with its limits, of an
    iteration in *full*.
    """
    if isinstance(workload, Described):
        return OF_WHOLE_STEP if full else OF_STEP
    count = len(workload.tasks)
    return OF_TASK * count if count <= TASKS else OF_MANY


def limit_of_run(
    workload: Workload, node: Node, strategy: str, wall: float
) -> Limit | dict[str, float]:
    """Limits of the *wall* time [s] of a short run, first and next; of a long one how much of
    it follows each of PARTS, from a simulation each.
    """
    if not isinstance(workload, Described) and effort_of(workload, node).seconds <= SHORT_S:
        run = best_workload(strategy_name(strategy), workload, node)
        found = limits(lambda on: {WALL: run_once(on, run, energy=False).end}, node, {WALL})
        return found[WALL]
    moved = {}
    for part, paths in PARTS.items():
        there = [path for path in paths if node.scale_out or not path.startswith("scale_out")]
        moved[part] = better(node, there, STEP)
    if isinstance(workload, Described):
        ask = asked_on(workload, node, strategy_name(strategy), wall_only=True)
        asked = {part: ask(on) for part, on in moved.items()}
        return {part: followed(wall, there()[WALL]) for part, there in asked.items()}
    times = _times(workload, node, strategy)
    return {part: followed(wall, times(on)[WALL]) for part, on in moved.items()}


def limit_line(found: Limit | dict[str, float]) -> str:
    """*found* by limit_of_run, in a line."""
    if isinstance(found, Limit):
        return f"wall {found}"
    shares = [f"{100 * share:.0f} % {part}" for part, share in found.items() if share > LEAST]
    said = f"wall follows {', '.join(shares)}" if shares else "wall follows no rate of the node"
    return f"{said} ('c3sim explain' names the number that binds)"


def _times(workload: Workload, node: Node, strategy: str) -> Of:
    """Times by name of *workload* on any node, as *strategy* has it on *node*."""
    name = strategy_name(strategy)
    if isinstance(workload, Described):
        return figures_on(workload, node, name)
    run = best_workload(name, workload, node)

    def times(on: Node) -> dict[str, float]:
        one = run_once(on, run)
        found = figures_of_run(one, run)
        if len(run.tasks) <= TASKS:
            found |= {f"task {task}": one.task(task).end for task in run.tasks}
            found |= {f"{task} alone": isolated(on, run, task).end for task in run.tasks}
        return found

    return times
