"""The page: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from c3sim.output.kit.files import write_text

from ..compare.figures import Case
from ..compare.record_files import data_hash
from ..compare.scores import Row
from ..compare.verdict import Verdict
from .error_spread import spread
from .kit.markup import slug, text
from .kit.style import CSS, SCRIPT
from .observed import observed_section
from .parameters import provenance_table
from .scatter import scatter
from .tables import gaps_table, suites_table, totals_table
from .worst_figures import worst_cases


def write_report(verdict: Verdict, path: str | Path) -> None:
    """Write the page, whole or not at all. Raises InputError where it cannot."""
    write_text(path, render(verdict))


def render(verdict: Verdict) -> str:
    """The page as one text; it loads nothing, and the same verdict gives the same bytes."""
    parameters = "".join(
        f"<h3>{text(name)}</h3>{provenance_table(loaded.provenance)}"
        for name, loaded in verdict.nodes.items()
    )
    body = [
        _head(verdict),
        f'<h2 id="all">Every suite</h2><p class="soft">{_LEGEND}</p>{suites_table(verdict)}',
        f'<h2 id="gaps">Known gaps</h2>{gaps_table(verdict)}',
        f'<h2 id="figures">Predicted against measured, and how errors are spread</h2>{_KEY}{_figures(verdict)}',
        *observed_section(verdict.observations),
        f'<h2 id="worst">Worst cases</h2><p class="soft">{_TIMELINES}</p>{worst_cases(verdict)}',
        f'<h2 id="provenance">Where every parameter comes from</h2><p><label>Filter <input id="filter" type="search" '
        f'placeholder="words, as in estimate hbm"></label> <span id="count" class="soft"></span></p>{parameters}',
    ]
    return _PAGE.format(css=CSS, body="\n".join(body), script=SCRIPT)


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
    "Errors are relative; bias is the median signed error; repeats: median and 90th percentile of |a − b| / mean between repeats of one measurement, which counts once, by their mean. Metrics that end in “calibration” were open to fits, all others "
    "were held out. max, sum, constant: median errors, on the same cases, of three plain predictors that are given measured isolated "
    "times: no interference, no overlap, one constant slowdown per kind of task learnt from the suite's other records; green where the model has at most half of their error."
)
_TIMELINES = (
    "What the model did in the worst case of each suite, and of each metric off its target. Bars: tasks as predicted; the thick "
    "upright line in a bar's row: where the measured task ended."
)
_KEY = (
    '<p class="key"><span><svg viewBox="0 0 16 12" role="img" aria-label="filled diamond"><path class="held" d="M4 6L8 2L12 6L8 10Z"/></svg> '
    'held out</span><span><svg viewBox="0 0 16 12" role="img" aria-label="open circle"><circle class="fitted" cx="8" cy="6" r="3.5"/></svg> '
    "open to fits</span><span>shaded: within 10 %</span><span>bar in a row: p10 to p90, upright line: median</span></p>"
)


def _head(verdict: Verdict) -> str:
    gaps = sum(1 for row in verdict.rows if row.passed and row.bound and not row.on_target)
    bounded = [row for row in verdict.rows if row.bound]
    kind, word = ("good", "PASS") if verdict.passed else ("bad", "FAIL")
    missed = "; ".join(f"{row.name} {row.metric}" for row in verdict.missed)
    said = (
        f"misses its bound: {missed}"
        if missed
        else f"{len(bounded)} bounds hold, {gaps} of them wider than the target (known gaps)"
    )
    return (
        f'<header><h1>How far can c3sim be trusted? <span class="verdict {kind}">{word}</span></h1>'
        f"<p>{verdict.counts} on {text(', '.join(verdict.nodes))}: {text(said)}. "
        f'<span class="soft">Data {data_hash(verdict.records)}.</span></p>{totals_table(verdict)}'
        '<nav><a href="#all">every suite</a><a href="#gaps">known gaps</a><a href="#figures">figures</a>'
        '<a href="#worst">worst cases</a><a href="#provenance">parameters</a></nav></header>'
    )


def _figures(verdict: Verdict) -> str:
    suites: dict[str, list[Row]] = {}
    for row in verdict.rows:
        suites.setdefault(row.name, []).append(row)
    return "".join(_suite(name, rows) for name, rows in suites.items())


def _suite(name: str, rows: Sequence[Row]) -> str:
    cases = [case for row in rows for case in row.cases]
    kinds = (("us", "times"), ("", "slowdowns"), ("W", "powers"), ("J", "energies"))
    figures = [
        _scatter(name, [case for case in cases if case.unit == unit], unit or "x", what)
        for unit, what in kinds
    ]
    figures.append(
        f"<figure>{spread(rows, f'errors of {name}')}<figcaption>errors</figcaption></figure>"
    )
    return f'<section id="{slug(name)}"><h3>{text(name)}</h3><div class="grid">{"".join(figures)}</div></section>'


def _scatter(suite: str, cases: Sequence[Case], unit: str, what: str) -> str:
    if not cases:
        return ""
    drawing = scatter(cases, unit, f"predicted against measured {what} of {suite}")
    return f"<figure>{drawing}<figcaption>{what}: {len(cases)}</figcaption></figure>"
