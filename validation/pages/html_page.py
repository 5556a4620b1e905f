"""The HTML page: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from c3sim.output.kit.files import write_text

from ..compare.figures import Figure
from ..compare.record_files import data_hash
from ..compare.scores import SuiteScore
from ..compare.verdict import Verdict
from .error_spread import error_spread
from .kit.markup import section, slug, text
from .kit.style import CSS, SCRIPT
from .observed import observed_section
from .parameters import parameters_table
from .scatter import scatter
from .tables import defects_table, gaps_table, nodes_table, standings_table, suites_table
from .words import (
    BASELINES_EXPLAINED,
    BETTER,
    GIVEN_EXPLAINED,
    OUTSIDE_EXPLAINED,
    REPEATS_EXPLAINED,
    STANDINGS_EXPLAINED,
)
from .worst_figures import worst_figures

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
    f"Errors are relative; bias is the median signed error; {REPEATS_EXPLAINED}; "
    f"{GIVEN_EXPLAINED}. {OUTSIDE_EXPLAINED}. {STANDINGS_EXPLAINED} {BASELINES_EXPLAINED}; "
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
    bounded = [score for score in verdict.scores if score.bound]
    gaps = sum(score.passed is True and not score.on_target for score in bounded)
    style = {True: "good", False: "bad", None: "soft"}[verdict.passed]
    word = verdict.word if verdict.passed is None else verdict.word.upper()
    missed = "; ".join(f"{score.suite} {score.metric}" for score in verdict.missed)
    result = f"{len(bounded)} bounds hold, {gaps} of them wider than the target (known gaps)"
    result = result if bounded else "no bound applies"
    links = "".join(f'<a href="#{anchor}">{words}</a>' for anchor, words in _LINKS.items())
    return (
        "<header><h1>How far can c3sim be trusted? "
        f'<span class="verdict {style}">{word}</span></h1>'
        f"<p>{verdict.counts} on {text(', '.join(verdict.nodes))}: "
        f"{text(f'fails: {missed}' if missed else result)}. "
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
