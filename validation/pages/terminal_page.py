"""The verdict, and coverage, on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from c3sim.kit.layout import add_row, make_table, show, stack

from ..compare.coverage import Sight
from ..compare.explain import explain_worst
from ..compare.pairs import EXPLAINED, HEADERS
from ..compare.verdict import Verdict
from .words import (
    BANDS_EXPLAINED,
    BASELINES_EXPLAINED,
    GIVEN_EXPLAINED,
    OUTSIDE_EXPLAINED,
    REPEATS_EXPLAINED,
    SCORE_HEADERS,
    STANDINGS_EXPLAINED,
    VERDICTS_EXPLAINED,
    defect_text,
    score_texts,
)

if TYPE_CHECKING:
    from rich.console import Console, Group

SHORT = {"constant": "const-\nant", "roofline": "roof-\nline"}


def verdict_table(verdict: Verdict, worst: int = 1) -> Group:
    """Every score; below, the *worst* figures of each that misses its target, explained."""
    names = [name.lstrip("#") for name in SCORE_HEADERS[3:]]
    columns = ["cases", *(f"{SHORT.get(name, name)}\n(%)" for name in names)]
    table = make_table(["suite", "metric", *SCORE_HEADERS[:2]], columns)
    for score in verdict.scores:
        state, *texts = score_texts(score, verdict.bounds)
        state = state.replace(": not worse than on", "").replace("; ", "\n")
        add_row(table, score.suite, score.metric, state, *texts)
    judged = verdict.passed is not None
    return stack(
        f"{verdict.counts}: {verdict.word}",
        *((f"bounds: {verdict.bounds_text}",) if judged else ()),
        f"relative errors; {REPEATS_EXPLAINED}; {GIVEN_EXPLAINED}; {BASELINES_EXPLAINED}",
        VERDICTS_EXPLAINED if judged else BANDS_EXPLAINED,
        STANDINGS_EXPLAINED,
        OUTSIDE_EXPLAINED,
        table,
        *_differences(verdict),
        *_observations(verdict),
        *_defects(verdict),
        *_gaps(verdict),
        *_worst(verdict, worst),
    )


def print_verdict(verdict: Verdict, worst: int = 1, console: Console | None = None) -> None:
    """Print :func:`verdict_table`."""
    show(verdict_table(verdict, worst), console)


def _differences(verdict: Verdict) -> list[Any]:
    """The table of pairs that differ in one condition, where there are any."""
    found = verdict.differences()
    table = make_table(["suite", "condition"], [name.lstrip("#") for name in HEADERS])
    for each in found:
        add_row(table, each.suite, each.condition, *each.texts)
    return ["", table, EXPLAINED.replace("*", "")] if found else []


def _observations(verdict: Verdict) -> list[str]:
    suites = Counter(record.suite for record in verdict.observations)
    counts = ", ".join(f"{name} ({count})" for name, count in sorted(suites.items()))
    return [f"records of observations without times, not compared: {counts}"] if counts else []


def _defects(verdict: Verdict) -> list[str]:
    """The suites of which a plain predictor is better."""
    return [
        f"a plain predictor is better: {score.suite} {score.metric}: {defect_text(score)}"
        for score in verdict.defects
    ]


def _gaps(verdict: Verdict) -> list[str]:
    """The known gaps that show in these scores."""
    places: dict[str, list[str]] = {}
    for score in verdict.scores:
        if score.gap and not score.on_target:
            places.setdefault(score.gap, []).append(f"{score.suite} {score.metric}")
    gaps = verdict.bounds.gaps
    return [
        f"known gap {name} ({', '.join(where)}): {gaps[name].what} (docs/{gaps[name].page})"
        for name, where in sorted(places.items())
    ]


def _worst(verdict: Verdict, count: int) -> list[str]:
    off = {(score.suite, score.metric) for score in verdict.scores if not score.on_target}
    return [
        f"worst of {suite} {metric}: {figure.name}: {figure.comparison}; {explanation}"
        for (suite, metric), explained in explain_worst(verdict, count).items()
        for figure, explanation in explained
        if (suite, metric) in off
    ]


def coverage_table(sights: Sequence[Sight]) -> Group:
    """Every number with the suites that notice when it is scaled."""
    table = make_table(["node", "number", "value", "noticed by"], [])
    for sight in sights:
        number = sight.number
        add_row(table, number.nodes[0], number.path, number.leaf.text, _sight(sight))
    counts = Counter(sight.state for sight in sights)
    total = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return stack(f"{len(sights)} numbers, each scaled by 0.7 and 1.4: {total}", table)


def _sight(sight: Sight) -> str:
    """The suites that notice, those that miss a bound first."""
    if not sight.seen:
        return sight.state
    parts = [
        ("misses a bound: ", sight.bound),
        ("moves: ", sight.moves),
        ("single figures of: ", sight.rows),
    ]
    return "; ".join(lead + ", ".join(suites) for lead, suites in parts if suites)
