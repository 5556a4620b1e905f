"""When an overlap loses, and why: attribution by removal.

An overlap loses where the tasks together take longer than one after the other. Each kind of sharing
is taken away by itself, and so are the releases of tiles; what the wall time gains by that is its
loss. Losses that hide each other do not add up, and what remains is in the tasks themselves
(pieces that are slower than the whole, tails, waiting for tiles).
"""

from __future__ import annotations

from collections.abc import Mapping

from c3sim.simulation.run import Run
from c3sim.simulation.runs import kinds_of, run_once
from c3sim.specs.hardware import Node
from c3sim.specs.stores import Stores
from c3sim.specs.workload import Gemm, Workload

OVERLAP_LOSES = "the overlap loses"  # how the note begins
LOSS = 0.01  # relative: tasks that take this much longer than one after the other lose
NAMED = 3  # causes that are named
PUBLICATION = "publication"

WORDS = {
    "compute_units": "workgroups that lack compute units",
    "cache": "caches",
    "hbm": "memory",
    "links": "links",
    "dma": "packets on the engines",
    "clock": "the power limit",
    "host": "the host's launches and packets",
    "store_queues": "unfinished stores to peers, which hold up the memory traffic of others",
    "posts": "packets that workgroups post",
    PUBLICATION: "releases behind tiles",
}


def losses(node: Node, workload: Workload, run: Run) -> dict[str, float]:
    """Seconds that the wall time of *run* gains without each cause, the largest first; those that
    gain nothing are left out.
    """
    kinds = kinds_of(workload)
    ends = {kind: run_once(node, workload, frozenset({kind})).end for kind in kinds}
    unpublished = _without_publication(workload)
    if unpublished is not None:
        ends[PUBLICATION] = run_once(node, unpublished).end
    gains = {cause: run.end - end for cause, end in ends.items() if end < run.end * (1 - 1e-6)}
    return dict(sorted(gains.items(), key=lambda item: -item[1]))


def _without_publication(workload: Workload) -> Workload | None:
    """*workload* without releases behind tiles; None: it has none."""
    tasks = {
        name: task.model_copy(update={"publish": None})
        for name, task in workload.tasks.items()
        if isinstance(task, Gemm | Stores) and task.publish is not None
    }
    if not tasks:
        return None
    return workload.model_copy(update={"tasks": {**workload.tasks, **tasks}})


def loss_note(node: Node, workload: Workload, run: Run, serial: float) -> str | None:
    """A sentence where *run* takes longer than its tasks one after the other (*serial* s)."""
    lost = run.end - serial
    if len(workload.tasks) < 2 or lost <= LOSS * serial:
        return None
    said = f"{OVERLAP_LOSES}: {1e3 * lost:.3g} ms longer than one after the other"
    return f"{said}; {_named(losses(node, workload, run), run)}"


def _named(gains: Mapping[str, float], run: Run) -> str:
    if not gains:
        return "no kind of sharing is behind it: the tasks wait for each other"
    names = [f"{WORDS[cause]} ({1e3 * gain:.3g} ms)" for cause, gain in gains.items()]
    share = 100 * next(iter(gains.values())) / run.end
    return f"gained without: {', '.join(names[:NAMED])}; the first is {share:.0f} % of the wall"
