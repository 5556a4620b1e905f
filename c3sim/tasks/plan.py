"""Every kind of task, and the plan of a workload: each task resolved once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.processes.plan import Plan, Planned, Scene
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Task, Workload, task_order
from c3sim.tasks.collective import CollectiveKind
from c3sim.tasks.commands import CommandsKind
from c3sim.tasks.copy import CopyKind
from c3sim.tasks.gemm import GemmKind
from c3sim.tasks.hold import HoldKind
from c3sim.tasks.host import HostKind
from c3sim.tasks.kernel import KernelKind
from c3sim.tasks.kind import Kind
from c3sim.tasks.stores import StoresKind
from c3sim.tasks.stream import StreamKind

#: By the kind that a file says.
KINDS: Mapping[str, Kind[Any]] = {
    "gemm": GemmKind(),
    "stream": StreamKind(),
    "kernel": KernelKind(),
    "stores": StoresKind(),
    "hold": HoldKind(),
    "collective": CollectiveKind(),
    "copy": CopyKind(),
    "commands": CommandsKind(),
    "host": HostKind(),
}


def kind_of(task: Task) -> Kind[Any]:
    """The kind of *task*."""
    return KINDS[task.kind]


def plan(workload: Workload, node: Node) -> Plan:
    """Every task of *workload*, which has been checked on *node*, resolved."""
    scene = Scene(node, workload)
    tasks = {
        name: kind_of(task).resolve(name, task, scene) for name, task in workload.tasks.items()
    }
    return Plan(scene, tasks, task_order(workload))


def resolved(workload: Workload, node: Node, name: str) -> Planned[Any]:
    """Task *name* of *workload* alone."""
    task = workload.tasks[name]
    return kind_of(task).resolve(name, task, Scene(node, workload))


def payload_bytes(node: Node, task: Task) -> float | None:
    """Bytes [B] that *task* moves for its user, on all GPUs; None: its purpose is not to move any
    (GEMM, hold, host).
    """
    payload: float | None = kind_of(task).payload(task, node)
    return payload
