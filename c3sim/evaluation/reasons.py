"""Why a cause is longer than the task alone, and why a part of a slowdown is left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from c3sim.simulation.run import Run
from c3sim.specs.workload import Workload, parse_after, task_order

LARGE = 1.0  # of the isolated time: a cause above it says why
COUNTED = 0.001  # the least part of bytes that is told
SMALL = 0.05  # of the isolated time: what is left over above it says why


def reasons(
    workload: Workload,
    name: str,
    run: Run,
    isolated: float,
    causes: Mapping[str, float],
    left_over: float,
) -> tuple[str, ...]:
    """A sentence for each of *causes* [s] of task *name* that is large, and for *left_over* [s]."""
    texts = []
    for cause, seconds in causes.items():
        if abs(seconds) > LARGE * isolated:
            long = f"{cause.replace('_', ' ')}, {seconds / isolated:.1f} times the isolated time"
            texts.append(f"{long}: {_why(workload, name, run, cause)}")
    if abs(left_over) > SMALL * isolated:
        texts.append(
            f"left over, {100 * left_over / isolated:+.0f} % of the isolated time: with nothing"
            " shared the task takes longer or shorter than alone, from what the tasks before it did"
            " ahead or left in caches, or from kinds of sharing that matter only together"
        )
    return (*texts, *_of_lines(run, name))


def _of_lines(run: Run, name: str) -> Iterator[str]:
    """What is counted of lines of the last cache, where somebody names a policy and it costs."""
    counts = run.lines.get(name)
    if counts is None:
        return
    if counts.row_hits < 1.0 - COUNTED:
        missed = f"{100 * (1 - counts.row_hits):.0f} % of the bytes it writes miss their DRAM row"
        yield f"{missed}: lines leave {counts.write_backs}"
    if counts.stalls > COUNTED:
        yield f"{100 * counts.stalls:.1f} % of its misses wait for a line of the last cache"


def _why(workload: Workload, name: str, run: Run, cause: str) -> str:
    """The other tasks that a large cause comes from."""
    if cause == "dependencies":
        return f"it follows {_listed(_predecessors(workload, name))}"
    task = run.task(name)
    others = {other: run.task(other) for other in workload.tasks if other != name}
    if cause == "order":
        before = [each for each, at in others.items() if at.start < task.start < at.end]
        before = before or [each for each, at in others.items() if at.start < task.start]
        return f"it gets no room until workgroups of {_listed(before)} end"
    beside = [each for each, at in others.items() if at.start < task.end and at.end > task.start]
    return f"it runs beside {_listed(beside)}, which may run for longer than it does alone"


def _predecessors(workload: Workload, name: str) -> list[str]:
    """The tasks that *name* waits for by ``after`` or in its stream, direct ones alone."""
    direct = [parse_after(entry).task for entry in workload.tasks[name].after]
    return list(dict.fromkeys([*direct, *_in_stream(workload, name)]))


def _in_stream(workload: Workload, name: str) -> Iterator[str]:
    stream = workload.tasks[name].stream
    order = task_order(workload)
    earlier = order[: order.index(name)] if stream is not None and name in order else ()
    same = [each for each in earlier if workload.tasks[each].stream == stream]
    yield from same[-1:]


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "other tasks"
