"""The verdict as a page of Markdown, docs/validation.md: the same figures as the report, in text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from c3sim.input.leaves import Leaf, provenance
from c3sim.input.units import format_si

from ..compare.explain import how_far
from ..compare.record_files import data_hash
from ..compare.scores import Row
from ..compare.verdict import Total, Verdict
from .markdown_text import CALIBRATION, DMA_NOTE, INTRODUCTION
from .terminal_page import repeats, state


def markdown(verdict: Verdict) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        *_totals(verdict),
        *_suites(verdict),
        *_gaps(verdict),
        *_worst(verdict),
        CALIBRATION,
    ]
    for name, loaded in verdict.nodes.items():
        parts += _fitted(name, loaded.provenance)
    return "\n".join([*parts, DMA_NOTE])


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Headers that begin with ``#`` are of numbers."""
    yield f"| {' | '.join(name.removeprefix('#') for name in headers)} |"
    yield f"|{'|'.join('---:' if name.startswith('#') else '---' for name in headers)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _totals(verdict: Verdict) -> Iterator[str]:
    result = (
        "all bounds hold"
        if verdict.passed
        else "BOUNDS MISSED: " + ", ".join(f"{r.name} {r.metric}" for r in verdict.missed)
    )
    yield f"## Held-out measurements\n\n{verdict.counts} (data {data_hash(verdict.records)}): {result}.\n"
    headers = [
        "node",
        "metric",
        "#cases",
        "#median %",
        "#p90 %",
        "#bias %",
        "#target",
        "verdict",
        "#max",
        "#sum",
        "#constant",
    ]
    yield from _table(headers, [_total(total) for total in verdict.totals()])
    yield (
        "Of concurrent runs, those count here whose source measured the tasks alone as well, and slowdowns rather than times.\n"
    )


def _total(total: Total) -> list[str]:
    target = f"{100 * total.target_median:g}, {100 * total.target_p90:g}"
    errors = [_share(total.median_error), _share(total.p90_error), f"{100 * total.bias:+.1f}"]
    said = "on target" if total.on_target else "off target"
    plain = [_share(value) for value in total.baselines.values()]
    return [
        total.node,
        total.name.replace("_", " "),
        str(total.cases),
        *errors,
        target,
        said,
        *plain,
    ]


def _suites(verdict: Verdict) -> Iterator[str]:
    yield "## Every suite\n\nMetrics that end in *calibration* were open to fits; all others were held out.\n"
    headers = [
        "suite",
        "metric",
        "#cases",
        "#median %",
        "#p90 %",
        "#bias %",
        "#bounds",
        "#repeats",
        "verdict",
        "#max",
        "#sum",
        "#constant",
    ]
    yield from _table(headers, [_suite(row) for row in verdict.rows])


def _suite(row: Row) -> list[str]:
    bound = f"{100 * row.bound.median:g}, {100 * row.bound.p90:g}" if row.bound else "-"
    errors = [_share(row.median_error), _share(row.p90_error), f"{100 * row.bias:+.1f}"]
    plain = [_share(value) for value in row.baselines.values()]
    return [
        f"`{row.name}`",
        row.metric.replace("_", " "),
        str(len(row.cases)),
        *errors,
        bound,
        repeats(row.repeats),
        state(row),
        *plain,
    ]


def _gaps(verdict: Verdict) -> Iterator[str]:
    yield "## Known gaps\n\nWhere the bound is wider than the target, because the model is known to be wrong there.\n"
    for name, gap in verdict.bounds.gaps.items():
        where = [
            f"`{row.name}` {row.metric.replace('_', ' ')}"
            for row in verdict.rows
            if row.bound and row.bound.gap == name
        ]
        yield f"- **{name.replace('_', ' ')}** ({'; '.join(where)}): {gap.what}. *Suspected:* {gap.suspected}."
    yield ""


def _worst(verdict: Verdict) -> Iterator[str]:
    yield "## Worst cases\n"
    rows = [row for row in verdict.rows if not row.on_target]
    yield from _table(
        ["suite", "metric", "case"],
        [
            [
                f"`{row.name}`",
                row.metric.replace("_", " "),
                f"{row.worst[0].name}: {how_far(row.worst[0])}",
            ]
            for row in rows
        ],
    )


def _fitted(name: str, provenance: Mapping[str, Leaf]) -> Iterator[str]:
    yield f"### Fitted parameters of {name}\n"
    fitted = [(path, leaf) for path, leaf in provenance.items() if leaf.fitted]
    yield from _table(
        ["parameter", "#value", "allowed", "source"],
        [_parameter(path, leaf) for path, leaf in fitted],
    )


def _parameter(path: str, leaf: Leaf) -> list[str]:
    assert leaf.interval is not None  # a fitted parameter has one
    allowed = " to ".join(format_si(end, leaf.unit) for end in leaf.interval)
    return [f"`{path}`", leaf.text, allowed, provenance(leaf)]
