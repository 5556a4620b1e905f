"""Variants of the collectives on DMA engines, and those that isolated runs recommend beside compute
tasks.

A variant is a command program (``processes/dma/collectives.py``), on one or several engines where
that is free, prelaunched or not. With T_g and T_v the times alone of the compute tasks and of a
collective by variant v, M_g and M_v the times that the memory of a GPU takes for what each reads
and writes:

    hidden       T_v (1 + M_g / T_g) <= T_g: it ends before the compute tasks even if it waits for
                 all the memory time that they take meanwhile
    recommended  of the hidden variants the one with the least M_v, of equal ones the quickest
                 alone: ending sooner gains nothing, and what it moves costs the compute tasks
                 memory and power. If none is hidden, the quickest alone. The first on a tie

Nothing that overlaps is simulated: a runtime has to know times alone, bytes and the bandwidth of
the memory. M counts operands and results of compute tasks once, as if caches held them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from c3sim.input.checks.on_node import NEEDS
from c3sim.models.memory import ARRAYS, memory_given
from c3sim.simulation.runs import isolated
from c3sim.specs.hardware import Node
from c3sim.specs.kernel import Kernel
from c3sim.specs.workload import DTYPE_BYTES, Collective, Gemm, StreamKernel, Workload
from c3sim.strategies.rewrites import collectives, compute_tasks, with_tasks

ONLY = {"bcst": "all_gather", "swap": "all_to_all"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A command *program*, on so many *engines* where it leaves that open, *prelaunched* or not."""

    program: str
    engines: int | None = None
    prelaunched: bool = False

    @property
    def name(self) -> str:
        """As in output: ``pcpy``, ``b2b:2_pl``."""
        return (
            self.program + (f":{self.engines}" if self.engines else "") + "_pl" * self.prelaunched
        )


@dataclass(frozen=True, slots=True)
class RecommendedVariants:
    """The variant of each collective, and by name the times alone [s] of all of them."""

    variants: Mapping[str, Variant]
    alone: Mapping[str, Mapping[str, float]]


def variants(node: Node, op: str) -> tuple[Variant, ...]:
    """What the engines of *node* can do for *op*: pcpy first, each prelaunched after itself.

    Back to back on 1, 2, 4 ... engines: fewer than the peers (one for each is pcpy), and no more
    than there are.
    """
    commands, most = node.gpu.dma_engines.commands, min(node.gpus - 2, node.gpu.dma_engines.count)
    names = [
        name for name, command in NEEDS.items() if command in commands and ONLY.get(name, op) == op
    ]
    if node.nodes > 1:
        names = ["pcpy"]  # the others are for the GPUs of one node
    counts = [2**power for power in range(1, 10) if 2**power <= most] if "b2b" in names else []
    programs = [(name, None) for name in names] + [("b2b", count) for count in counts]
    prelaunch = (False, True) if "poll" in commands else (False,)
    return tuple(Variant(name, engines, late) for name, engines in programs for late in prelaunch)


def with_variants(workload: Workload, chosen: Mapping[str, Variant]) -> Workload:
    """*workload*, on DMA engines already, with these variants; prelaunch is the host's."""
    changes = {name: {"variant": v.program, "engines": v.engines} for name, v in chosen.items()}
    host = workload.host.model_copy(
        update={"prelaunched": any(v.prelaunched for v in chosen.values())}
    )
    return with_tasks(workload, changes).model_copy(update={"host": host})


def recommended_variants(workload: Workload, node: Node) -> RecommendedVariants:
    """For every collective of *workload*, which are on DMA engines already."""
    compute = sum(isolated(node, workload, name).end for name in compute_tasks(workload))
    memory = sum(_memory_time(node, *_touched(workload, name)) for name in compute_tasks(workload))
    names = collectives(workload)
    alone: dict[str, dict[str, float]] = {}
    ranked: dict[bool, dict[str, tuple[tuple[float, ...], Variant]]] = {}
    for name in names:
        task = workload.tasks[name]
        assert isinstance(task, Collective)
        alone[name] = {}
        for variant in variants(node, task.op):
            time = isolated(node, with_variants(workload, {name: variant}), name).end
            alone[name][variant.name] = time
            moved = _memory_time(node, *moved_bytes(task, variant.program, node.ranks))
            hidden = 0 < time * (compute + memory) <= compute * compute  # not behind nothing
            rank = (0.0, moved, time) if hidden else (1.0, time)
            best = ranked.setdefault(variant.prelaunched, {})
            if name not in best or rank < best[name][0]:
                best[name] = (rank, variant)
    # Prelaunch is one for all: by the collective that is worst off.
    prelaunched = min(
        ranked, key=lambda key: max((rank for rank, _ in ranked[key].values()), default=(0.0,))
    )
    chosen = {name: ranked[prelaunched][name][1] for name in names}
    return RecommendedVariants(chosen, alone)


def moved_bytes(task: Collective, program: str, gpus: int) -> tuple[float, float]:
    """Bytes read from and written to the memory of one GPU: a broadcast reads once for two peers,
    what is reduced is read where it is added as well, and an all-reduce gathers afterwards.
    """
    chunk, peers = task.size * task.repeat / gpus, gpus - 1
    if task.op in ("reduce_scatter", "all_reduce"):
        gathered = float(task.op == "all_reduce")
        return chunk * peers * (2 + gathered), chunk * peers * (1 + gathered)
    return chunk * ((peers + 1) // 2 if program == "bcst" else peers), chunk * peers


def _touched(workload: Workload, name: str) -> tuple[float, float]:
    """Bytes that a compute task reads and writes, each operand and result once."""
    task = workload.tasks[name]
    assert isinstance(task, Gemm | StreamKernel | Kernel)
    if isinstance(task, Kernel):
        return task.read * task.repeat, task.written * task.repeat
    if isinstance(task, StreamKernel):
        read, written = ARRAYS[task.pattern]
        size = task.bytes * task.passes * task.repeat
        return read * size, written * size
    size = DTYPE_BYTES[task.dtype] * task.batch * task.repeat
    return float(size * task.k * (task.m + task.n)), float(size * task.m * task.n)


def _memory_time(node: Node, read: float, written: float) -> float:
    """Time [s] of one GPU's memory for these bytes."""
    return (read + written) / memory_given(node.gpu, written / (read + written))
