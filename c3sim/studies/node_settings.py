"""Values set for a whole study of a table, whose only settings are those of its node."""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.input.loading import load_hardware
from c3sim.input.paths import set_value
from c3sim.specs.hardware import Node
from c3sim.specs.study import Range, Study
from c3sim.specs.workload import HostTask, Workload

_NONE = Workload(schema_version=1, name="none", tasks={"none": HostTask(kind="host", time=0.0)})


def node_of(study: Study, node: Node | None) -> Node:
    """*node*, or the study's, with the values of its axes. Raises InputError."""
    found = node or load_hardware(study.node).node
    for path, values in study.axes.items():
        if isinstance(values, Range) or len(values) != 1:
            raise InputError("a study of a table takes one value of the node for each path", path)
        found, _ = set_value(found, _NONE, path, values[0])
    return found
