"""A workload whose kernels that submit puts are tasks of their own.

Of ``gather``, posted and in a stream, become ``gather-puts``, a kernel of one workgroup in that
stream, and ``gather``, whose packets that workgroup posts. It is launched as any kernel, finds a
compute unit, loads its arguments and where the ring ends, and keeps its unit until it has posted.
"""

from __future__ import annotations

from c3sim.errors import InputError
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Task, Workload

#: Loads of the kernel that wait for each other: of its arguments, of the end of a ring.
LOADS = 2
LOAD = 64.0  # bytes of one


def with_put_kernels(workload: Workload) -> Workload:
    """*workload* with a kernel in front of each task that one posts; as it is where none does.

    Raises InputError where a task has the name of such a kernel.
    """
    puts = {name for name, task in workload.tasks.items() if by_own_kernel(task)}
    if not puts:
        return workload
    tasks: dict[str, Task] = {}
    for name, task in workload.tasks.items():
        if name in puts:
            tasks |= _kernel_and_puts(name, task, workload)
        else:
            tasks[name] = task
    order = [each for name in workload.host.order for each in _called(name, name in puts)]
    host = workload.host.model_copy(update={"order": tuple(order)})
    return workload.model_copy(update={"tasks": tasks, "host": host})


def by_own_kernel(task: Task) -> bool:
    """True if a kernel that does nothing else posts the packets of *task*: it has a stream."""
    return getattr(task, "posted", None) is not None and task.stream is not None


def _called(name: str, puts: bool) -> list[str]:
    return [f"{name}-puts", name] if puts else [name]


def _kernel_and_puts(name: str, task: Task, workload: Workload) -> dict[str, Task]:
    kernel, moved = _called(name, puts=True)
    if kernel in workload.tasks:
        message = f"the kernel that posts it would be called {kernel!r}, as a task is; rename that"
        raise InputError(message, f"tasks.{name}.posted")
    posts = Kernel(
        kind="kernel",
        operator="communication",
        workgroups=1,
        dependent_loads=LOADS,
        read=LOADS * LOAD,
        stream=task.stream,
        after=task.after,
        launch_after=task.launch_after,
        launch_time=task.launch_time,
    )
    behind = {"stream": None, "after": (f"{kernel}.tiles[100%]",), "launch_after": ()}
    return {kernel: posts, moved: task.model_copy(update=behind)}
