"""The description of an iteration in the place of a workload."""

from __future__ import annotations

from typing import Any, Literal

from c3sim.specs.iteration import Iteration
from c3sim.specs.workload import Workload

#: Fields of a description that paths name as they are: ``batch``, ``parallel.prefetch``.
FIELDS = (
    frozenset(Iteration.model_fields)
    - {"schema_version", "kind", "name", "node"}
    - {"description", "source"}
)


class Described(Workload):
    """What paths, sweeps and studies take an iteration for: a workload whose *tasks* are those of a
    few of its layers, so that they can be named. A run builds its own tasks from *iteration*, and
    makes *changes* in them: (path, value, style of its numbers) in the order in which they were
    set.
    """

    iteration: Iteration
    changes: tuple[tuple[str, Any, Literal["text", "si"]], ...] = ()


def noted(workload: Workload, path: str, value: object, style: str) -> Workload:
    """*workload*, in which *value* was set at *path*; of a description that is remembered."""
    if not isinstance(workload, Described):
        return workload
    return workload.model_copy(update={"changes": (*workload.changes, (path, value, style))})
