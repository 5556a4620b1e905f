"""Cache policies of tasks: they keep, stream or bypass, or the cache is larger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from c3sim.cachelab.gemm import paced_by
from c3sim.cachelab.machine import machine_of, machines
from c3sim.experiments.axes import Settings
from c3sim.experiments.study import Row
from c3sim.simulation.runs import run_once
from c3sim.spec.cache_policy import OperandPolicy, Policy, TransferPolicy
from c3sim.spec.hardware import Node
from c3sim.spec.reading.paths import set_si
from c3sim.spec.workload import Collective, Copy, Gemm, Workload

NONE = "none"


SET_ASIDE = "gemm_keep_set_aside"  # what it loses hides what the others gain


CAPACITY = "gpu.memory_side_cache.capacity"


Tried = Callable[[Node, Workload], tuple[Node, Workload]]


def _each(kinds: Any, **update: object) -> Tried:
    """Tasks of *kinds* with the fields of *update*."""

    def tried(node: Node, workload: Workload) -> tuple[Node, Workload]:
        tasks = {
            name: task.changed(**update) if isinstance(task, kinds) else task
            for name, task in workload.tasks.items()
        }
        return node, workload.changed(tasks=tasks)

    return tried


def _transfers(policy: Policy) -> Tried:
    return _each(Collective | Copy, cache=TransferPolicy(memory_side=policy))


keep = _each(Gemm, cache=OperandPolicy(a="keep", b="keep", memory_side="keep"))


warm = _each(Gemm, inputs="warm")


def _set_aside(node: Node, workload: Workload) -> tuple[Node, Workload]:
    """Operands kept in lines that the host has set aside."""
    node, workload = keep(node, workload)
    return node, workload.changed(host__set_aside=True)


def _twice(node: Node, workload: Workload) -> tuple[Node, Workload]:
    cache = node.gpu.memory_side_cache
    assert cache is not None  # asked before
    return set_si(node, workload, CAPACITY, 2 * cache.capacity)


TRIED: dict[str, Tried] = {
    NONE: lambda node, workload: (node, workload),
    "transfers_stream": _transfers("stream"),
    "transfers_bypass": _transfers("bypass"),
    "gemm_keep": keep,
    SET_ASIDE: _set_aside,
    "stream_and_keep": lambda node, workload: keep(*_transfers("stream")(node, workload)),
    "twice_the_cache": _twice,
}


def walls_of(node: Node, workload: Workload, several: Sequence[Settings]) -> Row:
    """Wall times [s] by policy, at each of *several* settings; lines of GEMMs are followed at the
    rates of *node* in all of them.
    """
    walls = Row({policy: [] for policy in TRIED})
    with paced_by(machine_of(node) if node.gpu.name in machines() else None):
        for settings in several:
            there, changed = node, workload
            for path, value in settings:
                there, changed = set_si(there, changed, path, value)
            for policy, tried in TRIED.items():
                walls[policy].append(run_once(*tried(there, changed), energy=False).end)
    return walls
