"""Checks of a workload on a node: what its tasks, host and streams need and the node may lack."""

from __future__ import annotations

from c3sim.errors import InputError, InputErrors
from c3sim.spec.cache_policy import TransferPolicy
from c3sim.spec.hardware import Node
from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.reading.checks.kind import Errors, below
from c3sim.spec.reading.checks.kinds import CHECKS
from c3sim.spec.reading.documents import join
from c3sim.spec.schedules import expanded
from c3sim.spec.words import unknown_errors
from c3sim.spec.workload import Task, Workload, parse_after


def check_on_node(workload: Workload, node: Node) -> None:
    """Raises InputErrors, all that were found, unless *workload* can run on *node*."""
    try:
        errors = list(_errors(expanded(workload, node), node))
    except InputError as error:  # a schedule that cannot be written out
        errors = [error]
    if errors:
        raise InputErrors(errors)


def _errors(workload: Workload, node: Node) -> Errors:
    for name, task in workload.tasks.items():
        yield from below(join("tasks", name), _task_errors(task, node))
    if workload.host.prelaunched and "poll" not in node.gpu.dma_engines.commands:
        message = f"the DMA engines of {node.name} have no command that polls; prelaunch needs one"
        yield InputError(message, "host.prelaunched")
    if workload.host.set_aside and (node.gpu.cache_policies is None or not node.gpu.shared_cache):
        message = f"{node.gpu.name} does not support a persisting L2"
        yield InputError(message, "host.set_aside")
    if workload.host.profile is not None:
        yield from unknown_errors(
            "host profile", workload.host.profile, node.host_profiles, "host.profile"
        )
    if workload.host.slowness is not None and workload.host.profile is None:
        yield InputError("is of the calls of a profile; needs host.profile", "host.slowness")
    for name, stream in workload.streams.items():
        try:
            parse_cu_mask(stream.compute_units, node.gpu.compute_unit_count)
        except InputError as error:
            yield InputError(error.message, join("streams", name, "compute_units"))


def _task_errors(task: Task, node: Node) -> Errors:
    yield from _owner_errors(task, node)
    yield from _size_errors(task, node)
    yield from _cache_errors(task, node)
    yield from CHECKS[task.kind].on_node(task, node)


def _cache_errors(task: Task, node: Node) -> Errors:
    """A policy needs a GPU whose policies are known, and levels that it has."""
    policy: TransferPolicy | None = getattr(task, "cache", None)
    if policy is None or policy == type(policy)():
        return
    if node.gpu.cache_policies is None:
        message = f"{node.gpu.name} gives no cache_policies; what a policy does there"
        yield InputError(message, "cache")
    if policy.memory_side is not None and node.gpu.memory_side_cache is None:
        message = f"{node.gpu.name} has no memory-side cache; its last cache is l2"
        yield InputError(message, "cache.memory_side")


def _size_errors(task: Task, node: Node) -> Errors:
    """Mistakes: the operands of one task must fit into the memory of a GPU."""
    size, capacity = task.operand_bytes, node.gpu.hbm.capacity
    if size > capacity:
        fields = type(task).model_fields
        where = next((name for name in ("size", "bytes") if name in fields), "")
        needs, has = f"{size / 2**30:.4g} GiB", f"{capacity / 2**30:.4g} GiB"
        yield InputError(f"needs {needs}; a GPU of {node.name} has {has} of memory", where)


def _owner_errors(task: Task, node: Node) -> Errors:
    """``gemm.tiles[peer 9]`` where there is none."""
    for i, text in enumerate(task.after):
        peer = parse_after(text).peer if "peer" in text else None
        if peer is not None and peer >= node.gpus:
            message = f"{text!r}: peers are 0 (the GPU itself) to {node.gpus - 1} further round"
            yield InputError(message, join("after", i))
