"""The verdict as tables: totals against the design's targets, every suite against its bounds, the
known gaps.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..compare.scores import Row
from ..compare.verdict import Total, Verdict
from .kit.markup import cell, percent, signed, slug, table, text
from .terminal_page import repeats, state

REPEATS = (
    0.05  # twice the spread between repeats: a plain predictor this good leaves nothing to beat
)
PLAIN = ["#max (%)", "#sum (%)", "#constant (%)"]
WORDS = {
    "ok": ("good", "on target"),
    "gap": ("gap", "known gap"),
    "FAILS": ("bad", "misses its bound"),
    "no bound": ("soft", "no bound"),
}
TOTALS = {
    "isolated": "A task alone",
    "wall": "Concurrent runs: wall time",
    "gemm_slowdown": "Concurrent runs: GEMM and other kernels",
    "collective_slowdown": "Concurrent runs: collective and copies",
}


def totals_table(verdict: Verdict) -> str:
    """One row per class of metrics, held-out records only."""
    headers = [
        "held-out measurements",
        "node",
        "verdict",
        "#cases",
        "#median error (%)",
        "#p90 (%)",
        "#bias (%)",
        "#target (%)",
        *PLAIN,
    ]
    return table(headers, [_total(total) for total in verdict.totals()], identity="totals")


def _total(total: Total) -> list[str]:
    kind, words = ("good", "on target") if total.on_target else ("gap", "off target")
    return [
        cell(text(TOTALS.get(total.name, total.name))),
        cell(text(total.node)),
        cell(words, kind),
        cell(str(total.cases), "number"),
        cell(f"<strong>{percent(total.median_error)}</strong>", "number"),
        cell(percent(total.p90_error), "number"),
        cell(signed(total.bias), "number"),
        cell(f"{100 * total.target_median:g}, {100 * total.target_p90:g}", "number"),
        *_plain(total.baselines, total.median_error),
    ]


def _plain(baselines: Mapping[str, float | None], own: float) -> list[str]:
    """Green where the model has at most half of a plain predictor's error, unless that is as good
    as repeats are.
    """
    cells = []
    for value in baselines.values():
        kind = "" if value is None or value <= REPEATS else "good" if own <= value / 2 else "gap"
        cells.append(cell(percent(value), f"number {kind}"))
    return cells


def suites_table(verdict: Verdict) -> str:
    """One row per suite and metric, with its bounds and the reason for them."""
    headers = [
        "suite",
        "metric",
        "verdict",
        "#cases",
        "#median (%)",
        "#p90 (%)",
        "#bias (%)",
        "#bounds (%)",
        "#repeats (%)",
        *PLAIN,
        "known gap",
    ]
    return table(headers, [_suite(row) for row in verdict.rows], identity="suites")


def _suite(row: Row) -> list[str]:
    kind, words = WORDS[state(row)]
    bound = row.bound
    limits = f"{100 * bound.median:g}, {100 * bound.p90:g}" if bound else "–"
    return [
        cell(f'<a href="#{slug(row.name)}">{text(row.name)}</a>'),
        cell(text(row.metric.replace("_", " ")), "tight"),
        cell(words, f"tight {kind}"),
        cell(str(len(row.cases)), "number"),
        cell(percent(row.median_error), "number"),
        cell(percent(row.p90_error), "number"),
        cell(signed(row.bias), "number"),
        cell(limits, "number"),
        cell(repeats(row.repeats), "number"),
        *_plain(row.baselines, row.median_error),
        cell(_gap_link(bound.gap) if bound and bound.gap else "", "tight"),
    ]


def _gap_link(gap: str) -> str:
    return f'<a href="#gap-{slug(gap)}">{text(gap.replace("_", " "))}</a>'


def gaps_table(verdict: Verdict) -> str:
    """What is known to be wrong, why that is suspected to be so, and which bounds are wider for it."""
    rows = []
    for name, gap in verdict.bounds.gaps.items():
        where = [row for row in verdict.rows if row.bound and row.bound.gap == name]
        said = [
            f"{row.name}, {row.metric.replace('_', ' ')}: {row.bound.reason}"
            for row in where
            if row.bound
        ]
        if where:
            heading = f'<span id="gap-{slug(name)}">{text(name.replace("_", " "))}</span>'
            rows.append(
                [
                    cell(heading),
                    cell(text(gap.what)),
                    cell(text(gap.suspected)),
                    cell("<br>".join(map(text, said))),
                ]
            )
    headers = [
        "gap",
        "what is seen",
        "suspected mechanism",
        "bounds that are wider for it, and why",
    ]
    return table(headers, rows) if rows else "<p>None in these records.</p>"
