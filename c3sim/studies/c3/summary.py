"""What is concluded from one GEMM beside one collective: classes, and means of each strategy.

Classes by the isolated times Tg of the GEMM and Tc of the collective (arXiv 2412.14335):

    G-long    Tg > 1.15 Tc
    C-long    Tc > 1.15 Tg
    GC-equal  otherwise
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from c3sim.simulation.runs import isolated
from c3sim.strategies.rewrites import baseline
from c3sim.studies.cases import Case, GemmShape, collective_of, gemm_of
from c3sim.studies.plain import IF_KNOWN, KEY
from c3sim.studies.rows import Row

MARGIN = 1.15
#: A loss up to which the choice of the heuristics is the best one: rounding.
NO_LOSS = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """Of one strategy over all scenarios; fractions are None where nothing can overlap.

    *ratio_of_means* = (mean speedup - 1) / (mean ideal speedup - 1); *band*: the 5th and 95th
    percentile of the mean fraction over all that may have been otherwise (answer.py).
    """

    mean_fraction_of_ideal: float | None
    ratio_of_means: float | None
    mean_own_fraction: float | None
    mean_speedup: float
    max_speedup: float
    band: tuple[float, float] | None = field(default=None, metadata=IF_KNOWN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    wall_s: float
    speedup: float
    fraction_of_ideal: float | None
    own_fraction: float | None
    chosen: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A pair with its isolated times [s], and its outcome under each strategy."""

    name: str
    label: str
    length_class: str = field(metadata={KEY: "class"})
    collective: str
    size_bytes: int = field(metadata={KEY: "bytes"})
    gemm: GemmShape
    gemm_isolated_s: float
    comm_isolated_s: float
    ideal_speedup: float
    strategies: Mapping[str, Outcome]


@dataclass(frozen=True, kw_only=True, slots=True)
class AutoSummary:
    """How much longer the choices of the heuristics take than the best ones, as a fraction."""

    mean_loss: float
    max_loss: float
    best_in: int
    of: int
    chosen: Mapping[str, int]


def classify(gemm_s: float, comm_s: float) -> str:
    if gemm_s > MARGIN * comm_s:
        return "G-long"
    return "C-long" if comm_s > MARGIN * gemm_s else "GC-equal"


def isolated_pair(case: Case) -> tuple[float, float]:
    """Times alone [s] of the GEMM, and of the collective on compute units."""
    base = baseline(case.workload, case.node)
    return (
        isolated(case.node, base, gemm_of(case)[0]).end,
        isolated(case.node, base, collective_of(case)[0]).end,
    )


def scenario_of(case: Case, rows: Sequence[Row]) -> Scenario:
    """*case* with its *rows*, one per strategy."""
    _, collective = collective_of(case)
    gemm_s, comm_s = isolated_pair(case)
    return Scenario(
        name=case.name,
        label=case.label,
        length_class=classify(gemm_s, comm_s),
        collective=collective.op,
        size_bytes=int(collective.size),
        gemm=GemmShape.of(gemm_of(case)[1]),
        gemm_isolated_s=gemm_s,
        comm_isolated_s=comm_s,
        ideal_speedup=(gemm_s + comm_s) / max(gemm_s, comm_s),
        strategies={row.strategy: _outcome(row) for row in rows},
    )


def _outcome(row: Row) -> Outcome:
    return Outcome(
        wall_s=row.result.wall_s,
        speedup=row.result.speedup,
        fraction_of_ideal=row.result.fraction_of_ideal,
        own_fraction=row.result.own_fraction,
        chosen=row.chosen,
    )


def strategy_means(rows: Sequence[Row]) -> Means:
    results = [row.result for row in rows]
    speedup = fmean(result.speedup for result in results)
    ideal = fmean(result.ideal_speedup for result in results)
    return Means(
        mean_fraction_of_ideal=_mean([result.fraction_of_ideal for result in results]),
        ratio_of_means=(speedup - 1) / (ideal - 1) if ideal > 1 else None,
        mean_own_fraction=_mean([result.own_fraction for result in results]),
        mean_speedup=speedup,
        max_speedup=max(result.speedup for result in results),
    )


def auto_summary(rows: Sequence[Row]) -> AutoSummary:
    """What the heuristics lose, over the *rows* of auto."""
    losses = [row.loss for row in rows]
    return AutoSummary(
        mean_loss=fmean(losses),
        max_loss=max(losses),
        best_in=sum(loss <= NO_LOSS for loss in losses),
        of=len(rows),
        chosen=Counter(row.chosen for row in rows),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
