"""The HTML page: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from c3sim.kit.files import write_text
from c3sim.simulation.runs import alone
from c3sim.simulation.simulate import simulate

from ..compare.explain import explain_figure
from ..compare.figures import Figure
from ..compare.loops import UNITS
from ..compare.predict import as_run
from ..compare.record_files import data_hash
from ..compare.scores import SuiteScore
from ..compare.verdict import Verdict
from .error_spread import error_spread
from .kit import link, section, slug, text
from .scatter import scatter
from .tables import (
    defects_table,
    gaps_table,
    nodes_table,
    observed_section,
    parameters_table,
    standings_table,
    suites_table,
)
from .timeline import timeline
from .words import (
    BASELINES_EXPLAINED,
    BETTER,
    GIVEN_EXPLAINED,
    OUTSIDE_EXPLAINED,
    REPEATS_EXPLAINED,
    RUNS_EXPLAINED,
    STANDINGS_EXPLAINED,
    VERDICTS_EXPLAINED,
)

# Colours are Okabe and Ito's, which colour-blind readers can tell apart, for light and dark.
CSS, SCRIPT = (
    (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>c3sim: predictions beside measurements</title>
<style>{css}</style>
</head>
<body>
{body}
<script>{script}</script>
</body>
</html>
"""
_LEGEND = (
    f"Errors are relative, in per cent; bias is the median signed error; {REPEATS_EXPLAINED}; "
    f"{GIVEN_EXPLAINED}. {VERDICTS_EXPLAINED} {OUTSIDE_EXPLAINED}. {STANDINGS_EXPLAINED} "
    f"{RUNS_EXPLAINED} {BASELINES_EXPLAINED}; "
    "green where the model has at most half of their error."
)
_TIMELINES = (
    "What the model did in the worst case of each suite, and of each metric off its target. Bars: "
    "tasks as predicted; the thick upright line in a bar's row: where the measured task ended."
)
_KEY = (
    '<p class="key"><span><svg viewBox="0 0 16 12" role="img" aria-label="filled diamond">'
    '<path class="held" d="M4 6L8 2L12 6L8 10Z"/></svg> never fitted to</span>'
    '<span><svg viewBox="0 0 16 12" role="img" aria-label="open circle">'
    '<circle class="fitted" cx="8" cy="6" r="3.5"/></svg> open to fits</span>'
    "<span>shaded: within 10 %</span>"
    "<span>bar in a row: p10 to p90, upright line: median</span></p>"
)
_FILTER = (
    '<p><label>Filter <input id="filter" type="search" placeholder="words, as in estimate hbm">'
    '</label> <span id="count" class="soft"></span></p>'
)
_LINKS = {
    "all": "every suite",
    "standing": "who looked at which rows",
    "beaten": "plain predictors",
    "gaps": "known gaps",
    "figures": "figures",
    "worst": "worst cases",
    "provenance": "parameters",
}


def write_report(verdict: Verdict, path: str | Path) -> None:
    """Write the page, complete or not at all. Raises InputError where it cannot."""
    write_text(path, render(verdict))


def render(verdict: Verdict) -> str:
    """The page as one text; the same verdict gives the same bytes."""
    parameters = "".join(
        f"<h3>{text(name)}</h3>{parameters_table(loaded.provenance)}"
        for name, loaded in verdict.nodes.items()
    )
    figures = "".join(_suite(name, scores) for name, scores in verdict.by_suite().items())
    body = [
        _head(verdict),
        section("all", "Every suite", suites_table(verdict), _LEGEND),
        section("standing", "Who looked at which rows", standings_table(verdict)),
        section("beaten", "Where a plain predictor is better", defects_table(verdict), BETTER),
        section("gaps", "Known gaps", gaps_table(verdict)),
        section("figures", "Predicted against measured, and spread of errors", _KEY + figures),
        *observed_section(verdict.observations),
        section("worst", "Worst cases", worst_figures(verdict), _TIMELINES),
        section("provenance", "Where every parameter comes from", _FILTER + parameters),
    ]
    return _PAGE.format(css=CSS, body="\n".join(body), script=SCRIPT)


def _head(verdict: Verdict) -> str:
    style = {True: "good", False: "bad", None: "soft"}[verdict.passed]
    word = verdict.word if verdict.passed is None else verdict.word.upper()
    missed = "; ".join(f"{score.suite} {score.metric}" for score in verdict.missed)
    result = "no bound applies" if verdict.passed is None else f"bounds: {verdict.bounds_text}"
    links = "".join(f'<a href="#{anchor}">{words}</a>' for anchor, words in _LINKS.items())
    return (
        "<header><h1>How far can c3sim be trusted? "
        f'<span class="verdict {style}">{word}</span></h1>'
        f"<p>{verdict.counts} on {text(', '.join(verdict.nodes))}: "
        f"{text(result + (f'; fails: {missed}' if missed else ''))}. "
        f'<span class="soft">Data {data_hash(verdict.records)}.</span></p>'
        f"{nodes_table(verdict)}<nav>{links}</nav></header>"
    )


def _suite(name: str, scores: Sequence[SuiteScore]) -> str:
    figures = [figure for score in scores for figure in score.figures]
    kinds = {"us": "times", "": "slowdowns", "W": "powers", "J": "energies"}
    pictures = [_scatter(name, figures, unit, what) for unit, what in kinds.items()]
    spread = error_spread(scores, f"errors of {name}")
    pictures.append(f"<figure>{spread}<figcaption>errors</figcaption></figure>")
    grid = f'<div class="grid">{"".join(pictures)}</div>'
    return f'<section id="{slug(name)}"><h3>{text(name)}</h3>{grid}</section>'


def _scatter(suite: str, figures: Sequence[Figure], unit: str, what: str) -> str:
    shown = [figure for figure in figures if figure.unit == unit]
    if not shown:
        return ""
    drawing = scatter(shown, unit or "x", f"predicted against measured {what} of {suite}")
    return f"<figure>{drawing}<figcaption>{what}: {len(shown)}</figcaption></figure>"


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
