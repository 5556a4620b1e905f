"""What a schedule is compared with: the pair whole, one after the other."""

from __future__ import annotations

from c3sim.specs.workload import Collective, Schedule, Workload


def whole(workload: Workload) -> Workload:
    """*workload* with its pair in one piece. Engines do not add, so their reduce-scatter is a
    schedule of one piece: they scatter and a kernel adds.
    """
    adds = any(
        isinstance(task, Collective) and task.op == "reduce_scatter" and task.backend == "dma"
        for task in workload.tasks.values()
    )
    schedule = Schedule.model_validate({"pieces": 1}) if adds else None
    return workload.model_copy(update={"schedule": schedule})
