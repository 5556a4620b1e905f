"""The verdict on a terminal: a row per suite and metric, known gaps, worst figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, show, stack

from ..compare.baselines import PREDICTORS
from ..compare.explain import explain_worst
from ..compare.verdict import Verdict
from .words import (
    BANDS_EXPLAINED,
    BASELINES_EXPLAINED,
    GIVEN_EXPLAINED,
    OUTSIDE_EXPLAINED,
    REPEATS_EXPLAINED,
    STANDINGS,
    STANDINGS_EXPLAINED,
    band_text,
    baseline_texts,
    cases_text,
    defect_text,
    error_texts,
    limit_text,
    repeats_text,
    state,
)

if TYPE_CHECKING:
    from rich.console import Console, Group

NUMBERS = ("median", "p90", "bias", "given", "bounds", "repeats", *PREDICTORS)
SHORT = {"constant": "const-\nant", "roofline": "roof-\nline"}


def verdict_table(verdict: Verdict, worst: int = 1) -> Group:
    """Every score; below, the *worst* figures of each that misses its target, explained."""
    columns = ["cases", *(f"{SHORT.get(name, name)}\n(%)" for name in NUMBERS)]
    table = make_table(["suite", "metric", "verdict", "standing"], columns)
    for score in verdict.scores:
        add_row(
            table,
            score.suite,
            score.metric,
            state(score),
            STANDINGS[score.standing],
            cases_text(score),
            *error_texts(score),
            limit_text(score.bound.limit) if score.bound else band_text(score, verdict.bounds),
            repeats_text(score.repeats),
            *baseline_texts(score),
        )
    return stack(
        f"{verdict.counts}: {verdict.word}",
        f"relative errors; {REPEATS_EXPLAINED}; {GIVEN_EXPLAINED}; {BASELINES_EXPLAINED}",
        STANDINGS_EXPLAINED,
        OUTSIDE_EXPLAINED,
        *(() if verdict.passed is not None else (BANDS_EXPLAINED,)),
        table,
        *_observations(verdict),
        *_defects(verdict),
        *_gaps(verdict),
        *_worst(verdict, worst),
    )


def print_verdict(verdict: Verdict, worst: int = 1, console: Console | None = None) -> None:
    """Print :func:`verdict_table`."""
    show(verdict_table(verdict, worst), console)


def _observations(verdict: Verdict) -> list[str]:
    suites = Counter(record.suite for record in verdict.observations)
    counts = ", ".join(f"{name} ({count})" for name, count in sorted(suites.items()))
    return [f"records of observations without times, not compared: {counts}"] if counts else []


def _defects(verdict: Verdict) -> list[str]:
    """Where a plain predictor is better."""
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
        f"known gap {name} ({', '.join(where)}): {gaps[name].what}"
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
