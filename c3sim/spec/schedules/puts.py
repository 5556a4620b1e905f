"""A workload whose kernels that submit puts are tasks of their own.

Of ``gather``, posted and in a stream, become ``gather-puts``, a kernel of one wave in that stream,
and ``gather``, whose packets that wave posts. It is launched as any kernel, finds room on a compute
unit, loads its arguments and where the ring ends, and stays until it has posted.

Tasks of one stream that wait for groups of tiles of one kernel, ``gemm.tiles[25%]``, have one such
kernel together, named after the first of them. It begins beside *gemm*, waits inside for its flags,
and posts group by group.
"""

from __future__ import annotations

from collections.abc import Sequence

from c3sim.errors import InputError
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Task, Workload, parse_after

#: Loads of the kernel that wait for each other: of its arguments, of the end of a ring.
LOADS = 2
LOAD = 64.0  # bytes of one
#: Threads of the kernel: a wave, as a lane for each queue is what there is to do.
THREADS = 64
#: Most parts of which groups of tiles are whole numbers.
PARTS = 1000


def with_put_kernels(workload: Workload) -> Workload:
    """*workload* with a kernel in front of the tasks that one posts; as it is where none does.

    Raises InputError where a task has the name of such a kernel.
    """
    groups = _groups(workload)
    if not groups:
        return workload
    kernels = {name: group[0] + "-puts" for group in groups for name in group}
    before = {group[0]: _kernel(kernels[group[0]], group, workload) for group in groups}
    tasks: dict[str, Task] = {}
    for name, task in workload.tasks.items():
        if name in before:
            tasks[kernels[name]] = before[name]
        tasks[name] = _posted(kernels[name], task) if name in kernels else task
    order = [
        each
        for name in workload.host.order
        for each in ((kernels[name], name) if name in before else (name,))
    ]
    return workload.changed(tasks=tasks, host__order=tuple(order))


def by_own_kernel(task: Task) -> bool:
    """True if a kernel that does nothing else posts the packets of *task*: it has a stream."""
    return getattr(task, "posted", None) is not None and task.stream is not None


def _groups(workload: Workload) -> list[list[str]]:
    """Tasks that one kernel posts, for each kernel."""
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for name, task in workload.tasks.items():
        if by_own_kernel(task):
            watched = _watched(task)
            key = (name,) if watched is None else (task.stream, watched[0])
            groups.setdefault(key, []).append(name)
    return list(groups.values())


def _watched(task: Task) -> tuple[str, float] | None:
    """The kernel whose flags a kernel with puts watches, and the share of tiles that *task* needs;
    None: it begins when all of ``after`` have ended.
    """
    waits = [parse_after(text) for text in task.after]
    if len(waits) != 1 or waits[0].tiles is None:
        return None
    return waits[0].task, waits[0].tiles


def _kernel(called: str, group: Sequence[str], workload: Workload) -> Kernel:
    """The kernel that posts *group*, where no task has its name."""
    task = workload.tasks[group[0]]
    if called in workload.tasks:
        message = f"the kernel that posts it would be called {called!r}, as a task is; rename that"
        raise InputError(message, f"tasks.{group[0]}.posted")
    watched = _watched(task)
    waits: dict[str, object] = {"after": task.after}
    if watched is not None:
        waits = {"awaits": (watched[0],), "tiles": _parts(group, workload)}
    return Kernel(
        kind="kernel",
        operator="communication",
        workgroups=1,
        threads=THREADS,
        dependent_loads=LOADS,
        read=LOADS * LOAD,
        stream=task.stream,
        launch_after=task.launch_after,
        launch_time=task.launch_time,
        **waits,
    )


def _parts(group: Sequence[str], workload: Workload) -> int:
    """Parts of the tiles of which the shares of *group* are whole numbers, to a thousandth."""
    watched = [_watched(workload.tasks[name]) for name in group]
    shares = [each[1] for each in watched if each is not None]
    return next((n for n in range(1, PARTS) if all(_whole(n * share) for share in shares)), PARTS)


def _whole(number: float) -> bool:
    return abs(number - round(number)) < 1e-9


def _posted(kernel: str, task: Task) -> Task:
    """*task* as it is posted behind its part of *kernel*."""
    watched = _watched(task)
    share = "100" if watched is None else f"{100.0 * watched[1]:.10g}"
    behind = {"stream": None, "after": (f"{kernel}.tiles[{share}%]",), "launch_after": ()}
    return task.changed(**behind)
