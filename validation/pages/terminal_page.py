"""The verdict on a terminal: a row per suite and metric, then the known gaps and the worst cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, show, stack
from c3sim.output.kit.text import percent

from ..compare.explain import how_far, worst_explained
from ..compare.repeats import Spread
from ..compare.scores import Row
from ..compare.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console, Group


def state(row: Row) -> str:
    """One word: ``fails``, ``gap`` (within its regression bound, off the target), ``ok``, or ``no
    bound``.
    """
    if row.bound is None:
        return "no bound"
    if not row.passed:
        return "FAILS"
    return "ok" if row.on_target else "gap"


def verdict_table(verdict: Verdict, worst: int = 1) -> Group:
    """Every row; *worst* cases of each row that is not as good as its target are explained below."""
    plain = ["max\n(%)", "sum\n(%)", "constant\n(%)"]
    numbers = [
        "cases",
        "median\n(%)",
        "p90\n(%)",
        "bias\n(%)",
        "bounds\n(%)",
        "repeats\n(%)",
        *plain,
    ]
    table = make_table(["suite", "metric", "verdict"], numbers)
    for row in verdict.rows:
        bound = f"{100 * row.bound.median:g}, {100 * row.bound.p90:g}" if row.bound else "-"
        errors = (percent(row.median_error), percent(row.p90_error), f"{100 * row.bias:+.1f}")
        plain = [percent(value) for value in row.baselines.values()]
        add_row(
            table,
            row.name,
            row.metric,
            state(row),
            str(len(row.cases)),
            *errors,
            bound,
            repeats(row.repeats),
            *plain,
        )
    result = f"{verdict.counts}: " + ("pass" if verdict.passed else "FAIL")
    return stack(
        result,
        "relative errors; repeats: median and p90 of |a - b| / mean between repeats of one measurement; max, sum, constant: "
        "median errors of plain predictors given measured isolated times",
        table,
        *_observed(verdict),
        *_gaps(verdict),
        *_worst(verdict, worst),
    )


def repeats(spread: Spread | None) -> str:
    """Median and 90th percentile in per cent."""
    return f"{100 * spread.median:.1f}, {100 * spread.p90:.1f}" if spread else "-"


def _observed(verdict: Verdict) -> list[str]:
    """The suites whose records have no time."""
    suites: dict[str, int] = {}
    for record in verdict.observations:
        suites[record.suite] = suites.get(record.suite, 0) + 1
    counts = [f"{name} ({count})" for name, count in sorted(suites.items())]
    return (
        [f"records of observations without times, not compared: {', '.join(counts)}"]
        if counts
        else []
    )


def _gaps(verdict: Verdict) -> list[str]:
    """The known gaps that show in these rows."""
    shown: dict[str, list[str]] = {}
    for row in verdict.rows:
        if row.bound and row.bound.gap and not row.on_target:
            shown.setdefault(row.bound.gap, []).append(f"{row.name} {row.metric}")
    gaps = verdict.bounds.gaps
    return [
        f"known gap {name} ({', '.join(where)}): {gaps[name].what}"
        for name, where in sorted(shown.items())
    ]


def _worst(verdict: Verdict, count: int) -> list[str]:
    off = {(row.name, row.metric) for row in verdict.rows if row.on_target is not True}
    return [
        f"worst of {suite} {metric}: {case.name}: {how_far(case)}; {why}"
        for (suite, metric), found in worst_explained(verdict, count).items()
        for case, why in found
        if (suite, metric) in off
    ]


def print_verdict(verdict: Verdict, worst: int = 1, console: Console | None = None) -> None:
    """Print :func:`verdict_table`."""
    show(verdict_table(verdict, worst), console)
