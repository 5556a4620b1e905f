"""Tables of the HTML page: scores of nodes and suites, who looked at which rows, known gaps."""

from __future__ import annotations

from ..compare.baselines import PREDICTORS
from ..compare.scores import NodeScore, SuiteScore
from ..compare.verdict import Verdict
from .kit.markup import cell, number, slug, table, text
from .words import (
    STANDINGS,
    baseline_texts,
    cases_text,
    defect_text,
    error_texts,
    limit_text,
    repeats_text,
    state,
)

# Twice the spread between repeats: a baseline this good leaves nothing to beat.
UNBEATABLE = 0.05
BASELINES = [f"#{name} (%)" for name in PREDICTORS]
# state -> style, words
VERDICTS = {
    "ok": ("good", "on target"),
    "gap": ("gap", "known gap"),
    "beaten": ("gap", "a plain predictor is better"),
    "FAILS": ("bad", "misses its bound"),
    "no bound": ("soft", "no bound"),
}
CLASSES = {
    "isolated": "A task alone",
    "wall": "Concurrent: wall time",
    "gemm_slowdown": "Concurrent: kernels",
    "collective_slowdown": "Concurrent: transfers",
}


def nodes_table(verdict: Verdict) -> str:
    """One row per node and class of metrics, over measurements that no fit uses."""
    headers = ["used by no fit", "node", "verdict", "#cases", "#inspected"]
    headers += ["#median (%)", "#p90 (%)", "#bias (%)", "#given (%)", "#target (%)", *BASELINES]
    return table(headers, [_node(score) for score in verdict.of_nodes()], identity="totals")


def _node(score: NodeScore) -> list[str]:
    style, words = ("good", "on target") if score.on_target else ("gap", "off target")
    median, *others = error_texts(score)
    return [
        cell(text(CLASSES.get(score.name, score.name))),
        cell(text(score.node)),
        cell(words, style),
        number(str(score.count)),
        number(str(score.inspected)),
        number(f"<strong>{median}</strong>"),
        *map(number, others),
        number(limit_text(score.target)),
        *_baselines(score),
    ]


def _baselines(score: SuiteScore | NodeScore) -> list[str]:
    """Green where the model has at most half of a baseline's error that can be beaten."""
    errors = score.errors
    styles = []
    for value in errors.baselines.values():
        beatable = value is not None and value > UNBEATABLE
        halved = value is not None and errors.median <= value / 2
        styles.append(" good" if beatable and halved else " gap" if beatable else "")
    return [
        cell(words, f"number{style}")
        for words, style in zip(baseline_texts(score), styles, strict=True)
    ]


def suites_table(verdict: Verdict) -> str:
    """One row per suite and metric, with its bounds and its known gap."""
    headers = ["suite", "metric", "verdict", "standing", "#cases", "#median (%)", "#p90 (%)"]
    headers += ["#bias (%)", "#given (%)", "#bounds (%)", "#repeats (%)", *BASELINES, "known gap"]
    return table(headers, [_suite(score) for score in verdict.scores], identity="suites")


def _suite(score: SuiteScore) -> list[str]:
    style, words = VERDICTS[state(score)]
    numbers = [
        cases_text(score),
        *error_texts(score),
        limit_text(score.bound.limit if score.bound else None),
        repeats_text(score.repeats),
    ]
    gap = score.gap
    return [
        cell(f'<a href="#{slug(score.suite)}">{text(score.suite)}</a>'),
        cell(text(score.label), "tight"),
        cell(words, f"tight {style}"),
        cell(STANDINGS[score.standing], "tight"),
        *map(number, numbers),
        *_baselines(score),
        cell(f'<a href="#gap-{slug(gap)}">{text(gap.replace("_", " "))}</a>' if gap else ""),
    ]


def standings_table(verdict: Verdict) -> str:
    """Which suites nobody looked at, and what was read from the others."""
    suites = sorted({score.suite for score in verdict.scores if score.held_out})
    rows = [
        [
            cell(text(name)),
            cell(STANDINGS[verdict.standings[name].standing], "tight"),
            cell(text(verdict.standings[name].reason)),
        ]
        for name in suites
        if name in verdict.standings
    ]
    if not rows:
        return "<p>None of these suites states it.</p>"
    return table(["suite", "standing", "reason"], rows, identity="standings")


def defects_table(verdict: Verdict) -> str:
    """Where a plain predictor is better than the model."""
    rows = [
        [cell(text(score.suite)), cell(text(score.label)), cell(text(defect_text(score)))]
        for score in verdict.defects
    ]
    headers = ["suite", "metric", "better, and why"]
    return table(headers, rows) if rows else "<p>Nowhere in these records.</p>"


def gaps_table(verdict: Verdict) -> str:
    """Where the model is known to be wrong, the suspected mechanism, and the bounds it widens."""
    rows = []
    for name, gap in verdict.bounds.gaps.items():
        reasons = [
            text(f"{score.suite}, {score.label}: {score.bound.limit.reason}")
            for score in verdict.scores
            if score.bound and score.gap == name
        ]
        if reasons:
            heading = f'<span id="gap-{slug(name)}">{text(name.replace("_", " "))}</span>'
            cells = (heading, text(gap.what), text(gap.suspected), "<br>".join(reasons))
            rows.append([cell(inner) for inner in cells])
    headers = ["gap", "what is seen", "suspected mechanism", "bounds that are wider, and why"]
    return table(headers, rows) if rows else "<p>None in these records.</p>"
