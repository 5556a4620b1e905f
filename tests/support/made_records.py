"""Records made up for tests, with ids that belong to their conditions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from c3sim.spec.hardware import Node
from c3sim.spec.record import Record, record_id
from c3sim.validation.compare.figures import compare_record

GEMM = {"kind": "gemm", "m": 4096, "n": 4096, "k": 4096, "dtype": "bf16", "library": "hipblaslt"}
GATHER = {"kind": "collective", "op": "all_gather", "size": 268435456, "dtype": "bf16"}
#: Keys of a suite, and of a case, in ``validate --json``.
SUITE_KEYS = {
    *("name", "metric", "cases", "median_error", "p90_error", "bias"),
    *("bound_median", "bound_p90", "pass", "baselines"),
}
CASE_KEYS = {"id", "metric", "predicted_us", "measured_us", "error"}


def line(
    tasks: dict[str, Any],
    measured: dict[str, Any],
    *,
    suite: str = "mine",
    role: str = "validation",
    name: str = "made up",
    node: str = "mi300x-8",
    strategy: str = "as_written",
    order: tuple[str, ...] = (),
) -> dict[str, Any]:
    """One record as plain data."""
    placed = {key: {"stream": key, **task} for key, task in tasks.items()}
    workload: dict[str, Any] = {"schema": 1, "name": name, "node": node, "tasks": placed}
    if order:
        workload["host"] = {"order": list(order)}
    return {
        "schema": 1,
        "id": record_id(node, workload, strategy, "none"),
        "suite": suite,
        "node": node,
        "workload": workload,
        "strategy": strategy,
        "measured": measured,
        "source": "made up",
        "software": "none",
        "role": role,
    }


def record(tasks: dict[str, Any], measured: dict[str, Any], **more: Any) -> Record:
    """One record."""
    return Record.model_validate(line(tasks, measured, **more))


def pair_line(
    gemm: float, gather: float, together: tuple[float, float], **more: Any
) -> dict[str, Any]:
    """A GEMM beside an all-gather: isolated times, then task times [us]."""
    measured = {
        "isolated": {"gemm": gemm, "gather": gather},
        "tasks": {"gemm": {"time_us": together[0]}, "gather": {"time_us": together[1]}},
        "wall_us": max(together),
    }
    return line({"gemm": GEMM, "gather": GATHER}, measured, **more)


def pair(gemm: float, gather: float, together: tuple[float, float], **more: Any) -> Record:
    """:func:`pair_line` as a record."""
    return Record.model_validate(pair_line(gemm, gather, together, **more))


def as_measured(node: Node, records: list[Record]) -> list[Record]:
    """*records* with what the simulator predicts on *node* in place of their isolated times."""
    found = []
    for each in records:
        times = {case.task: case.predicted for case in compare_record(node, each)}
        found.append(each.changed(measured__isolated=times))
    return found


def write(path: Path, *lines: dict[str, Any]) -> Path:
    """A record file."""
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return path
