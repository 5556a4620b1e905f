"""Says in words why the model predicts what it does for one case: how the task ran, and what held
it up.
"""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.evaluation.explanation import explain_run
from c3sim.result import Counter, Timeline
from c3sim.simulation.runs import alone
from c3sim.simulation.simulate import simulate
from c3sim.specs.hardware import Node
from c3sim.specs.record import Record
from c3sim.strategies.best import best_candidate

from .figures import Case, as_run
from .scores import Row
from .verdict import Verdict

WORDS = {
    "order": "waiting for room",
    "compute_units": "fewer compute units",
    "cache": "caches",
    "hbm": "memory",
    "links": "links",
    "dma": "DMA engines",
    "clock": "clock",
    "host": "host",
    "dependencies": "dependencies",
}
RESOURCES = {
    "hbm": "memory",
    "memory_side_cache": "memory-side cache",
    "l2": "L2",
    "compute_units": "compute units",
}
WORTH_SAYING = 0.01  # of the isolated time, or of a capacity


def how_far(case: Case) -> str:
    """Predicted and measured, with unit, and the signed error."""
    figures = [
        f"{value:.4g} {case.unit}" if case.unit else f"{value:.3f}"
        for value in (case.predicted, case.measured)
    ]
    return f"{figures[0]} predicted, {figures[1]} measured, {100 * case.error:+.1f} %"


def explain_case(case: Case, record: Record, node: Node) -> str:
    """One sentence about the run that the model made of *record*."""
    concurrent = not case.metric.startswith("isolated_") and len(record.workload.tasks) > 1
    return _together(case, record, node) if concurrent else _alone(case, record, node)


def worst_explained(verdict: Verdict, count: int) -> dict[tuple[str, str], list[tuple[Case, str]]]:
    """The *count* worst cases of each row, by suite and metric, with their explanations."""
    return {
        (row.name, row.metric): [(case, _why(verdict, row, case)) for case in row.worst[:count]]
        for row in verdict.rows
    }


def _why(verdict: Verdict, row: Row, case: Case) -> str:
    record = verdict.record_of(case)
    text = explain_case(case, record, verdict.nodes[record.node].node)
    return f"{text} (known gap: {row.bound.gap})" if row.bound and row.bound.gap else text


def _together(case: Case, record: Record, node: Node) -> str:
    explained = explain_run(
        best_candidate(record.strategy, record.workload, node), node, record.strategy
    )
    name = case.task or max(explained.tasks, key=lambda each: explained.tasks[each].time_s)
    task = explained.tasks[name]
    shares = {
        **{WORDS[cause]: share for cause, share in task.causes.items()},
        "interaction": task.left_over,
    }
    said = [f"{word} {100 * share:+.0f} %" for word, share in _largest(shares)]
    return f"the model slows {name} by {task.slowdown:.2f}: " + (
        ", ".join(said) or "nothing disturbs it"
    )


def _alone(case: Case, record: Record, node: Node) -> str:
    task = case.task or next(iter(record.workload.tasks))
    run = simulate(node, alone(as_run(node, record), task), trace=True)
    assert run.timeline is not None
    detail = ", ".join(
        f"{key.replace('_', ' ')} {value}" for key, value in run.task(task).detail.items()
    )
    busy = [f"{word} {100 * share:.0f} %" for word, share in _largest(dict(_use(run.timeline)))]
    return (
        "the model has it alone"
        + (f" with {detail}" if detail else "")
        + f"; busy on average: {', '.join(busy) or 'nothing'}"
    )


def _largest(shares: dict[str, float]) -> list[tuple[str, float]]:
    kept = [(word, share) for word, share in shares.items() if abs(share) >= WORTH_SAYING]
    return sorted(kept, key=lambda pair: -abs(pair[1]))[:4]


def _use(timeline: Timeline) -> Iterator[tuple[str, float]]:
    """Mean use of the resources of the first GPU, as fractions of their capacity; the clock as it
    is below its maximum.
    """
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
