"""Tables of a study of kind ``c3``: scenarios, isolated behaviour, strategies beside published
figures. Fractions that are undefined are shown as ``-``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import (
    FRACTION_EXPLAINED,
    MISSING,
    OWN_EXPLAINED,
    percent,
    size,
    time_unit,
    times,
)
from c3sim.studies.c3.answer_table import answer_tables
from c3sim.studies.c3.characterisation import Figure
from c3sim.studies.c3.study import C3Result
from c3sim.studies.c3.summary import AutoSummary

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

FLAGS = {"Q": "quoted", "S": "second-hand"}
UNITS = {"1": ("%", 100.0), "x": ("x", 1.0)}  # how figures of that unit are shown


def tables(study: C3Result) -> list[RenderableType]:
    from rich.text import Text

    parts: list[RenderableType] = [scenario_table(study)]
    if study.characterisation:
        parts.append(characterisation_table(study.characterisation))
    parts += [strategy_table(study), Text("\n".join(_remarks(study)))]
    return [*parts, *(answer_tables(study.title, study.answer) if study.answer else ())]


def scenario_table(study: C3Result) -> Group:
    """A row per scenario: its sizes, isolated times, class, and fraction of ideal by strategy."""
    names = list(study.strategies)
    longest = (max(each.gemm_isolated_s, each.comm_isolated_s) for each in study.scenarios)
    unit, length = time_unit(max(longest, default=0.0))
    numbers = [f"Tg\n({unit})", f"Tc\n({unit})"]
    numbers += [name.replace("_", "_\n") + "\n(%)" for name in names]
    words = ["scenario", "class", "GEMM\n(M, N, K)", "collective\n(per GPU)"]
    table = make_table(words, [*numbers, "best\n(speedup)"])
    for scenario in study.scenarios:
        gemm, outcomes = scenario.gemm, scenario.strategies
        shape = f"{gemm.m}, {gemm.n}, {gemm.k} {gemm.dtype}"
        what = f"{scenario.collective} {size(scenario.size_bytes)}"
        alone = (
            f"{time / length:.3f}" for time in (scenario.gemm_isolated_s, scenario.comm_isolated_s)
        )
        shares = (
            percent(outcomes[name].fraction_of_ideal, 0) if name in outcomes else MISSING
            for name in names
        )
        best = max(outcomes, key=lambda name: outcomes[name].speedup, default=None)
        winner = MISSING if best is None else f"{times(outcomes[best].speedup)} {best}"
        add_row(table, scenario.name, scenario.length_class, shape, what, *alone, *shares, winner)
    return stack(
        f"{study.title}: fraction of ideal (%) per scenario",
        table,
        "Tg, Tc: the GEMM, and the collective on compute units, alone",
        FRACTION_EXPLAINED,
    )


def characterisation_table(figures: Sequence[Figure]) -> Group:
    table = make_table(["alone", "unit"], ["simulated", "range", "published", "difference"])
    for figure in figures:
        unit, scale = UNITS.get(figure.unit, (figure.unit, 1.0))
        digits = 0 if unit == "CUs" else 1
        ours, theirs = figure.predicted * scale, figure.published
        span = " to ".join(f"{end * scale:.{digits}f}" for end in figure.span)
        known = difference = MISSING
        if theirs is not None:
            note = f"{figure.note} " if figure.note else ""
            flag = f" ({FLAGS[figure.flag]})" if figure.flag in FLAGS else ""
            known = f"{note}{theirs * scale:.{digits}f}{flag}"
            difference = f"{ours - theirs * scale:+.{digits}f}"
        add_row(table, figure.name, unit, f"{ours:.{digits}f}", span, known, difference)
    return stack("isolated behaviour beside published figures", table)


def strategy_table(study: C3Result) -> Group:
    """A row per strategy: means over the scenarios, the band, the published mean."""
    headers = ["fraction\nof ideal\n(%)", "ratio of\nmeans\n(%)", "own\nfraction\n(%)"]
    headers += ["mean\nspeedup\n(x)", "max\nspeedup\n(x)", "band\n(%)"]
    table = make_table(["strategy"], [*headers, "published\n(%)", "diff.\n(points)"])
    published = published_fractions(study)
    for name, row in study.strategies.items():
        mean, theirs = row.mean_fraction_of_ideal, published.get(name)
        shares = (percent(share) for share in (mean, row.ratio_of_means, row.mean_own_fraction))
        speedups = (f"{row.mean_speedup:.2f}", f"{row.max_speedup:.2f}")
        band = " to ".join(percent(end, 0) for end in row.band or ()) or MISSING
        off = MISSING if mean is None or theirs is None else f"{100 * (mean - theirs):+.1f}"
        add_row(table, name, *shares, *speedups, band, percent(theirs), off)
    explained = (
        "fractions: means over the scenarios; ratio of means: (mean speedup - 1) / (mean ideal"
        " speedup - 1)\nband: 5 % to 95 % of what may have been otherwise; difference: simulated"
        " less published"
    )
    explained += f"\n{FRACTION_EXPLAINED}\n{OWN_EXPLAINED}"
    title = f"{study.title}: strategies over {len(study.scenarios)} scenarios"
    source = study.published.get("source")
    return stack(title, table, explained, *([f"published: {source}"] if source else []))


def published_fractions(study: C3Result) -> dict[str, float]:
    """The published mean fraction of ideal of each strategy that has one."""
    published = study.published.get("mean_fraction_of_ideal") or {}
    return {name: float(value) for name, value in published.items() if value is not None}


def _remarks(study: C3Result) -> list[str]:
    """Published speedups, the loss of the heuristics, what the study is checked against."""
    lines = []
    for key, words in (("mean_speedup", "mean speedup"), ("max_speedup", "largest speedup")):
        for name, theirs in (study.published.get(key) or {}).items():
            if name in study.strategies:
                means = study.strategies[name]
                ours = means.mean_speedup if key == "mean_speedup" else means.max_speedup
                difference = f"published {times(theirs)}, off by {ours - theirs:+.2f}"
                lines.append(f"{words}, {name}: {times(ours)}; {difference}")
    if study.auto is not None:
        lines.append(_auto(study.auto))
    if study.published.get("note"):
        lines.append(" ".join(str(study.published["note"]).split()))
    return lines


def _auto(auto: AutoSummary) -> str:
    chosen = ", ".join(f"{name} {count}x" for name, count in auto.chosen.items())
    loss = f"loss {percent(auto.mean_loss)} % mean, {percent(auto.max_loss)} % at most"
    best = f"best choice in {auto.best_in} of {auto.of} scenarios"
    return f"auto, from isolated times: {best}, {loss}; chose {chosen}"
