"""The worst figure of every suite, and of every metric off its target: error, timeline, reason."""

from __future__ import annotations

from collections.abc import Iterator

from c3sim.simulation.runs import alone
from c3sim.simulation.simulate import simulate

from ..compare.explain import explain_figure
from ..compare.figures import Figure
from ..compare.loops import UNITS
from ..compare.predict import as_run
from ..compare.scores import SuiteScore
from ..compare.verdict import Verdict
from .kit.markup import link, text
from .timeline import timeline


def worst_figures(verdict: Verdict) -> str:
    """A picture for each; a run that is the worst of several metrics is shown once."""
    shown = [_picture(verdict, score, figure) for score, figure in _chosen(verdict)]
    return f'<div class="grid two">{"".join(shown)}</div>'


def _chosen(verdict: Verdict) -> Iterator[tuple[SuiteScore, Figure]]:
    seen: set[tuple[str, str, bool]] = set()
    worst = {
        suite: max(scores, key=lambda score: score.errors.p90)
        for suite, scores in verdict.by_suite().items()
    }
    for score in verdict.scores:
        figure = score.worst[0]
        key = (figure.suite, figure.record.id, figure.metric.startswith("isolated_"))
        if (not score.on_target or score is worst[score.suite]) and key not in seen:
            seen.add(key)
            yield score, figure


def _picture(verdict: Verdict, score: SuiteScore, figure: Figure) -> str:
    record = figure.record
    node = verdict.nodes[record.node].node
    workload = as_run(node, record)
    if figure.metric.startswith("isolated_"):
        workload = alone(workload, figure.task)
    run = simulate(node, workload, trace=True)
    drawing = timeline(run, _measured_ends(figure), f"timeline of {figure.name}")
    gap = verdict.bounds.gaps.get(score.gap)
    suspected = f'<p><span class="gap">Known gap:</span> {text(gap.suspected)}.</p>' if gap else ""
    return (
        f"<figure><h3>{text(score.suite)}, {text(score.label)}</h3>"
        f"<p>{text(figure.name)}: {text(figure.comparison)}</p>{drawing}"
        f"<figcaption><p>{text(explain_figure(figure, node))}.</p>{suspected}"
        f"<p>Source: {link(record.source)}</p></figcaption></figure>"
    )


def _measured_ends(figure: Figure) -> dict[str, float]:
    """Task -> measured end [s]: of the task alone, or of all that ran together."""
    measured = figure.record.measured
    if figure.metric.startswith("isolated_"):
        return {figure.task: measured.isolated[figure.task] * 1e-6}
    if figure.metric in UNITS:  # of a loop; the timeline is of one turn
        return {}
    ends = {name: task.time_us * 1e-6 for name, task in measured.tasks.items()}
    return ends or {"": (measured.wall_us or 0.0) * 1e-6}
