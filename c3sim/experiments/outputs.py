"""Outputs of a point by name, as ``run --json`` has them, each with its unit and label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from c3sim.errors import InputError
from c3sim.result import Result
from c3sim.simulation.exposure import CLASSES
from c3sim.spec.iteration import Described
from c3sim.spec.task import Kernel
from c3sim.spec.words import alias, unknown
from c3sim.spec.workload import Workload

WALL = "wall_s"
#: Outputs of a band and of a sensitivity study.
OUTPUTS = (WALL, "speedup", "fraction_of_ideal")
#: Field of a result -> unit, label.
FIELDS = {
    "wall_s": ("s", "wall time"),
    "serial_s": ("s", "one after the other"),
    "ideal_s": ("s", "least time"),
    "ideal_speedup": ("x", "ideal speedup"),
    "speedup": ("x", "speedup"),
    "fraction_of_ideal": ("1", "fraction of ideal overlap"),
    "own_fraction": ("1", "own fraction of ideal overlap"),
    "exposed_s": ("s", "exposed communication"),
    "stretched_s": ("s", "compute stretched by contention"),
    "energy_j": ("J", "energy"),
}
#: The same of an iteration of a model.
ITERATION_FIELDS = {
    "compute_s": ("s", "computation alone"),
    "communication_s": ("s", "communication alone"),
    "tokens_per_s": ("1/s", "tokens"),
    "mfu": ("1", "MFU"),
    "memory_bytes": ("B", "memory"),
    "host_s": ("s", "launches of the host"),
}
OF_ITERATION = ("exposed_s", "stretched_s", *ITERATION_FIELDS)
CLASS_FIELDS = {"busy_s": ("s", "busy"), "exposed_s": ("s", "alone")}
#: Field of a task, as in ``tasks.gather.slowdown`` -> unit, label.
TASK_FIELDS = {
    "isolated_s": ("s", "isolated time"),
    "start_s": ("s", "start"),
    "end_s": ("s", "end"),
    "time_s": ("s", "time"),
    "slowdown": ("x", "slowdown"),
    "predecessors_s": ("s", "waiting for predecessors"),
    "room_s": ("s", "waiting for room"),
    "slower_s": ("s", "running slower"),
    "waited_for_ranks_s": ("s", "waiting for other ranks"),
    "energy_j": ("J", "energy"),
}


def output_names(
    wanted: Iterable[str], costs: Iterable[str], workloads: Sequence[Workload]
) -> tuple[str, ...]:
    """Columns of the outputs *wanted*: ``tasks.*.F`` gives one for each task.

    Raises InputError, its path ``outputs[i]``, for a name that is no output, cost or task.
    """
    tasks = list(dict.fromkeys(name for workload in workloads for name in workload.tasks))
    of_one_task = [f"tasks.{task}.{field}" for task in tasks for field in TASK_FIELDS]
    of_all_tasks = {
        f"tasks.*.{field}": [f"tasks.{task}.{field}" for task in tasks] for field in TASK_FIELDS
    }
    single = [*FIELDS, *costs, *of_one_task]
    if any(isinstance(workload, Described) for workload in workloads):
        single += ITERATION_FIELDS
        of_all_tasks = {key: [] for key in of_all_tasks}  # of an iteration they are too many
    if any(isinstance(task, Kernel) for each in workloads for task in each.tasks.values()):
        single += _OF_CLASSES
    known = [*single, *of_all_tasks]
    columns: dict[str, None] = {}
    for index, name in enumerate(map(output_name, wanted)):
        if name not in known:
            raise InputError(unknown("output", name, known), f"outputs[{index}]")
        columns |= dict.fromkeys(of_all_tasks.get(name, [name]))
    return tuple(columns)


_OF_CLASSES = [f"classes.{name}.{field}" for name in CLASSES for field in CLASS_FIELDS]


def output_name(name: str) -> str:
    """The output that *name* stands for: ``fraction_of_ideal`` for ``overlap``, ``wall_s`` for
    ``wall``; any other name as it is.
    """
    field = f"{name}_s"
    return field if field in FIELDS else alias(name, "output", FIELDS)


def split_task_output(name: str) -> tuple[str, str]:
    """Task and field of an output such as ``tasks.gather.slowdown``."""
    task, _, field = name.removeprefix("tasks.").rpartition(".")
    return task, field


def read_output(result: Result, name: str) -> float | None:
    """The value of output *name*; None where it does not apply, as for a task that is not there."""
    value: Any
    if name in FIELDS or name in ITERATION_FIELDS:
        value = result.figure(name)
    elif name.startswith("classes."):
        _, operator, field = name.split(".")
        times = result.overlap.classes.get(operator)
        value = None if times is None else getattr(times, field)
    else:
        task_name, field = split_task_output(name)
        task = result.tasks.get(task_name)
        value = None if task is None else getattr(task, field)
    return None if value is None else float(value)


def describe(name: str) -> dict[str, str]:
    """Unit and label of a column of results; a cost has no unit."""
    if name in FIELDS or name in ITERATION_FIELDS:
        unit, label = (FIELDS | ITERATION_FIELDS)[name]
    elif name.startswith("classes."):
        _, operator, field = name.split(".")
        unit, label = CLASS_FIELDS[field]
        label = f"{operator} {label}"
    elif name.startswith("tasks."):
        task, field = split_task_output(name)
        unit, label = TASK_FIELDS[field]
        label = f"{label} of {task}"
    else:
        unit, label = "", name.replace("_", " ")
    return {"unit": unit, "label": label}
