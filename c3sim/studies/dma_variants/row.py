"""A collective of one size by every variant: what claims, energies, tables and picture share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from c3sim.simulation.run import Run
from c3sim.simulation.runs import alone, run_once
from c3sim.strategies.dma_variants import variants, with_variants
from c3sim.strategies.rewrites import on_compute_units, with_tasks
from c3sim.studies.cases import Case, collective_of

PRELAUNCHED = "_pl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Time:
    """Of one collective alone."""

    time_us: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """*collective* of *size_bytes*: times of *variants* and of compute units (*rccl*), the *best*
    variant, and speedups over pcpy, simulated and *published*.
    """

    collective: str
    size_bytes: int
    variants: Mapping[str, Time]
    rccl: Time
    best: str
    speedups: Mapping[str, float]
    published: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseRuns:
    """The collective of *case* alone: on compute units (*rccl*) and by each variant."""

    case: Case
    rccl: Run
    variants: Mapping[str, Run]


def runs_of(case: Case) -> CaseRuns:
    """Each program of the engines, on as many of them as the workload says."""
    name, task = collective_of(case)
    base = alone(with_tasks(case.workload, {name: {"backend": "dma"}}), name)
    runs = {}
    for variant in variants(case.node, task.op):
        if variant.engines is None:
            chosen = with_variants(base, {name: replace(variant, engines=task.engines)})
            runs[variant.name] = run_once(case.node, chosen)
    rccl = run_once(case.node, on_compute_units(base, case.node))
    return CaseRuns(case=case, rccl=rccl, variants=runs)
