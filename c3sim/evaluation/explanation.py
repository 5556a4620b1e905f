"""Where the time of each task went: its slowdown split by cause.

The run is repeated with one kind of sharing taken away at a time (each task gets, say, the memory
to itself); what a task gains is that cause's share. With T the time of a task, T0 alone, T(-k)
without sharing of kind k::

    T - T0 = sum over k of (T - T(-k)) + dependencies + left over

    compute_units  the share of the compute units, less order
    order          the part of it before the first workgroup got room: queueing, launch
    dependencies   the time until other tasks release it, with no sharing at all
    left over      interaction: two causes that hide each other (only the slower one counts), or
                   that add up to more than their parts; it says how far to trust the split

Causes and what is left over may be negative: a task may gain from another one. The identity holds
by construction. The isolated time is that of the task as the strategy runs it, so masks and
backends are no cause here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from c3sim.machine.machine import SHARING
from c3sim.simulation.run import Run
from c3sim.simulation.runs import isolated, run_once
from c3sim.specs.hardware import Node
from c3sim.strategies.best import Best

CAUSES = ("order", *SHARING, "dependencies")


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskExplanation:
    """*isolated_s* + the sum of *causes_s* + *left_over_s* = *time_s*."""

    isolated_s: float
    time_s: float
    causes_s: Mapping[str, float]
    left_over_s: float

    @property
    def slowdown(self) -> float:
        """1 + the sum of *causes* + *left_over*."""
        return self.time_s / self.isolated_s

    @property
    def causes(self) -> dict[str, float]:
        """Each cause as a fraction of the isolated time."""
        return {cause: seconds / self.isolated_s for cause, seconds in self.causes_s.items()}

    @property
    def left_over(self) -> float:
        """The interaction between causes, as a fraction of the isolated time."""
        return self.left_over_s / self.isolated_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """Every task of one run explained."""

    workload: str
    node: str
    strategy: str
    wall_s: float
    tasks: Mapping[str, TaskExplanation]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``causes`` and ``left_over`` are fractions of the isolated time."""
        tasks = {
            name: {
                "isolated_s": task.isolated_s,
                "time_s": task.time_s,
                "slowdown": task.slowdown,
                "causes": task.causes,
                "left_over": task.left_over,
                "causes_s": dict(task.causes_s),
                "left_over_s": task.left_over_s,
            }
            for name, task in self.tasks.items()
        }
        return {
            "workload": self.workload,
            "node": self.node,
            "strategy": self.strategy,
            "wall_s": self.wall_s,
            "tasks": tasks,
        }


def explain_run(best: Best, node: Node, strategy: str) -> Explanation:
    """Explain the run of the *best* candidate of *strategy*."""
    workload = best.workload
    without = {kind: run_once(node, workload, frozenset({kind})) for kind in SHARING}
    free = run_once(node, workload, frozenset(SHARING))
    tasks = {}
    for name in workload.tasks:
        alone = isolated(node, workload, name).end
        causes = _causes(name, best.run, without, free)
        time = best.run.task(name).end
        tasks[name] = TaskExplanation(
            isolated_s=alone,
            time_s=time,
            causes_s=causes,
            left_over_s=time - alone - sum(causes.values()),
        )
    return Explanation(
        workload=workload.name, node=node.name, strategy=strategy, wall_s=best.run.end, tasks=tasks
    )


def _causes(name: str, run: Run, without: Mapping[str, Run], free: Run) -> dict[str, float]:
    """Seconds per cause of task *name*."""
    task = run.task(name)
    gained = {kind: task.end - other.task(name).end for kind, other in without.items()}
    waited = task.start - without["compute_units"].task(name).start
    gained["order"] = min(max(waited, 0.0), max(gained["compute_units"], 0.0))
    gained["compute_units"] -= gained["order"]
    gained["dependencies"] = free.task(name).ready
    return {cause: gained[cause] for cause in CAUSES}
