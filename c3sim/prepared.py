"""One run under one strategy, from models that are known to be right to a result."""

from __future__ import annotations

from c3sim.choose import choose
from c3sim.notes import notes
from c3sim.overlap import overlap
from c3sim.result import Result, TaskResult
from c3sim.rewrites import collectives
from c3sim.runs import isolated, run_traced
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.strategies import exhaustive

__all__ = ["run_prepared"]


def run_prepared(
    workload: Workload, node: Node, strategy: str, *, trace: bool = False, noted: bool = True
) -> Result:
    """As :func:`c3sim.run`, for models that have been checked against each other; *noted* = False leaves out the notes,
    which may take runs of their own.
    """
    chosen = choose(strategy, workload, node)
    made, timeline = run_traced(node, chosen.workload) if trace else (chosen.run, None)
    common = {name: isolated(node, chosen.yardstick, name).end for name in workload.tasks}
    alone = {name: isolated(node, chosen.workload, name).end for name in workload.tasks}
    moved = collectives(workload)
    whole = overlap(list(common.values()), made.wall)
    own = overlap([(alone if name in moved else common)[name] for name in common], made.wall)
    rivals = exhaustive(workload, node) if noted and strategy == "auto" else ()
    tasks = {
        name: TaskResult(
            isolated_s=alone[name], start_s=task.start, end_s=task.end, time_s=task.end,
            slowdown=task.end / alone[name], kind=workload.tasks[name].kind, energy_j=task.energy, detail=task.detail,
        )
        for name, task in made.tasks.items()
    }  # fmt: skip
    return Result(
        workload=workload.name, node=node.name, strategy=strategy, wall_s=made.wall, serial_s=whole.serial,
        ideal_speedup=whole.ideal_speedup, speedup=whole.speedup, fraction_of_ideal=whole.fraction,
        own_fraction=own.fraction, energy_j=made.energy, tasks=tasks, folded=made.folded, events=made.events,
        notes=notes(chosen, node, common, alone, rivals) if noted else (),
        timeline=timeline,
    )  # fmt: skip
