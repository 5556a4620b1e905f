"""The verdict as pages of Markdown: docs/validation.md, and a page for each GPU beside it.

Nodes that differ in their number of GPUs share a page, as suites and fits do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from c3sim.spec.sourced import Leaf, provenance
from c3sim.spec.units import format_si

from ..compare.coverage_file import stored, tally, unseen
from ..compare.pairs import EXPLAINED, HEADERS, PairScore
from ..compare.record_files import data_hash
from ..compare.scores import NodeScore, SuiteScore
from ..compare.verdict import Verdict
from .words import (
    BETTER,
    NODE_HEADERS,
    OUTSIDE_EXPLAINED,
    SCORE_HEADERS,
    STANDINGS,
    defect_text,
    markdown_table,
    node_texts,
    score_texts,
)

HOW_TO_READ = """## How to read the tables

Written by `python tools/validation_page.py` from the packaged records; a test compares the two.
`c3sim validate --report page.html` draws the same figures, with every case, timelines and the
source of every parameter.

- **Errors** are relative, in per cent. *Bias* is the median signed error. Target and bounds are a
  median and a 90th percentile. A measurement that was repeated counts once, by the mean of its
  repeats; *repeats* is the median and the 90th percentile of |a - b| / mean between them.
- **Plain predictors.** *max*, *sum*, *constant*: median errors, on the same cases, when given
  **measured** isolated times: no interference; no overlap, one after the other; one constant
  slowdown per kind of task, learnt from the other held-out records of the suite. *roofline*: a task
  alone from data sheets, peak rate of the compute units, the memory or the links. A dash: the
  source lacks a time that the predictor needs. *given* is the median error of the model when it
  is given measured isolated times as well. *Better than the model* compares with that.
- **Runs.** *harness*: programs that ship here, tasks released together. *loops*: a process per GPU
  that goes round, as frameworks do. *others*: published tables, logs of other tools. They are never
  pooled. Of concurrent runs, those count here whose source measured the tasks alone as well, and
  slowdowns rather than times.
- **Standing.** *blind*: predicted before they were measured, by the model as it is. *reread*:
  predicted before they were measured; then the model changed with these rows in view. *held out*:
  nobody looked at them while the model was made. *inspected*: somebody did, to choose a mechanism
  or to name a known gap. The column *inspected* counts cases of suites inspected or reread. What
  was said blind, with the plain sum beside, is in [predictions](predictions/README.md).
- **Verdict.** *held*: to the target. *gap: not worse than on DATE*: the model misses the target for
  a known reason; the bound is a tenth and one point above its error on that day, and only says that
  it got no worse. A plain predictor that is better is named, on however few cases.

## Calibration

Parameters whose entry says `calibrated:` or `fitted:` come from one command, which reads only
records with role `calibration`, all of isolated runs:

    c3sim calibrate mi300x-8            # prints values with 95 % intervals; --write stores them

Parameters with the same suites are fitted together: memory first, then GEMMs,
collectives, DMA engines. Every suite of a group has the same weight; residuals above 5 % count
linearly. A parameter whose 95 % interval is wider than half of its allowed one keeps its value,
and the command says so.

## What no measurement sees

`c3sim validate --coverage` scales each number of a node by 0.7 and 1.4 (an integer by one step at
least; in place of 0 the far end of its interval). A suite sees it where it misses a bound, where
the median of one of its metrics moves by half a point, or where a single figure moves by 2 % and
by more than its repeats differ. A number that nothing sees could be wrong and no suite would tell;
`c3sim show` marks it. With an interval it is drawn by `--uncertainty` and the bands of studies, so
that answers carry it. `validation/coverage.json` has the suites of each number
(`python tools/coverage.py` renews what has changed), `validation/unseen.yaml` the reasons for those
that are *neither*: nothing sees them, and no band draws them.
"""
NOTES = {
    "mi300x": """## Notes on sources

`gemm_square` is fitted to by nothing: its 2048^3 rows, 62 and 148 us, were timed in an eager loop
that is bound by launches, and its 8192^3 rows repeat `gemm_channels_alone`. Energies of fp16 and
fp8 are multiples of bf16's and follow it by hand.

`gemm_decode` and `stream_read_working_set` are from public reports, `sdma_collective_large` from
an AMD runtime document on batched copies by a co-author of arXiv 2511.06605; their addresses were
not recorded. The last says of batches without a size: 27 us at least with one engine per
destination, 13 us at least with all copies on one engine. `validation/data/published/README.md`
says where every other table comes from and how its figures were carried over.
"""
}
STATES = {
    "bound": "make a suite miss a bound",
    "moves": "move a median",
    "rows": "move single figures",
    "nothing": "are read, and nothing follows",
    "unread": "no run reads",
    "not tried": "are 0 without another value to try",
}


def markdown(verdict: Verdict) -> dict[str, str]:
    """Return the pages, by their paths below docs/."""
    gpus = dict.fromkeys(name.rpartition("-")[0] for name in verdict.nodes)
    of_nodes, pairs = verdict.of_nodes(), verdict.differences()
    pages = {
        f"validation/{gpu}.md": "\n".join(_page(verdict, gpu, of_nodes, pairs)) for gpu in gpus
    }
    return {"validation.md": "\n".join(_summary(verdict, gpus)), **pages}


def _of(verdict: Verdict, gpu: str) -> list[SuiteScore]:
    """The scores of suites on nodes of *gpu*; no suite has several GPUs."""
    return [
        score for score in verdict.scores if score.figures[0].record.node.rpartition("-")[0] == gpu
    ]


def _summary(verdict: Verdict, gpus: Iterable[str]) -> Iterator[str]:
    missed = ", ".join(f"{score.suite} {score.metric}" for score in verdict.missed)
    result = f"BOUNDS MISSED: {missed}" if missed else "all bounds hold"
    data = data_hash(verdict.records)
    yield "# How far can c3sim be trusted?\n"
    yield f"{verdict.counts} (data {data}): {result}. Of the bounds {verdict.bounds_text}."
    yield "Suite by suite, with known gaps, worst cases, and what was fitted:\n"
    rows = []
    for gpu in gpus:
        scores = _of(verdict, gpu)
        states = Counter(score.state for score in scores)
        counts = [len({each.suite for each in scores}), states["held"], states["gap"]]
        better = sum(bool(score.defects) for score in scores)
        link = f"[{gpu}](validation/{gpu}.md)"
        rows.append([link, *map(str, [*counts, states["FAILS"], better])])
    headers = ["GPU", "#suites", "#bounds held", "#gaps", "#missed", "#plain predictor better"]
    yield from markdown_table(headers, rows)
    yield "## By node and kind of run\n\nMeasurements that no fit uses.\n"
    yield from markdown_table(NODE_HEADERS, map(node_texts, verdict.of_nodes()))
    yield f"## Differences between two measurements\n\n{EXPLAINED}.\n"
    differences = verdict.differences(of_gpus=True)
    rows = [[each.suite, each.condition, *each.texts] for each in differences]
    yield from markdown_table(["GPU", "condition", *HEADERS], rows)
    yield "```{toctree}\n:hidden:\n"
    yield from (f"validation/{gpu}" for gpu in gpus)
    yield f"```\n\n{HOW_TO_READ.rstrip()}\n"
    yield from markdown_table(
        ["node", "#numbers", "#seen", "#drawn by a band", "#neither", "#neither, %"],
        [
            [name, *map(str, (each.numbers, each.seen, each.in_band, each.neither, each.percent))]
            for name, each in ((name, tally(loaded)) for name, loaded in verdict.nodes.items())
        ],
    )


def _page(
    verdict: Verdict, gpu: str, of_nodes: Iterable[NodeScore], pairs: Iterable[PairScore]
) -> Iterator[str]:
    scores = _of(verdict, gpu)
    nodes = [name for name in verdict.nodes if name.rpartition("-")[0] == gpu]
    yield f"# Validation of {', '.join(nodes)}\n"
    yield "[How to read the tables](../validation.md#how-to-read-the-tables).\n"
    own = [score for score in of_nodes if score.node in nodes]
    yield from markdown_table(NODE_HEADERS, map(node_texts, own))
    yield from _standings(verdict, scores)
    yield f"## Every suite\n\n{OUTSIDE_EXPLAINED}.\n"
    yield from markdown_table(["suite", "metric", *SCORE_HEADERS], map(_suite, scores))
    yield f"## Differences\n\n{EXPLAINED}.\n"
    own_suites = {score.suite for score in scores}
    yield from markdown_table(
        ["suite", "condition", *HEADERS],
        [
            [f"`{each.suite}`", each.condition, *each.texts]
            for each in pairs
            if each.suite in own_suites
        ],
    )
    yield f"## Where a plain predictor is better\n\n{BETTER}\n"
    better = [
        f"- `{score.suite}` {score.label}: {defect_text(score)}"
        for score in scores
        if score.defects
    ]
    yield "\n".join(better or ["Nowhere."]) + "\n"
    yield from _gaps(verdict, scores)
    yield "## Worst cases\n"
    off = [(score, score.worst[0]) for score in scores if not score.on_target]
    rows = [
        [f"`{score.suite}`", score.label, f"{figure.name}: {figure.comparison}"]
        for score, figure in off
    ]
    yield from markdown_table(["suite", "metric", "case"], rows)
    yield from _unseen(verdict, nodes)
    yield from _fitted(verdict, nodes)
    yield NOTES.get(gpu, "").rstrip() + "\n" if gpu in NOTES else ""


def _suite(score: SuiteScore) -> list[str]:
    return [f"`{score.suite}`", score.label, *score_texts(score)]


def _standings(verdict: Verdict, scores: Iterable[SuiteScore]) -> Iterator[str]:
    yield "## Who ran and who looked at which rows\n\nNo fit uses the rows of this table.\n"
    rows = []
    for name in sorted({score.suite for score in scores if score.held_out}):
        if one := verdict.standings.get(name):
            said = f"{one.reason}. *Reread:* {one.reread}" if one.reread else one.reason
            rows.append([f"`{name}`", one.runs, STANDINGS[one.standing], said])
    yield from markdown_table(["suite", "runs", "standing", "reason"], rows)


def _gaps(verdict: Verdict, scores: Sequence[SuiteScore]) -> Iterator[str]:
    yield (
        "## Known gaps\n\nThe bound is wider than the target, because the model is known to be "
        "wrong there; *since*: the day the bound was set.\n"
    )
    rows = []
    for name, gap in verdict.bounds.gaps.items():
        where = [
            f"`{score.suite}` {score.label}, since {score.bound.since}"
            for score in scores
            if score.bound and score.gap == name
        ]
        if where:
            title = f"**{name.replace('_', ' ')}** ([why](../{gap.page}))"
            rows.append(f"- {title}: {gap.what}. *Suspected:* {gap.suspected}. {'; '.join(where)}.")
    yield "\n".join(rows or ["None."]) + "\n"


def _unseen(verdict: Verdict, nodes: Iterable[str]) -> Iterator[str]:
    yield "## What no measurement sees\n"
    for name in (each for each in nodes if each in stored()):
        states = [sight["state"] for sight in stored()[name].values()]
        counts = ", ".join(f"{states.count(each)} {words}" for each, words in STATES.items())
        yield f"Of {len(states)} numbers of the files of {name} {counts}.\n"
        reasons: dict[str, list[str]] = {}
        for path, reason in unseen(verdict.nodes[name]).items():
            reasons.setdefault(reason, []).append(f"`{path}`")
        if reasons:
            lines = (f"- {reason}: {', '.join(paths)}" for reason, paths in reasons.items())
            yield "Neither seen nor drawn by a band:\n\n" + "\n".join(lines) + "\n"


def _fitted(verdict: Verdict, nodes: Iterable[str]) -> Iterator[str]:
    """A table of each node; of a later one the rows that no earlier node has."""
    shown: set[tuple[str, ...]] = set()
    for name in nodes:
        leaves = verdict.nodes[name].provenance
        rows = [_parameter(path, leaf) for path, leaf in leaves.items() if leaf.fitted]
        new = [row for row in rows if tuple(row) not in shown]
        same = (
            f"{len(rows) - len(new)} are those of the nodes above.\n"
            if len(new) < len(rows)
            else ""
        )
        yield f"## Fitted parameters of {name}\n\n{len(rows)} parameters. {same}".rstrip() + "\n"
        if new:
            yield from markdown_table(["parameter", "#value", "allowed", "source"], new)
        shown |= {tuple(row) for row in rows}


def _parameter(path: str, leaf: Leaf) -> list[str]:
    assert leaf.interval is not None  # a fitted parameter has one
    allowed = " to ".join(format_si(end, leaf.unit) for end in leaf.interval)
    return [f"`{path}`", leaf.text, allowed, provenance(leaf)]
