"""The least time that a workload can take: its longest chain, or all that one resource has to do.

With T_i the time of task i alone, from when it was ready to its end, and share_p the part of task p
that must have happened before i may begin (1, or that of the tiles or chunks it waits for)::

    begin_i = max(ready of i alone, begin_p + share_p T_p of every p that i waits for)
    chain   = max over i of begin_i + T_i
    work_r  = sum over the tasks of resource r of occupancy_i T_i
    least   = max(chain, work_r of every r)

A task waits for the one before it in its stream and for its ``after``. Resources that tasks use one
after the other: the compute units (GEMMs, stream kernels, holds; occupancy: workgroups over rounds
times units, so that small grids may run side by side); all links (collectives, 1); one path between
two memories (copies, 1). Every pass is linear in tasks and dependencies.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from c3sim.processes.plan import Plan
from c3sim.simulation.run import TaskRun

Times = Mapping[str, float]  # [s] by task


@dataclass(frozen=True, slots=True)
class Precedence:
    """Tasks in an *order* in which each comes after all that it waits for.

    *needs*: of each task what it waits for, with the share that must have happened. *resources*:
    what a task uses, with its occupancy; tasks of no resource are left out.
    """

    order: Sequence[str]
    needs: Mapping[str, Sequence[tuple[str, float]]]
    resources: Mapping[str, tuple[Hashable, float]]


def precedence(plan: Plan) -> Precedence:
    """The waits of tasks, which have no cycle (input/checks/workload.py)."""
    needs = {
        name: [(each.task, plan[each.task].share(each)) for each in task.after]
        for name, task in plan.tasks.items()
    }
    last: dict[str, str] = {}
    for name in plan.order:
        stream = plan[name].task.stream
        if stream is not None:
            needs[name] += [(last[stream], 1.0)] if stream in last else []
            last[stream] = name
    sorter = TopologicalSorter({name: [p for p, _ in of] for name, of in needs.items()})
    resources = {name: used for name, task in plan.tasks.items() if (used := task.resource)}
    return Precedence(tuple(sorter.static_order()), needs, resources)


def begins(plan: Precedence, ready: Times, lengths: Times) -> dict[str, float]:
    """Earliest begin [s] of each task, by the tasks that it waits for alone."""
    found: dict[str, float] = {}
    for name in plan.order:
        found[name] = earliest(plan, name, ready, found, lengths)
    return found


def earliest(plan: Precedence, name: str, ready: Times, before: Times, lengths: Times) -> float:
    """The begin of *name* [s], from the begins *before* it."""
    return max([ready[name], *(before[p] + share * lengths[p] for p, share in plan.needs[name])])


def tails(plan: Precedence, lengths: Times) -> dict[str, float]:
    """The longest chain [s] behind the end of each task, of tasks that wait for it."""
    found = dict.fromkeys(plan.order, 0.0)
    for name in reversed(plan.order):
        for before, share in plan.needs[name]:
            behind = (share - 1.0) * lengths[before] + lengths[name] + found[name]
            found[before] = max(found[before], behind)
    return found


def work(plan: Precedence, lengths: Times) -> dict[Hashable, float]:
    """Work of each resource [s]."""
    found: dict[Hashable, float] = {}
    for name, (resource, occupancy) in plan.resources.items():
        found[resource] = found.get(resource, 0.0) + occupancy * lengths[name]
    return found


def least_time(plan: Precedence, ready: Times, lengths: Times) -> float:
    """Least time of all tasks [s]; *ready*, *lengths*: of each one alone."""
    earliest = begins(plan, ready, lengths)
    chain = max(earliest[name] + lengths[name] for name in plan.order)
    return max(chain, *work(plan, lengths).values(), 0.0)


def least_of(plan: Precedence, alone: Mapping[str, TaskRun]) -> float:
    """The least time [s] from the run of each task *alone*."""
    ready = {name: run.ready for name, run in alone.items()}
    return least_time(plan, ready, {name: run.end - run.ready for name, run in alone.items()})
