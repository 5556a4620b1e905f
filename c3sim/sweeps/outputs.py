"""What a point of a sweep gives: fields of a result by name, as ``run --json`` has them, each with
unit and label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from c3sim.errors import InputError
from c3sim.input.hints import unknown
from c3sim.result import Result
from c3sim.specs.workload import Workload

#: Field of a result -> unit, words.
FIELDS = {
    "wall_s": ("s", "wall time"),
    "serial_s": ("s", "one after the other"),
    "ideal_speedup": ("x", "ideal speedup"),
    "speedup": ("x", "speedup"),
    "fraction_of_ideal": ("1", "fraction of ideal overlap"),
    "own_fraction": ("1", "own fraction of ideal overlap"),
    "energy_j": ("J", "energy"),
}
#: The same of each task: ``tasks.gather.slowdown``.
TASK_FIELDS = {
    "isolated_s": ("s", "isolated time"),
    "start_s": ("s", "start"),
    "end_s": ("s", "end"),
    "time_s": ("s", "time"),
    "slowdown": ("x", "slowdown"),
    "energy_j": ("J", "energy"),
}


def output_names(
    wanted: Iterable[str], costs: Iterable[str], workloads: Sequence[Workload]
) -> tuple[str, ...]:
    """Columns of the outputs *wanted*; ``tasks.*.slowdown`` is one for every task.

    Raises InputError, its path ``outputs[i]``, for a name that is no output, cost or task.
    """
    tasks = list(dict.fromkeys(name for workload in workloads for name in workload.tasks))
    singles = {f"tasks.{task}.{field}": None for task in tasks for field in TASK_FIELDS}
    several = {
        f"tasks.*.{field}": [f"tasks.{task}.{field}" for task in tasks] for field in TASK_FIELDS
    }
    known = [*FIELDS, *costs, *several, *singles]
    found: dict[str, None] = {}
    for index, name in enumerate(wanted):
        if name not in known:
            raise InputError(unknown("output", name, known), f"outputs[{index}]")
        found |= dict.fromkeys(several.get(name, [name]))
    return tuple(found)


def read_output(result: Result, name: str) -> float | None:
    """The value of output *name*; None where it does not apply (a task that this workload has not)."""
    if name in FIELDS:
        value: Any = getattr(result, name)
    else:
        task = result.tasks.get(name[len("tasks.") : name.rindex(".")])
        value = None if task is None else getattr(task, name[name.rindex(".") + 1 :])
    return None if value is None else float(value)


def describe(name: str) -> dict[str, str]:
    """Unit and label of a column of results; a cost has neither."""
    if name in FIELDS:
        unit, label = FIELDS[name]
    elif name.startswith("tasks."):
        task, field = name[len("tasks.") : name.rindex(".")], name[name.rindex(".") + 1 :]
        unit, words = TASK_FIELDS[field]
        label = f"{words} of {task}"
    else:
        unit, label = "", name.replace("_", " ")
    return {"unit": unit, "label": label}
