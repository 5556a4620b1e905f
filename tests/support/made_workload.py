"""Workloads written in a test, and their runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shapes import TEACHING

from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import parse_workload
from c3sim.spec.workload import Workload

__all__ = ["run_of", "workload_of"]


def workload_of(tasks: Mapping[str, Any], **fields: Any) -> Workload:
    """A workload of *tasks* by name, with other *fields* of its file (``host``, ``streams``, ...);
    numbers without a unit are in SI units.
    """
    whole = {"schema": 1, "name": "w", **fields, "tasks": tasks}
    return parse_workload(whole, plain_si=True)


def run_of(
    tasks: Mapping[str, Any],
    node: Node = TEACHING,
    *,
    trace: bool = False,
    fold: bool | None = None,
    **fields: Any,
) -> Run:
    """A run of that workload on *node*."""
    return simulate(node, workload_of(tasks, **fields), trace=trace, fold=fold)
