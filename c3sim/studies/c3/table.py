"""Tables of a study of C3: its strategies beside the published figures, and its scenarios one by
one.

A *study* is ``{"strategies": {NAME: {"mean_fraction_of_ideal", "ratio_of_means", "mean_own_fraction", "mean_speedup",
"max_speedup", "band": [low, high]}}, "scenarios": [{"name", "class", "collective", "bytes", "gemm": {"m", "n", "k",
"dtype"}, "gemm_isolated_s", "comm_isolated_s", "strategies": {NAME: {"wall_s", "speedup", "fraction_of_ideal"}}}],
"published": {"mean_fraction_of_ideal": {NAME: value}, "source": text}}``. Fractions are 0..1, None where undefined.
``name`` and ``node`` of the study, the published figures and the bands may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from c3sim.output.layout import add_row, make_table, stack
from c3sim.output.text import MISSING, percent, size, time_unit, times

if TYPE_CHECKING:
    from rich.console import Group


def study_table(study: Mapping[str, Any]) -> Group:
    """A row per strategy: means over the scenarios, the band around the mean, the published mean
    and the difference.
    """
    headers = [
        "fraction\nof ideal\n(%)",
        "ratio of\nmeans\n(%)",
        "own\nfraction\n(%)",
        "mean\nspeedup\n(x)",
    ]
    headers += ["max\nspeedup\n(x)", "band\n(%)", "published\n(%)", "diff.\n(points)"]
    table = make_table(["strategy"], headers)
    published = published_fractions(study)
    for name, row in study["strategies"].items():
        mean, theirs = row["mean_fraction_of_ideal"], published.get(name)
        low_high = " to ".join(percent(edge, 0) for edge in row.get("band") or ()) or MISSING
        shares = (
            percent(value) for value in (mean, row["ratio_of_means"], row["mean_own_fraction"])
        )
        speedups = (f"{row[key]:.2f}" for key in ("mean_speedup", "max_speedup"))
        off = MISSING if mean is None or theirs is None else f"{100 * (mean - theirs):+.1f}"
        add_row(table, name, *shares, *speedups, low_high, percent(theirs), off)
    title = f"{_title(study)}: strategies over {len(study['scenarios'])} scenarios"
    explained = (
        "fractions: means over the scenarios; ratio of means: (mean speedup - 1) / (mean ideal speedup - 1)\n"
        "band: the mean over other admissible sets of scenarios; difference: simulated less published"
    )
    source = (study.get("published") or {}).get("source")
    return stack(title, table, explained, *([f"published: {source}"] if source else []))


def scenario_table(study: Mapping[str, Any]) -> Group:
    """A row per scenario: its sizes, isolated times and class, and the fraction of ideal under each
    strategy.
    """
    scenarios, names = study["scenarios"], list(study["strategies"])
    longest = max((max(s["gemm_isolated_s"], s["comm_isolated_s"]) for s in scenarios), default=0.0)
    unit, length = time_unit(longest)
    headers = [
        f"Tg\n({unit})",
        f"Tc\n({unit})",
        *(name.replace("_", "_\n") + "\n(%)" for name in names),
    ]
    table = make_table(
        ["scenario", "class", "GEMM\n(M, N, K)", "collective\n(per GPU)"],
        [*headers, "best\n(speedup)"],
    )
    for scenario in scenarios:
        gemm, runs = scenario["gemm"], scenario["strategies"]
        shape = f"{gemm['m']}, {gemm['n']}, {gemm['k']} {gemm['dtype']}"
        what = f"{scenario['collective']} {size(scenario['bytes'])}"
        alone = (f"{scenario[key] / length:.3f}" for key in ("gemm_isolated_s", "comm_isolated_s"))
        shares = (percent(runs[n]["fraction_of_ideal"], 0) if n in runs else MISSING for n in names)
        best = max(runs, key=lambda name: float(runs[name]["speedup"]), default=None)
        winner = MISSING if best is None else f"{times(runs[best]['speedup'])} {best}"
        add_row(table, scenario["name"], scenario["class"], shape, what, *alone, *shares, winner)
    return stack(
        f"{_title(study)}: fraction of ideal (%) per scenario",
        table,
        "Tg, Tc: the GEMM, and the collective on compute units, alone",
    )


def published_fractions(study: Mapping[str, Any]) -> dict[str, float]:
    """The published mean fraction of ideal of each strategy that has one."""
    published = (study.get("published") or {}).get("mean_fraction_of_ideal") or {}
    return {name: float(value) for name, value in published.items() if value is not None}


def _title(study: Mapping[str, Any]) -> str:
    node = f" on {study['node']}" if study.get("node") else ""
    return f"{study.get('name', 'study')}{node}"
