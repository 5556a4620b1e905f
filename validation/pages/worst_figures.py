"""The worst case of every suite, and of every metric that is off its target: how far, a timeline,
and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from c3sim.simulation.runs import alone
from c3sim.simulation.simulate import simulate
from c3sim.specs.record import Record

from ..compare.explain import explain_case, how_far
from ..compare.figures import Case, as_run
from ..compare.loops import UNITS
from ..compare.scores import Row
from ..compare.verdict import Verdict
from .kit.markup import link, text
from .timeline import timeline


def worst_cases(verdict: Verdict) -> str:
    """A figure for each; a case that is the worst of several metrics is shown once."""
    return f'<div class="grid two">{"".join(_figure(verdict, row, case) for row, case in _chosen(verdict))}</div>'


def _chosen(verdict: Verdict) -> Iterator[tuple[Row, Case]]:
    seen: set[tuple[str, str, str]] = set()
    worst = {
        suite: max(rows, key=lambda row: row.p90_error)
        for suite, rows in _by_suite(verdict).items()
    }
    for row in verdict.rows:
        case = row.worst[0]
        key = (case.suite, case.id, "alone" if case.metric.startswith("isolated_") else "together")
        if (row.on_target is not True or row is worst[row.name]) and key not in seen:
            seen.add(key)
            yield row, case


def _by_suite(verdict: Verdict) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in verdict.rows:
        found.setdefault(row.name, []).append(row)
    return found


def _figure(verdict: Verdict, row: Row, case: Case) -> str:
    record = verdict.record_of(case)
    node = verdict.nodes[record.node].node
    workload = as_run(node, record)
    if case.metric.startswith("isolated_"):
        workload = alone(workload, case.task)
    run = simulate(node, workload, trace=True)
    drawing = timeline(run, _ends(record, case), f"timeline of {case.name}")
    gap = verdict.bounds.gaps.get(row.bound.gap) if row.bound else None
    suspected = f'<p><span class="gap">Known gap:</span> {text(gap.suspected)}.</p>' if gap else ""
    return (
        f"<figure><h3>{text(row.name)}, {text(row.metric.replace('_', ' '))}</h3>"
        f"<p>{text(case.name)}: {text(how_far(case))}</p>{drawing}"
        f"<figcaption><p>{text(explain_case(case, record, node))}.</p>{suspected}<p>Source: {link(record.source)}</p></figcaption></figure>"
    )


def _ends(record: Record, case: Case) -> dict[str, float]:
    """Measured ends [s]: of the task alone, or of all that ran together."""
    if case.metric.startswith("isolated_"):
        return {case.task: record.measured.isolated[case.task] * 1e-6}
    if case.metric in UNITS:  # of a loop; the timeline is of one turn
        return {}
    found = {name: task.time_us * 1e-6 for name, task in record.measured.tasks.items()}
    return found or {"": (record.measured.wall_us or 0.0) * 1e-6}
