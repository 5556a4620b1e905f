"""The verdict as a page of Markdown, docs/validation.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from c3sim.input.leaves import Leaf, provenance
from c3sim.input.units import format_si

from ..compare.baselines import PREDICTORS
from ..compare.coverage_file import stored, unseen
from ..compare.record_files import data_hash
from ..compare.scores import SuiteScore
from ..compare.verdict import Verdict
from .words import (
    BETTER,
    OUTSIDE_EXPLAINED,
    STANDINGS,
    baseline_texts,
    cases_text,
    defect_text,
    error_texts,
    limit_text,
    repeats_text,
    state,
)

INTRODUCTION = """# How far can c3sim be trusted?

Written by `python tools/validation_page.py` from the packaged records; a test compares the two.
`c3sim validate --report page.html` draws the same figures, with every case, timelines and the
source of every parameter.

Errors are relative. *Bias* is the median signed error. *max*, *sum*, *constant* are the median
errors, on the same cases, of plain predictors that are given **measured** isolated times:
no interference; no overlap, one after the other; one constant slowdown per kind of task, learnt
from the other held-out records of the suite. *roofline* is the time of a task alone from data
sheets: peak rate of the compute units, the memory or the links. A dash: the source lacks a time
that the predictor needs. *given* is the median error of the model when it is given measured
isolated times as well: predicted slowdown times measured isolated time.

A measurement that was repeated counts once, by the mean of its repeats; *repeats* is the median
and the 90th percentile of |a - b| / mean between them.
"""
STANDING = """## Who looked at which rows

No fit uses the rows of this table. *blind*: predicted before they were measured. *held out*: nobody
looked at them while the model was made. *inspected*: somebody did, to choose a mechanism or to name
a known gap.
"""
CALIBRATION = """## Calibration

Parameters whose entry says `calibrated:` or `fitted:` come from one command, which reads only
records with role `calibration`, all of isolated runs:

    c3sim calibrate mi300x-8            # prints values with 95 % intervals; --write stores them

Parameters with the same suites are fitted together: memory first, then GEMMs,
collectives, DMA engines. Every suite of a group has the same weight; residuals above 5 % count
linearly. A parameter whose 95 % interval is wider than half of its allowed one keeps its value,
and the command says so. `gemm_square` is fitted to by nothing: its 2048^3 rows, 62 and 148 us,
were timed in an eager loop that is bound by launches, and its 8192^3 rows repeat
`gemm_channels_alone`. Energies of fp16 and fp8 are multiples of bf16's and follow it by hand.
"""
SOURCES = """## Sources without an address

`gemm_decode` and `stream_read_working_set` are from public reports, `sdma_collective_large` from
an AMD runtime document on batched copies by a co-author of arXiv 2511.06605; their addresses were
not recorded. The last says of batches without a size: 27 us at least with one engine per
destination, 13 us at least with all copies on one engine. `validation/data/published/README.md`
says where every other table comes from and how its figures were carried over.
"""


UNSEEN = """## What no measurement sees

`c3sim validate --coverage` scales each number of a node by 0.7 and 1.4 (an integer by one step at
least; in place of 0 the far end of its interval). A suite notices where it misses a bound, or where
the median of one of its metrics moves by half a point. A number that nothing notices could be wrong
and no suite would tell; `c3sim show` marks it. `validation/coverage.json` has the suites of each
number (`python tools/coverage.py`), `validation/unseen.yaml` the reasons below. An unseen number
with an interval carries it into `--uncertainty` and the bands of studies; a star marks those
without.
"""
STATES = {
    "bound": "make a suite miss a bound",
    "moves": "move a median",
    "nothing": "are noticed by nothing",
    "not tried": "are 0 without another value to try",
}
PLAIN = "|".join(f"#{name}" for name in PREDICTORS)


def markdown(verdict: Verdict) -> str:
    """The page."""
    parts = [
        INTRODUCTION,
        *_nodes(verdict),
        *_standings(verdict),
        *_suites(verdict),
        *_defects(verdict),
        *_gaps(verdict),
        *_worst(verdict),
        *_unseen(verdict),
        CALIBRATION,
    ]
    for name, loaded in verdict.nodes.items():
        parts += _fitted(name, loaded.provenance)
    return "\n".join([*parts, SOURCES])


def _table(headers: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """*headers* are separated by ``|``; those that begin with ``#`` are of numbers."""
    names = headers.split("|")
    yield f"| {' | '.join(name.removeprefix('#') for name in names)} |"
    yield f"|{'|'.join('---:' if name.startswith('#') else '---' for name in names)}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _nodes(verdict: Verdict) -> Iterator[str]:
    missed = ", ".join(f"{score.suite} {score.metric}" for score in verdict.missed)
    result = f"BOUNDS MISSED: {missed}" if missed else "all bounds hold"
    data = data_hash(verdict.records)
    yield f"## Measurements that no fit uses\n\n{verdict.counts} (data {data}): {result}.\n"
    rows = [
        [
            score.node,
            score.name.replace("_", " "),
            str(score.count),
            str(score.inspected),
            *error_texts(score),
            limit_text(score.target),
            "on target" if score.on_target else "off target",
            *baseline_texts(score),
        ]
        for score in verdict.of_nodes()
    ]
    headers = "node|metric|#cases|#inspected|#median %|#p90 %|#bias %|#given %|#target|verdict"
    yield from _table(f"{headers}|{PLAIN}", rows)
    yield (
        "Of concurrent runs, those count here whose source measured the tasks alone as well, and "
        "slowdowns rather than times.\n*inspected*: cases of suites whose rows somebody looked at "
        "(next table).\n"
    )


def _standings(verdict: Verdict) -> Iterator[str]:
    yield STANDING
    suites = sorted({score.suite for score in verdict.scores if score.held_out})
    standings = verdict.standings
    yield from _table(
        "suite|standing|reason",
        [
            [f"`{name}`", STANDINGS[standings[name].standing], standings[name].reason]
            for name in suites
            if name in standings
        ],
    )


def _suites(verdict: Verdict) -> Iterator[str]:
    yield f"## Every suite\n\n{OUTSIDE_EXPLAINED}.\n"
    headers = (
        "suite|metric|standing|#cases|#median %|#p90 %|#bias %|#given %|#bounds|#repeats|verdict"
    )
    yield from _table(f"{headers}|{PLAIN}", map(_suite, verdict.scores))


def _suite(score: SuiteScore) -> list[str]:
    return [
        f"`{score.suite}`",
        score.label,
        STANDINGS[score.standing],
        cases_text(score),
        *error_texts(score),
        limit_text(score.bound.limit if score.bound else None),
        repeats_text(score.repeats),
        state(score),
        *baseline_texts(score),
    ]


def _defects(verdict: Verdict) -> Iterator[str]:
    yield f"## Where a plain predictor is better\n\n{BETTER}\n"
    for score in verdict.defects:
        yield f"- `{score.suite}` {score.label}: {defect_text(score)}"
    yield "" if verdict.defects else "Nowhere.\n"


def _gaps(verdict: Verdict) -> Iterator[str]:
    yield (
        "## Known gaps\n\nThe bound is wider than the target, because the model is known to be "
        "wrong there.\n"
    )
    for name, gap in verdict.bounds.gaps.items():
        scores = [score for score in verdict.scores if score.gap == name]
        where = "; ".join(f"`{score.suite}` {score.label}" for score in scores)
        words = name.replace("_", " ")
        yield f"- **{words}** ({where}): {gap.what}. *Suspected:* {gap.suspected}."
    yield ""


def _unseen(verdict: Verdict) -> Iterator[str]:
    yield UNSEEN
    for name in (each for each in verdict.nodes if each in stored()):
        states = [sight["state"] for sight in stored()[name].values()]
        counts = ", ".join(f"{states.count(each)} {words}" for each, words in STATES.items())
        yield f"### {name}: {len(states)} numbers\n\n{counts}.\n"
        reasons: dict[str, list[str]] = {}
        for path, reason in unseen(name).items():
            leaf = verdict.nodes[name].provenance[path]
            mark = "" if leaf.interval else "\\*"
            reasons.setdefault(reason, []).append(f"`{path}`{mark}")
        for reason, paths in reasons.items():
            yield f"- {reason}: {', '.join(paths)}"
        yield ""


def _worst(verdict: Verdict) -> Iterator[str]:
    yield "## Worst cases\n"
    off = [(score, score.worst[0]) for score in verdict.scores if not score.on_target]
    rows = [
        [f"`{score.suite}`", score.label, f"{figure.name}: {figure.comparison}"]
        for score, figure in off
    ]
    yield from _table("suite|metric|case", rows)


def _fitted(name: str, provenance: Mapping[str, Leaf]) -> Iterator[str]:
    yield f"### Fitted parameters of {name}\n"
    rows = [_parameter(path, leaf) for path, leaf in provenance.items() if leaf.fitted]
    yield from _table("parameter|#value|allowed|source", rows)


def _parameter(path: str, leaf: Leaf) -> list[str]:
    assert leaf.interval is not None  # a fitted parameter has one
    allowed = " to ".join(format_si(end, leaf.unit) for end in leaf.interval)
    return [f"`{path}`", leaf.text, allowed, provenance(leaf)]
