"""Isolated times of equal tasks come from one simulation."""

from __future__ import annotations

from c3sim.input.loading import load_hardware, parse_workload
from c3sim.simulation import runs


def test_a_task_is_simulated_once_whatever_its_name() -> None:
    """Three layers of the same two tasks, in one stream, waiting for each other: two runs."""
    tasks: dict[str, object] = {}
    for i in range(3):
        tasks[f"gemm{i}"] = {"kind": "gemm", "stream": "s", "m": 256, "n": 256, "k": 256}
        tasks[f"copy{i}"] = {
            "kind": "stream",
            "stream": "s",
            "bytes": "1 MiB",
            "after": [f"gemm{i}"],
        }
    node = load_hardware("teaching-4").node
    workload = parse_workload({"schema": 1, "name": "w", "node": "teaching-4", "tasks": tasks})
    runs.forget()
    ends = [runs.isolated(node, workload, name).end for name in workload.tasks]
    assert len(runs._runs) == 2
    assert ends[0] == ends[2] == ends[4] and ends[1] == ends[3] == ends[5]
