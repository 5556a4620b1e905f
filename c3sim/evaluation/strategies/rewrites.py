"""Pure rewrites of a workload: launch order, priority, CU masks, channels, backend.

The input is never changed. A *compute* task is a kernel that works for itself (GEMM, stream
kernel); a *collective* talks to the other GPUs. The rewrites act on whole streams, since a stream
keeps the order of its tasks; a stream must not hold both.

Compute units divided between the parts of a workload by the CU masks of their streams.

Bit b of a mask belongs to die b mod dies, so the *count* highest bits, with *count* a multiple of
the dies, are the same number of CUs on each die.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from c3sim.errors import InputError
from c3sim.models.gemm import plan_gemm
from c3sim.models.hierarchy import collective_plan
from c3sim.models.latest import for_latest
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Collective, Gemm, Stream, Workload, task_order
from c3sim.tasks.plan import kind_of, plan

DMA_OPERATIONS = ("all_gather", "all_to_all")
STAYS = "on compute units: DMA engines copy and cannot reduce"  # how a note on it ends
REDUCTIONS = ("all_reduce", "reduce_scatter")  # of engines that can: a what-if
REWRITTEN = (
    8  # workloads whose rewrites are remembered: a loop moves a number of the node most often
)


def compute_tasks(workload: Workload) -> tuple[str, ...]:
    """GEMMs, stream kernels, and kernels of any kind."""
    return tuple(name for name, task in workload.tasks.items() if kind_of(task).works)


def collectives(workload: Workload) -> tuple[str, ...]:
    """Collectives, on whatever backend."""
    return tuple(name for name, task in workload.tasks.items() if isinstance(task, Collective))


def collective_of(workload: Workload, name: str) -> Collective:
    """The collective *name* of *workload*."""
    task = workload.tasks[name]
    assert isinstance(task, Collective)
    return task


@for_latest(REWRITTEN)
def plain(workload: Workload) -> Workload:
    """Compute tasks and collectives each in a stream, with neither priority nor mask.

    Raises InputError when one stream holds both: its order is the program's, not a strategy's to
    change.
    """
    used = {task.stream for task in workload.tasks.values()}
    tasks = {
        name: task.changed(stream=task.stream or _unused(name, used))
        for name, task in workload.tasks.items()
    }
    separate = workload.changed(tasks=tasks)
    both = streams_of(separate, compute_tasks(workload)) & streams_of(
        separate, collectives(workload)
    )
    if both:
        stream = min(both)
        needs = "a strategy needs them in streams of their own"
        raise InputError(f"stream {stream!r} holds compute tasks and collectives; {needs}", "tasks")
    touched = streams_of(separate, (*compute_tasks(workload), *collectives(workload)))
    return with_streams(separate, {name: Stream() for name in touched})


def launch_order(workload: Workload, rank: Callable[[str], float]) -> Workload:
    """Streams in order of *rank(first compute task or collective)*; the others stay in front."""
    kernels = {*compute_tasks(workload), *collectives(workload)}
    ranks: dict[str, float] = {}
    for name in task_order(workload):
        if name in kernels:
            ranks.setdefault(workload.tasks[name].stream or name, rank(name))
    order = sorted(
        task_order(workload),
        key=lambda name: ranks.get(workload.tasks[name].stream or name, float("-inf")),
    )
    return workload.changed(host__order=tuple(order))


def on_compute_units(workload: Workload, node: Node) -> Workload:
    """Collectives on DMA engines go to the first library that has them. Raises InputError."""
    changes: dict[str, Mapping[str, Any]] = {}
    for name in collectives(workload):
        task = collective_of(workload, name)
        if task.by == "engines":
            fields = ("direction", "engines", "variant", "ways", "by")
            changes[name] = dict.fromkeys(fields)
        elif task.backend == "dma":
            having = [
                key
                for key, library in node.collective_libraries.items()
                if task.op in library.algorithms
            ]
            if not having:
                message = f"no collective library of {node.name} has {task.op!r}"
                raise InputError(message, f"tasks.{name}.op")
            changes[name] = {
                "backend": having[0],
                **dict.fromkeys(("direction", "engines", "variant", "ways")),
            }
    return with_tasks(workload, changes)


def on_dma(workload: Workload, node: Node) -> Workload:
    """Collectives on DMA engines; those that *node*'s engines cannot reduce stay where they are.
    Raises InputError where all would stay.
    """
    names, moving = collectives(workload), movable(workload, node)
    if names and not moving:
        op, allowed = collective_of(workload, names[0]).op, ", ".join(DMA_OPERATIONS)
        message = f"DMA engines copy and cannot reduce, so not {op!r}; allowed: {allowed}"
        raise InputError(message, f"tasks.{names[0]}.op")
    fields = ("channels", "algorithm", "protocol", "by")
    change = {"backend": "dma", **dict.fromkeys(fields)}
    return _changed(workload, moving, tuple(change.items()))


def movable(workload: Workload, node: Node) -> tuple[str, ...]:
    """Collectives that the DMA engines of *node* can carry."""
    staying = reduced(workload, node)
    return tuple(name for name in collectives(workload) if name not in staying)


def reduced(workload: Workload, node: Node) -> tuple[str, ...]:
    """Collectives that reduce, where the DMA engines of *node* cannot."""
    if node.gpu.dma_engines.reduce_bandwidth is not None:
        return ()
    names = collectives(workload)
    return tuple(n for n in names if collective_of(workload, n).op not in DMA_OPERATIONS)


def on_engines(workload: Workload) -> tuple[str, ...]:
    """Collectives on DMA engines."""
    names = collectives(workload)
    return tuple(name for name in names if collective_of(workload, name).on_engines)


def staying_note(strategy: str, workload: Workload, node: Node) -> str | None:
    """Words on the collectives of *workload* that could not follow the others to DMA engines, where
    a *strategy* took these there.
    """
    if strategy == "as_written":
        return None
    ops = dict.fromkeys(collective_of(workload, name).op for name in reduced(workload, node))
    if not ops or not on_engines(workload):
        return None
    stay = "stays" if len(ops) == 1 else "stay"
    return f"{' and '.join(ops)} {stay} {STAYS}"


def baseline(workload: Workload, node: Node) -> Workload:
    """The workload that gives all isolated times: no masks, collectives on compute units."""
    return _computing_first(on_compute_units(plain(workload), node))


@for_latest(REWRITTEN)
def _computing_first(workload: Workload) -> Workload:
    first = frozenset(compute_tasks(workload))
    return launch_order(workload, lambda name: float(name not in first))


def prioritised(workload: Workload, node: Node) -> Workload:
    """Kernels with fewer workgroups are launched first.

    Order decides only between kernels that are released together. A kernel that waits for another
    task, follows one in its stream, or repeats, comes after what is queued by then; its stream gets
    a higher priority as well.
    """
    shapes = plan(workload, node).shapes
    count = {name: shapes[name].workgroups if name in shapes else 0 for name in workload.tasks}
    ordered = launch_order(workload, lambda name: count[name])
    kernels = [name for name in task_order(ordered) if name in shapes]
    first = ordered.tasks[kernels[0]].stream if kernels else None
    if first is None:
        return ordered
    members = [task for task in ordered.tasks.values() if task.stream == first]
    late = len(members) > 1 or any(task.after or task.repeat > 1 for task in members)
    highest = max((s.priority for name, s in ordered.streams.items() if name != first), default=0)
    stream = ordered.streams.get(first, Stream())
    if not late:
        return ordered
    return with_streams(ordered, {first: stream.changed(priority=highest + 1)})


def streams_of(workload: Workload, tasks: Iterable[str]) -> set[str]:
    """Streams of *tasks*."""
    return {stream for name in tasks if (stream := workload.tasks[name].stream) is not None}


@for_latest(REWRITTEN)
def _changed(
    workload: Workload, names: tuple[str, ...], change: tuple[tuple[str, Any], ...]
) -> Workload:
    """*workload* with the same *change* of the tasks *names*."""
    return with_tasks(workload, {name: dict(change) for name in names})


def with_tasks(workload: Workload, changes: Mapping[str, Mapping[str, Any]]) -> Workload:
    """*workload* with these fields of these tasks changed."""
    if not changes:
        return workload
    tasks = {
        name: task.changed(**changes[name]) if name in changes else task
        for name, task in workload.tasks.items()
    }
    return workload.changed(tasks=tasks)


def with_streams(workload: Workload, streams: Mapping[str, Stream]) -> Workload:
    """*workload* with these streams; those that say nothing are left out."""
    merged = {**workload.streams, **streams}
    kept = {name: merged[name] for name in sorted(merged) if merged[name] != Stream()}
    return workload.changed(streams=kept)


def _unused(name: str, used: Collection[str | None]) -> str:
    """Name for the stream of task *name*, none of those in *used*."""
    while name in used:
        name += "-"
    return name


PER_DIE = (1, 2, 4, 8, 16)  # CUs of each die to try for the collective


def splits(node: Node) -> tuple[int, ...]:
    """Numbers of CUs to try for the collective, as far as half of the CUs stay."""
    counts = (node.gpu.dies.count * per_die for per_die in PER_DIE)
    return tuple(count for count in counts if 2 * count <= node.gpu.compute_unit_count)


def reserved(workload: Workload, node: Node, count: int) -> Workload:
    """The *count* highest CUs, and no more channels, for collectives; the others for the rest."""
    units, names = node.gpu.compute_unit_count, collectives(workload)
    changes: dict[str, Mapping[str, Any]] = {}
    for name in names:
        task = collective_of(workload, name)
        most = count * node.collective_library(task.backend).channels.channels_per_unit
        if collective_plan(node, task).channels > most:
            changes[name] = {"channels": most}
    compute = streams_of(workload, compute_tasks(workload))
    parted = masked(workload, compute, _mask(0, units - count))
    communication = streams_of(workload, names)
    return with_tasks(masked(parted, communication, _mask(units - count, units)), changes)


def withheld(workload: Workload, node: Node, streams: Iterable[str]) -> Workload:
    """One CU of each die, the highest bits, left idle by *streams*."""
    return masked(workload, streams, _mask(0, node.gpu.compute_unit_count - node.gpu.dies.count))


def is_memory_bound(node: Node, task: Gemm) -> bool:
    """Decide whether to move operands and result once takes longer than the tiles on all CUs."""
    plan, gpu = plan_gemm(node.gpu, task), node.gpu
    memory = task.operand_bytes / (gpu.hbm.bandwidth * gpu.hbm.read_efficiency)
    flops_per_cycle = gpu.compute_units.flops_per_cycle[task.dtype]
    peak = gpu.compute_unit_count * flops_per_cycle * gpu.clock.maximum
    return memory > plan.flops_per_tile * plan.tiles / peak


def memory_bound_streams(workload: Workload, node: Node) -> set[str]:
    """Streams whose compute tasks are GEMMs, all of them memory-bound."""
    names = compute_tasks(workload)
    others = [
        name
        for name in names
        if not (isinstance(task := workload.tasks[name], Gemm) and is_memory_bound(node, task))
    ]
    return streams_of(workload, names) - streams_of(workload, others)


def masked(workload: Workload, streams: Iterable[str], mask: str) -> Workload:
    """*workload* with this CU mask for *streams*."""
    changes = {
        name: workload.streams.get(name, Stream()).changed(compute_units=mask) for name in streams
    }
    return with_streams(workload, changes)


def _mask(first: int, end: int) -> str:
    return f"{first}-{end - 1}"
