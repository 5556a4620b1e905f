"""What a study of kind ``keep_or_stream`` tries: policies of transfers and operands."""

from __future__ import annotations

from collections.abc import Callable

from c3sim.input.paths import set_si
from c3sim.specs.cache_policy import OperandPolicy, Policy, TransferPolicy
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Collective, Copy, Gemm, Workload

NONE = "none"
Tried = Callable[[Node, Workload], tuple[Node, Workload]]
CAPACITY = "gpu.memory_side_cache.capacity"


def transfers(policy: Policy) -> Tried:
    """Collectives and copies have *policy* at the memory-side cache."""

    def tried(node: Node, workload: Workload) -> tuple[Node, Workload]:
        tasks = {
            name: task.model_copy(update={"cache": TransferPolicy(memory_side=policy)})
            if isinstance(task, Collective | Copy)
            else task
            for name, task in workload.tasks.items()
        }
        return node, workload.model_copy(update={"tasks": tasks})

    return tried


def keep(node: Node, workload: Workload) -> tuple[Node, Workload]:
    """Both operands of GEMMs leave last; nothing is set aside for them."""
    kept = OperandPolicy(a="keep", b="keep", memory_side="keep")
    tasks = {
        name: task.model_copy(update={"cache": kept}) if isinstance(task, Gemm) else task
        for name, task in workload.tasks.items()
    }
    return node, workload.model_copy(update={"tasks": tasks})


def keep_set_aside(node: Node, workload: Workload) -> tuple[Node, Workload]:
    """The same in lines that the host has set aside."""
    node, workload = keep(node, workload)
    host = workload.host.model_copy(update={"set_aside": True})
    return node, workload.model_copy(update={"host": host})


def stream_and_keep(node: Node, workload: Workload) -> tuple[Node, Workload]:
    return keep(*transfers("stream")(node, workload))


def twice(node: Node, workload: Workload) -> tuple[Node, Workload]:
    """Twice the memory-side cache."""
    cache = node.gpu.memory_side_cache
    assert cache is not None  # asked before
    return set_si(node, workload, CAPACITY, 2 * cache.capacity)


TRIED: dict[str, Tried] = {
    NONE: lambda node, workload: (node, workload),
    "transfers_stream": transfers("stream"),
    "transfers_bypass": transfers("bypass"),
    "gemm_keep": keep,
    "gemm_keep_set_aside": keep_set_aside,
    "stream_and_keep": stream_and_keep,
    "twice_the_cache": twice,
}


def warm(workload: Workload) -> Workload:
    """Operands as the last turn of a loop left them."""
    tasks = {
        name: task.model_copy(update={"inputs": "warm"}) if isinstance(task, Gemm) else task
        for name, task in workload.tasks.items()
    }
    return workload.model_copy(update={"tasks": tasks})
