"""What a study of one GEMM beside one collective says: classes of scenarios, and means per
strategy.

Classes by isolated times: G-long Tg > 1.15 Tc, C-long Tc > 1.15 Tg, GC-equal otherwise (arXiv 2412.14335).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from c3sim.simulation.runs import isolated
from c3sim.strategies.rewrites import baseline
from c3sim.studies.cases import Case, gather_of, gemm_of
from c3sim.studies.rows import Row

MARGIN = 1.15


def classify(gemm_s: float, comm_s: float) -> str:
    """``G-long``, ``C-long`` or ``GC-equal``."""
    if gemm_s > MARGIN * comm_s:
        return "G-long"
    return "C-long" if comm_s > MARGIN * gemm_s else "GC-equal"


def isolated_pair(case: Case) -> tuple[float, float]:
    """Times alone [s] of the GEMM, and of the collective on compute units."""
    base = baseline(case.workload, case.node)
    return (
        isolated(case.node, base, gemm_of(case)[0]).end,
        isolated(case.node, base, gather_of(case)[0]).end,
    )


def scenario_entry(case: Case, rows: Sequence[Row]) -> dict[str, Any]:
    """One scenario with its results, as plain data."""
    _, gemm = gemm_of(case)
    _, gather = gather_of(case)
    gemm_s, comm_s = isolated_pair(case)
    shown = ("wall_s", "speedup", "fraction_of_ideal", "own_fraction", "chosen")
    return {
        "name": case.name,
        "label": case.label,
        "class": classify(gemm_s, comm_s),
        "collective": gather.op,
        "bytes": int(gather.size),
        "gemm": {"m": gemm.m, "n": gemm.n, "k": gemm.k, "dtype": gemm.dtype},
        "gemm_isolated_s": gemm_s,
        "comm_isolated_s": comm_s,
        "ideal_speedup": (gemm_s + comm_s) / max(gemm_s, comm_s),
        "strategies": {row["strategy"]: {key: row[key] for key in shown} for row in rows},
    }


def strategy_means(rows: Sequence[Row]) -> dict[str, float | None]:
    """Of the rows of one strategy: mean fraction, ratio of means, mean own fraction, mean and
    largest speedup.
    """
    speedup = fmean(row["speedup"] for row in rows)
    ideal = fmean(row["ideal_speedup"] for row in rows)
    return {
        "mean_fraction_of_ideal": _mean(rows, "fraction_of_ideal"),
        "ratio_of_means": (speedup - 1) / (ideal - 1) if ideal > 1 else None,
        "mean_own_fraction": _mean(rows, "own_fraction"),
        "mean_speedup": speedup,
        "max_speedup": max(row["speedup"] for row in rows),
    }


def auto_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """How much slower the heuristics' choice is than the best one, over the scenarios."""
    losses = [row["loss"] for row in rows]
    hits = sum(1 for loss in losses if loss <= 1e-9)
    chosen: dict[str, int] = {}
    for row in rows:
        chosen[row["chosen"]] = chosen.get(row["chosen"], 0) + 1
    return {
        "mean_loss": fmean(losses),
        "max_loss": max(losses),
        "best_in": hits,
        "of": len(rows),
        "chosen": chosen,
    }


def by_strategy(entries: Sequence[Sequence[Row]]) -> Mapping[str, list[Row]]:
    """Rows of all cases, by strategy."""
    found: dict[str, list[Row]] = {}
    for rows in entries:
        for row in rows:
            found.setdefault(row["strategy"], []).append(row)
    return found


def _mean(rows: Sequence[Row], key: str) -> float | None:
    values = [row[key] for row in rows if row[key] is not None]
    return fmean(values) if values else None
