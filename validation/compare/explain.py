"""Explains in words why the model predicts a figure: how the task ran, and what held it up."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.evaluation.explanation import explain_run
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.result import Counter, Timeline
from c3sim.simulation.runs import alone
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node

from .figures import Figure
from .predict import as_run
from .verdict import Verdict

CAUSES = {
    "order": "waiting for room",
    "compute_units": "fewer compute units",
    "cache": "caches",
    "hbm": "memory",
    "links": "links",
    "dma": "DMA engines",
    "clock": "clock",
    "host": "host",
    "posts": "packets that workgroups post",
    "store_queues": "queues full of stores to peers",
    "ranks": "ranks out of step",
    "dependencies": "dependencies",
}
RESOURCES = {
    "hbm": "memory",
    "memory_side_cache": "memory-side cache",
    "l2": "L2",
    "compute_units": "compute units",
}
NEGLIGIBLE = 0.01  # of the isolated time, or of a capacity
MOST = 4  # causes, or resources, in one sentence


def explain_figure(figure: Figure, node: Node) -> str:
    """One sentence about the run that predicted *figure*."""
    isolated = figure.metric.startswith("isolated_") or len(figure.record.workload.tasks) == 1
    return _isolated(figure, node) if isolated else _concurrent(figure, node)


def explain_worst(verdict: Verdict, count: int) -> dict[tuple[str, str], list[tuple[Figure, str]]]:
    """The *count* worst figures by suite and metric, with their explanations."""
    explained: dict[tuple[str, str], list[tuple[Figure, str]]] = {}
    for score in verdict.scores:
        gap = f" (known gap: {score.gap})" if score.gap else ""
        explained[score.suite, score.metric] = [
            (figure, explain_figure(figure, verdict.nodes[figure.record.node].node) + gap)
            for figure in score.worst[:count]
        ]
    return explained


def _concurrent(figure: Figure, node: Node) -> str:
    record = figure.record
    explained = explain_run(
        best_candidate(record.strategy, record.workload, node), node, record.strategy
    )
    name = figure.task or max(explained.tasks, key=lambda each: explained.tasks[each].time_s)
    task = explained.tasks[name]
    causes = {CAUSES[cause]: share for cause, share in task.causes.items()}
    words = _largest({**causes, "interaction": task.left_over}, sign="+")
    return f"the model slows {name} by {task.slowdown:.2f}: {words or 'nothing disturbs it'}"


def _isolated(figure: Figure, node: Node) -> str:
    record = figure.record
    task = figure.task or next(iter(record.workload.tasks))
    run = simulate(node, alone(as_run(node, record), task), trace=True)
    assert run.timeline is not None
    detail = ", ".join(
        f"{key.replace('_', ' ')} {value}" for key, value in run.task(task).detail.items()
    )
    busy = _largest(dict(_mean_use(run.timeline))) or "nothing"
    with_detail = f" with {detail}" if detail else ""
    return f"the model has it alone{with_detail}; busy on average: {busy}"


def _largest(shares: dict[str, float], sign: str = "-") -> str:
    """The largest of *shares* in words; *sign* as in a format: "+" shows that of all."""
    kept = [(word, share) for word, share in shares.items() if abs(share) >= NEGLIGIBLE]
    largest = sorted(kept, key=lambda pair: -abs(pair[1]))[:MOST]
    return ", ".join(f"{word} {100 * share:{sign}.0f} %" for word, share in largest)


def _mean_use(timeline: Timeline) -> Iterator[tuple[str, float]]:
    """Resource of the first GPU -> mean use as a fraction of its capacity; of links, the mean."""
    links = []
    for counter in timeline.counters:
        if counter.place.owner_name != "gpu0":
            continue
        if counter.place.name in RESOURCES:
            yield RESOURCES[counter.place.name], _mean(counter, timeline.end)
        elif counter.place.kind == "link":
            links.append(_mean(counter, timeline.end))
    if links:
        yield "links", sum(links) / len(links)


def _mean(counter: Counter, end: float) -> float:
    if not counter.maximum or end <= 0:
        return 0.0
    until = [*counter.times[1:], end]
    area = sum(
        value * (stop - start)
        for start, stop, value in zip(counter.times, until, counter.values, strict=True)
    )
    return area / end / counter.maximum
