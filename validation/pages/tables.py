"""Tables of the HTML page: scores, who looked at which rows, known gaps, parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from c3sim.spec.record import Record
from c3sim.spec.sourced import Leaf, provenance
from c3sim.spec.units import format_si

from ..compare.baselines import PREDICTORS
from ..compare.scores import NodeScore, SuiteScore
from ..compare.verdict import Verdict
from .kit import cell, link, section, slug, table, text
from .words import NODE_HEADERS, SCORE_HEADERS, STANDINGS, defect_text, node_texts, score_texts

# Twice the spread between repeats: a baseline this good leaves nothing to beat.
UNBEATABLE = 0.05
STYLES = {"held": "good", "gap": "gap", "FAILS": "bad", "no bound": "soft"}
LONGEST = 400  # characters of one observation; the rest is in the record file


def nodes_table(verdict: Verdict) -> str:
    """Return a row per node, kind of runs and class of metrics, over rows that no fit uses."""
    rows = [
        _cells(NODE_HEADERS, node_texts(score), score, "good" if score.on_target else "gap")
        for score in verdict.of_nodes()
    ]
    return table(NODE_HEADERS, rows, identity="totals")


def suites_table(verdict: Verdict) -> str:
    """Return a row per suite and metric, with its bounds and its known gap."""
    rows = []
    for score in verdict.scores:
        gap, style = score.gap, STYLES[score.state]
        rows.append(
            [
                cell(f'<a href="#{slug(score.suite)}">{text(score.suite)}</a>'),
                cell(text(score.label), "tight"),
                *_cells(SCORE_HEADERS, score_texts(score), score, style),
                cell(
                    f'<a href="#gap-{slug(gap)}">{text(gap.replace("_", " "))}</a>' if gap else ""
                ),
            ]
        )
    return table(["suite", "metric", *SCORE_HEADERS, "known gap"], rows, identity="suites")


def _cells(
    headers: Sequence[str], texts: Sequence[str], score: SuiteScore | NodeScore, style: str
) -> list[str]:
    """Numbers to the right; the verdict in *style*; a baseline green where the model has at most
    half of its error that can be beaten.
    """
    cells = []
    for header, words in zip(headers, texts, strict=True):
        name = header.removeprefix("#")
        look = "number" if header.startswith("#") else ""
        if name in PREDICTORS:
            value = score.errors.baselines[name]
            if value is not None and value > UNBEATABLE:
                look += " good" if score.errors.median <= value / 2 else " gap"
        cells.append(cell(text(words), style if name == "verdict" else look))
    return cells


def standings_table(verdict: Verdict) -> str:
    """Return who ran each suite, which nobody looked at, and what was read from the others."""
    suites = sorted({score.suite for score in verdict.scores if score.held_out})
    rows = [
        [
            cell(text(name)),
            cell(one.runs),
            cell(STANDINGS[one.standing], "tight"),
            cell(text(f"{one.reason}; reread: {one.reread}" if one.reread else one.reason)),
        ]
        for name in suites
        if (one := verdict.standings.get(name))
    ]
    if not rows:
        return "<p>None of these suites states it.</p>"
    return table(["suite", "runs", "standing", "reason"], rows, identity="standings")


def defects_table(verdict: Verdict) -> str:
    """The table of suites of which a plain predictor is better than the model."""
    rows = [
        [cell(text(score.suite)), cell(text(score.label)), cell(text(defect_text(score)))]
        for score in verdict.defects
    ]
    headers = ["suite", "metric", "better, and why"]
    return table(headers, rows) if rows else "<p>Nowhere in these records.</p>"


def gaps_table(verdict: Verdict) -> str:
    """The table of known gaps of the model, the suspected mechanism, and the bounds it widens."""
    rows = []
    for name, gap in verdict.bounds.gaps.items():
        reasons = [
            text(
                f"{score.suite}, {score.label}, since {score.bound.since}:"
                f" {score.bound.limit.reason}"
            )
            for score in verdict.scores
            if score.bound and score.gap == name
        ]
        if reasons:
            heading = f'<span id="gap-{slug(name)}">{text(name.replace("_", " "))}</span>'
            seen = text(f"{gap.what} (docs/{gap.page})")
            cells = (heading, seen, text(gap.suspected), "<br>".join(reasons))
            rows.append([cell(inner) for inner in cells])
    headers = ["gap", "what is seen", "suspected mechanism", "bounds that are wider, and why"]
    return table(headers, rows) if rows else "<p>None in these records.</p>"


def observed_section(records: Sequence[Record]) -> list[str]:
    """A heading and a table; nothing where there are none."""
    if not records:
        return []
    headers = ["suite", "workload", "node", "observed"]
    body = table(headers, [_observed(record) for record in records], identity="observed")
    return [section("observations", "Observed, not compared", body)]


def _observed(record: Record) -> list[str]:
    data = json.dumps(record.observed)
    short = data if len(data) <= LONGEST else data[:LONGEST] + " ..."
    names = (record.suite, record.workload.name, record.node)
    return [*(cell(text(name)) for name in names), cell(f"<code>{text(short)}</code>", "source")]


def parameters_table(parameters: Mapping[str, Leaf]) -> str:
    """Return a row for each parameter, in the order of the files."""
    headers = ["parameter", "#value", "unit", "allowed interval", "fitted to", "source"]
    return table(
        headers,
        [_parameter(path, leaf) for path, leaf in parameters.items()],
        identity="parameters",
    )


def _parameter(path: str, leaf: Leaf) -> list[str]:
    value, _, unit = leaf.text.partition(" ") if leaf.unit else (leaf.text, "", "")
    interval = (
        f"{format_si(leaf.interval[0], leaf.unit)} to {format_si(leaf.interval[1], leaf.unit)}"
        if leaf.interval
        else ""
    )
    source = link(provenance(leaf) + (f" ({leaf.note})" if leaf.note else ""))
    kind = (
        '<span class="gap">estimate</span> '
        if leaf.estimate and not leaf.source.startswith("estimate")
        else ""
    )
    fitted = text(leaf.fitted.replace("+", ", "))
    return [
        cell(f"<code>{text(path)}</code>"),
        cell(text(value), "number"),
        cell(text(unit)),
        cell(text(interval)),
        cell(fitted),
        cell(kind + source, "source"),
    ]
