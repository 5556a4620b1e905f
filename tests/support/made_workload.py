"""Workloads written in a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.spec.reading.loading import parse_workload
from c3sim.spec.workload import Workload

__all__ = ["workload_of"]


def workload_of(tasks: Mapping[str, Any], **fields: Any) -> Workload:
    """A workload of *tasks* by name, with other *fields* of its file (``host``, ``streams``, ...);
    numbers without a unit are in SI units.
    """
    whole = {"schema": 1, "name": "w", **fields, "tasks": tasks}
    return parse_workload(whole, plain_si=True)
