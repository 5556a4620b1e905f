"""What a loop ran, as a workload: ``loop`` of a trace (validation/frameworks/turns.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MIB = 1 << 20
#: [s] How far apart processes leave a barrier of the host. A condition of the measurement, not a
#: part of the model: the first kernels of two ranks are 14 to 44 us apart (skew_us of the barrier
#: loops in validation/data/h200/loops-run1.jsonl); in the mean, two ranks are a third of it apart.
BARRIER_JITTER = 100e-6
ROLES = {"peer": "copy"}  # of the driver's tasks that have another name in workloads


def loop_workload(loop: Mapping[str, Any], backend: str = "nccl") -> dict[str, Any]:
    """The workload of a trace's ``loop``: case, mode, tasks by role, order, turns."""
    barrier = loop["mode"] == "barrier"
    host: dict[str, Any] = {
        "release": "host" if barrier else "per_rank",
        "loop": {"iterations": loop["turns"], "barrier": barrier},
        "order": [ROLES.get(role, role) for role in loop["order"]],
    }
    if barrier:
        host |= {"jitter": BARRIER_JITTER, "profile": "framework"}
    tasks = {ROLES.get(role, role): _task(task, backend) for role, task in loop["tasks"].items()}
    if loop["mode"] == "serial":
        for task in tasks.values():
            task["stream"] = "control"
    if loop["mode"] == "async" and host["order"][0] == "gemm":
        for name in set(tasks) - {"gemm"}:  # it waits for all that its stream has launched before
            tasks[name]["after"] = ["gemm"]
    return {"schema": 1, "name": f"{loop['name']}, {loop['mode']}", "tasks": tasks, "host": host}


def _task(task: Mapping[str, Any], backend: str) -> dict[str, Any]:
    kind = task["kind"]
    if kind == "gemm":
        shape = {axis: task[axis] for axis in ("m", "n", "k")}
        return {"kind": "gemm", **shape, "inputs": "warm", "data": "random"}
    size = task["mib"] * MIB
    if kind == "collective":
        return {"kind": "collective", "op": task["op"], "size": size, "backend": backend}
    if kind == "stream":
        return {"kind": "stream", "pattern": task["pattern"], "bytes": size, "inputs": "warm"}
    if kind == "copy":
        return {"kind": "copy", "bytes": size, "destination": "gpu", "gpus": "all"}
    pull = {"source": "peer", "destination": "gpu"} if task["direction"] == "pull" else {}
    return {"kind": "copy", "bytes": size, "gpus": "all", "mapping": "ipc", **pull}
