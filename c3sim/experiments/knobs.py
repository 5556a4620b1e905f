"""The knobs that :mod:`c3sim.experiments.advice` tries: settings of a workload, and what they cost
who uses them. Nothing of the hardware is a knob.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from c3sim.evaluation.strategies.rewrites import (
    collective_of,
    collectives,
    compute_tasks,
    launch_order,
    streams_of,
)
from c3sim.iterations.mesh import mesh_of
from c3sim.models.hierarchy import plan_collective
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.paths import set_value
from c3sim.spec.schedules.pair import pairs_of
from c3sim.spec.workload import Collective, Schedule, Workload

Rewrite = Callable[[Workload], Workload]


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in words, and what it makes of a workload on a node."""

    text: str
    values: tuple[tuple[str, object], ...] = ()
    rewrite: Rewrite | None = None

    def on(self, node: Node, workload: Workload) -> Workload:
        """*workload* with it. Raises InputError(s): it is not allowed there."""
        for path, value in self.values:
            _, workload = set_value(node, workload, path, value)
        if self.rewrite is not None:
            workload = self.rewrite(workload)
        check_on_node(workload, node)
        return workload


@dataclass(frozen=True, slots=True)
class Knob:
    """*settings* to try; *cost*: what a user pays for one; *missing*: why there are none."""

    name: str
    settings: tuple[Setting, ...]
    cost: str
    missing: str = ""


def _set(path: str, *values: object) -> tuple[Setting, ...]:
    return tuple(Setting(f"{path}={value}", ((path, value),)) for value in values)


def knobs_of(workload: Workload, node: Node) -> list[Knob]:
    """All knobs, those first that are nearest to a collective."""
    return [
        _channels(workload, node),
        _engines(workload, node),
        _order(workload),
        _priority(workload),
        _queues(workload),
        _pieces(workload, node),
        _prefetch(workload, node),
    ]


def _of_library(workload: Workload) -> list[Collective]:
    tasks = [collective_of(workload, name) for name in collectives(workload)]
    return [task for task in tasks if not task.on_engines]


def _channels(workload: Workload, node: Node) -> Knob:
    cost = "an environment variable for the whole job (NCCL_MIN_CTAS and NCCL_MAX_CTAS)"
    used = _of_library(workload)
    if not used:
        return Knob("channels", (), cost, "no collective is on compute units")
    rules = node.collective_library(used[0].backend).channels
    usual = max(plan_collective(node, task).channels for task in used)
    counts = {max(1, usual // 4), max(1, usual // 2), 3 * usual // 4, 2 * usual}
    counts = {count for count in counts if count <= rules.maximum} - {usual}
    return Knob("channels", _set("tasks[kind=collective].channels", *sorted(counts)), cost)


def _engines(workload: Workload, node: Node) -> Knob:
    cost = "registered buffers; a library version that has engines carry collectives"
    used = _of_library(workload)
    use = node.collective_library(used[0].backend).engines if used else None
    if use is None:
        why = "its library has no engines" if used else "no collective is on compute units"
        return Knob("engines", (), cost, why)
    ops = [op for op in use.operations if any(task.op == op for task in used)]
    if not ops:
        return Knob("engines", (), cost, "engines carry none of its collectives")
    path = "tasks[kind=collective,op={}].by"
    alone = [_set(path.format(op), "engines")[0] for op in ops]
    every = Setting(
        "all of " + ", ".join(ops) + " by engines",
        tuple((path.format(op), "engines") for op in ops),
    )
    return Knob("engines", (*alone, every) if len(ops) > 1 else tuple(alone), cost)


def _order(workload: Workload) -> Knob:
    cost = "another order of calls in the program"
    if isinstance(workload, Described):
        return Knob("order", (), cost, "the framework's own in a step; prefetch and queues move it")
    exchanged, computing = frozenset(collectives(workload)), frozenset(compute_tasks(workload))
    if not (exchanged and computing):
        return Knob("order", (), cost, "one side only")

    def first(names: frozenset[str]) -> Rewrite:
        return lambda given: launch_order(given, lambda name: float(name not in names))

    settings = (
        Setting("collectives launched first", (), first(exchanged)),
        Setting("compute launched first", (), first(computing)),
    )
    return Knob("order", settings, cost)


def _priority(workload: Workload) -> Knob:
    cost = "an option of the stream, or of the process group"
    exchanged, computing = collectives(workload), compute_tasks(workload)
    own = streams_of(workload, exchanged) - streams_of(workload, computing)
    if not own:
        return Knob("priority", (), cost, "collectives have no stream of their own")
    values = tuple((f"stream.{name}.priority", 1) for name in sorted(own))
    return Knob("priority", (Setting("collectives at high priority", values),), cost)


def _queues(workload: Workload) -> Knob:
    cost = "an environment variable (CUDA_DEVICE_MAX_CONNECTIONS, GPU_MAX_HW_QUEUES)"
    streams = {task.stream or name for name, task in workload.tasks.items()}
    counts = [count for count in (1, 2, 4, 8) if count < len(streams)]
    if not counts:
        return Knob("queues", (), cost, "one stream")
    return Knob("queues", _set("workload.host.queues", *counts), cost)


def _pieces(workload: Workload, node: Node) -> Knob:
    cost = "a kernel or a program that works in pieces"
    if isinstance(workload, Described):
        sharded = mesh_of(workload.iteration, node).fsdp
        if sharded is not None:
            own = "attention and network wrapped by themselves"
            settings = () if sharded.pieces == 2 else _set(_of_shards(workload, "pieces"), 2)
            return Knob("pieces", settings, own, "" if settings else "it has two")
        return Knob("pieces", (), cost, "for data parallel in shards")
    if workload.schedule is not None:
        return Knob("pieces", (), cost, "it has a schedule")
    if (count := len(pairs_of(workload))) != 1:
        missing = "for a GEMM and a collective of which one waits for the other"
        return Knob("pieces", (), cost, f"{missing}, one such pair; here are {count or 'none'}")

    def cut(count: int) -> Rewrite:
        return lambda given: given.changed(schedule=Schedule(pieces=count))

    settings = tuple(Setting(f"{count} pieces", (), cut(count)) for count in (2, 4, 8))
    return Knob("pieces", settings, cost)


def _prefetch(workload: Workload, node: Node) -> Knob:
    cost = "memory for the weights of so many layers more"
    step = workload if isinstance(workload, Described) else None
    sharded = None if step is None else mesh_of(step.iteration, node).fsdp
    if step is None or sharded is None:
        return Knob("prefetch", (), cost, "for data parallel in shards")
    others = [count for count in (0, 1, 2, 3) if count != sharded.prefetch]
    return Knob("prefetch", _set(_of_shards(step, "prefetch"), *others), cost)


def _of_shards(workload: Described, field: str) -> str:
    """The path of a *field* of data parallel in shards, by kind or by names of dimensions."""
    nested = isinstance(workload.iteration.parallel, tuple)
    return f"parallel.fsdp.{field}" if nested else f"parallel.{field}"
