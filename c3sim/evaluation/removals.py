"""What-ifs: an overlap without its releases, packets or tails, and each side of it by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from c3sim.models.gemm import plan_gemm
from c3sim.specs.hardware import Node
from c3sim.specs.task import Stores
from c3sim.specs.workload import Gemm, Task, Workload, parse_after

#: What the host pays for commands of engines (specs/host.py).
_OF_COMMANDS = (
    *("copy_time", "first_copy_time", "pull_time", "batch_time", "batch_copy_time"),
    *("packet_time", "doorbell_time", "signal_time"),
)


def unpublished(workload: Workload) -> Workload:
    """Without releases and flags behind tiles."""
    return _with(
        workload,
        {
            name: task.model_copy(update={"publish": None})
            for name, task in workload.tasks.items()
            if isinstance(task, Gemm | Stores) and task.publish is not None
        },
    )


def filled(workload: Workload, node: Node) -> Workload:
    """With GEMMs whose last round of tiles leaves no compute unit idle: quicker by the share of
    places in their rounds that have no tile. Stream-K has no such round.
    """
    units, quicker = node.gpu.compute_unit_count, {}
    for name, task in workload.tasks.items():
        if isinstance(task, Gemm):
            plan = plan_gemm(node.gpu, task)
            places = ceil(plan.tiles / units) * units
            if plan.schedule != "stream_k" and places > plan.tiles:
                speed = task.speed * places / plan.tiles
                quicker[name] = task.model_copy(update={"speed": speed})
    return _with(workload, quicker)


def without_packets(node: Node) -> Node:
    """*node* on which packets, and the calls that submit them, take no time."""
    host = node.host.model_copy(update=dict.fromkeys(_OF_COMMANDS, 0.0))
    engines = node.gpu.dma_engines.model_copy(update={"packet_time": 0.0})
    gpu = node.gpu.model_copy(update={"dma_engines": engines})
    return node.model_copy(update={"host": host, "gpu": gpu})


def side(workload: Workload, *, gemms: bool) -> Workload:
    """The GEMMs of *workload* without the rest; else the rest, which moves or adds, without them.
    Tasks wait for what is left.
    """
    kept = {name for name, task in workload.tasks.items() if isinstance(task, Gemm) == gemms}

    def left(waits: Sequence[str]) -> tuple[str, ...]:
        return tuple(on for on in waits if parse_after(on).task in kept)

    tasks = {}
    for name, task in workload.tasks.items():
        if name in kept:
            waits = {"after": left(task.after), "launch_after": left(task.launch_after)}
            tasks[name] = task.model_copy(update=waits)
    host = workload.host.model_copy(update={"order": left(workload.host.order)})
    return workload.model_copy(update={"tasks": tasks, "host": host})


def _with(workload: Workload, tasks: Mapping[str, Task]) -> Workload:
    if not tasks:
        return workload
    return workload.model_copy(update={"tasks": {**workload.tasks, **tasks}})
