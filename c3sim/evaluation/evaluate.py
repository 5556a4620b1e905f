"""One run under one strategy, from models that are known to be right to a result."""

from __future__ import annotations

from c3sim.evaluation.notes import notes
from c3sim.evaluation.overlap import overlap
from c3sim.evaluation.payload import payload_bytes
from c3sim.machine.energy import by_component, components_of
from c3sim.result import Result, TaskResult
from c3sim.simulation.runs import TaskRun, isolated, run_traced
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Task, Workload
from c3sim.strategies.best import choose
from c3sim.strategies.rewrites import collectives
from c3sim.strategies.table import exhaustive


def evaluate_run(
    workload: Workload, node: Node, strategy: str, *, trace: bool = False, noted: bool = True
) -> Result:
    """As :func:`c3sim.run`, for models that have been checked against each other; *noted* = False
    leaves out the notes, which may take runs of their own.
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
        name: _task(node, chosen.workload.tasks[name], task, alone[name])
        for name, task in made.tasks.items()
    }
    return Result(
        workload=workload.name,
        node=node.name,
        strategy=strategy,
        wall_s=made.wall,
        serial_s=whole.serial,
        ideal_speedup=whole.ideal_speedup,
        speedup=whole.speedup,
        fraction_of_ideal=whole.fraction,
        own_fraction=own.fraction,
        energy_j=made.energy,
        gpus=node.ranks,
        energy=by_component(node, made.account),
        average_power_w=made.energy / made.wall,
        component_names=components_of(node),
        energy_measured=node.gpu.energy.measured,
        tasks=tasks,
        folded=made.folded,
        events=made.events,
        notes=notes(chosen, node, common, alone, rivals) if noted else (),
        timeline=timeline,
    )


def _task(node: Node, task: Task, run: TaskRun, alone: float) -> TaskResult:
    moved = payload_bytes(node, task)
    span = run.end - run.start
    return TaskResult(
        isolated_s=alone,
        start_s=run.start,
        end_s=run.end,
        time_s=run.end,
        slowdown=run.end / alone,
        kind=task.kind,
        energy_j=run.energy,
        energy=by_component(node, run.account, idle=False),
        average_power_w=run.energy / span if span else 0.0,
        payload_bytes=moved,
        energy_per_byte=run.energy / moved if moved else None,
        detail=run.detail,
    )
