"""What paths into a node are resolved against where there is no workload."""

from __future__ import annotations

from c3sim.specs.workload import Workload

NO_WORKLOAD = Workload.model_validate(
    {"schema": 1, "name": "none", "tasks": {"none": {"kind": "host", "time": 0.0}}}
)
