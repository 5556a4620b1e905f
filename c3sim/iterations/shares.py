"""Where the wall time of a step goes: parts that add up to it.

Every moment of the slowest GPU belongs to

    a class of operators   where operators run; to each class that does, in equal parts
    communication          where collectives run and no operator does
    launches               where nothing runs until an operator does: its launch by the host, and
                           what a kernel takes to begin behind the one before
    waiting                where nothing runs until a collective does: its launch, and GPUs that
                           come later
    bubbles                of a pipeline, while it fills and drains
    stages                 of a pipeline, while a stage waits for others that take longer
    idle                   where nothing runs and nothing follows
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from c3sim.simulation.run import Run
from c3sim.spec.task import Operator

COMMUNICATION = "communication"
#: Parts that are no class of operators.
LAUNCHES, WAITING, BUBBLES, STAGES, IDLE = FURTHER = (
    *("launches", "waiting", "bubbles"),
    *("stages", "idle"),
)


def parts_of_step(run: Run, classes: Mapping[str, Operator]) -> dict[str, float]:
    """Part -> s of *run*; they add up to its end."""
    slowest = run.last_gpu
    changes = sorted(
        (time, change, classes[task])
        for (task, gpu), times in run.times.items()
        if gpu == slowest and task in classes
        for time, change in ((times.start, 1), (times.end, -1))
    )
    parts: dict[str, float] = {}
    running: Counter[str] = Counter()
    changes = [(0.0, 0, "gemm"), *changes, (run.end, 0, "gemm")]
    for (time, change, name), (after, begins, next_one) in pairwise(changes):
        running[name] += change
        if after <= time:
            continue
        own = [each for each, count in running.items() if count > 0]
        if not own:
            follows = WAITING if next_one == COMMUNICATION else LAUNCHES
            own = [follows if begins > 0 else IDLE]
        computing = [each for each in own if each != COMMUNICATION] or own
        for each in computing:
            parts[each] = parts.get(each, 0.0) + (after - time) / len(computing)
    return parts


def shares_of_groups(
    run: Run, classes: Mapping[str, Operator], streams: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Stream of a group of GPUs -> s in which its communication runs, on the slowest GPU, and in
    which no operator does; that to each group that communicates, in equal parts.
    """
    slowest = run.last_gpu
    busy: dict[str, float] = {}
    changes = []
    for (task, gpu), times in run.times.items():
        if gpu != slowest or task not in classes:
            continue
        own = streams[task] if classes[task] == COMMUNICATION else ""
        changes += [(times.start, 1, own), (times.end, -1, own)]
        if own:
            busy[own] = busy.get(own, 0.0) + times.end - times.start
    exposed = dict.fromkeys(busy, 0.0)
    running: Counter[str] = Counter()
    for (time, change, name), (after, _, _) in pairwise(sorted(changes)):
        running[name] += change
        groups = [each for each, count in running.items() if each and count > 0]
        if after > time and not running[""]:
            for each in groups:
                exposed[each] += (after - time) / len(groups)
    return busy, exposed


def adding_up(parts: Mapping[str, float], wall: float) -> dict[str, float]:
    """*parts*, scaled to add up to *wall*: those of further layers are on a line, but never less
    than nothing.
    """
    total = sum(parts.values())
    return {name: time * wall / total for name, time in parts.items()} if total else {}
