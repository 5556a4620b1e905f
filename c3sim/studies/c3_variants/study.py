"""A study of kind ``c3_variants``: one GEMM beside one collective on DMA engines by variant.

A case is a node, and a workload with one GEMM, one collective and the host that submits. All
variants run beside the GEMM under that host; the shortest wall time is the best. A *chooser* names
a variant from what it may know, and its *regret* is the wall time of that variant over the best
one, less 1:

    conccl_latte   the strategy: times alone and memory traffic
    alone          the quickest alone under the same host
    one_thread     the quickest alone when one thread submits for all GPUs and writes the engines'
                   rings, as the study dma-latte runs it
    pcpy, pcpy_pl  always the same
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, quantiles
from typing import Any

from c3sim.evaluation.losses import overlap
from c3sim.simulation.run import Run
from c3sim.simulation.runs import isolated, run_once
from c3sim.specs.study import Study
from c3sim.specs.workload import HostThreads, Workload
from c3sim.strategies.dma_variants import recommended_variants, variants, with_variants
from c3sim.strategies.rewrites import baseline, on_dma
from c3sim.strategies.table import best_candidate
from c3sim.studies.cases import Case, GemmShape, collective_of, gemm_of, study_cases
from c3sim.studies.kind import About, Options, StudyResult
from c3sim.studies.parallel import for_each
from c3sim.studies.plain import IF_KNOWN
from c3sim.studies.show import grouped

CHOOSERS = ("conccl_latte", "alone", "one_thread", "pcpy_pl", "pcpy")
#: Wall times closer than this, relative, are as good as each other. A copy that is under way when
#: a round of tiles begins costs a GEMM 0.1 % through its share of the cache, however short it is.
SAME = 2e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The GEMM and the collective together; of a variant, also the collective alone."""

    wall_s: float
    gemm_slowdown: float
    collective_s: float
    fraction_of_ideal: float | None
    alone_s: float | None = field(default=None, metadata=IF_KNOWN)

    @classmethod
    def of(
        cls, case: Case, run: Run, alone: Sequence[float], alone_s: float | None = None
    ) -> Outcome:
        """The *run* of *case*; *alone*: times [s] of the GEMM and of the collective."""
        return cls(
            wall_s=run.end,
            gemm_slowdown=run.task(gemm_of(case)[0]).end / alone[0],
            collective_s=run.task(collective_of(case)[0]).end,
            fraction_of_ideal=overlap(alone, run.end).fraction,
            alone_s=alone_s,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One case. *best* has the shortest wall time, *soonest* the collective that ends first; *good*
    are as good as the best, of all variants and of those that are not prelaunched.
    """

    scenario: str
    label: str
    host: str
    collective: str
    size_bytes: int
    gemm: GemmShape
    gemm_isolated_s: float
    comm_isolated_s: float
    ideal_speedup: float
    strategies: Mapping[str, Outcome]
    variants: Mapping[str, Outcome]
    best: str
    soonest: str
    good: Sequence[str]
    good_not_prelaunched: Sequence[str]
    chosen: Mapping[str, str]
    regret: Mapping[str, float]

    @property
    def walls(self) -> dict[str, float]:
        return {name: variant.wall_s for name, variant in self.variants.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Regrets:
    """Of a chooser under a host, over all cases; in *good_in* of them it is as good as the best."""

    host: str
    chooser: str
    mean: float
    p90: float
    max: float
    good_in: int
    of: int
    worst: str
    worst_chosen: str
    worst_best: str


@dataclass(frozen=True, kw_only=True, slots=True)
class C3VariantsResult(StudyResult):
    """*rows*, one per case; *choosers*, one per host and chooser."""

    rows: Sequence[Row]
    choosers: Sequence[Regrets]
    published: Mapping[str, Any]


def run(study: Study, options: Options) -> C3VariantsResult:
    """Every case of *study* by every variant and strategy. Raises InputError."""
    cases = study_cases(study, options.node)
    rows = for_each(row_of, cases, study.strategies, what="scenarios", options=options)
    return C3VariantsResult(
        about=About.of(study, cases[0].node),
        rows=rows,
        choosers=summed_regrets(rows),
        published=study.published,
    )


def summed_regrets(rows: Sequence[Row]) -> list[Regrets]:
    """The regrets of each chooser that every case of a host has."""
    return [
        _regrets(host, chooser, of_host)
        for host, of_host in grouped(rows, lambda row: row.host).items()
        for chooser in CHOOSERS
        if all(chooser in row.regret for row in of_host)
    ]


def _regrets(host: str, chooser: str, rows: Sequence[Row]) -> Regrets:
    regrets = [row.regret[chooser] for row in rows]
    worst = max(rows, key=lambda row: row.regret[chooser])
    several = len(regrets) > 1
    return Regrets(
        host=host,
        chooser=chooser,
        mean=fmean(regrets),
        p90=quantiles(regrets, n=10, method="inclusive")[-1] if several else regrets[0],
        max=max(regrets),
        good_in=sum(regret <= SAME for regret in regrets),
        of=len(rows),
        worst=worst.scenario,
        worst_chosen=worst.chosen[chooser],
        worst_best=worst.best,
    )


def host_name(host: HostThreads) -> str:
    """Who submits and how, in words: ``a thread per GPU, kernels queued, commands direct``."""
    thread = "one thread" if host.threads == "single" else "a thread per GPU"
    return f"{thread}, kernels {host.launch}, commands {host.submission.replace('_', ' ')}"


def row_of(case: Case, strategies: Sequence[str]) -> Row:
    """One case: its isolated times, every strategy, every variant, and what each chooser names."""
    (name, task), (gemm_name, gemm), node = collective_of(case), gemm_of(case), case.node
    common = baseline(case.workload, node)
    alone = [isolated(node, common, part).end for part in (gemm_name, name)]

    on_engines = on_dma(common, node)
    workloads = {
        variant.name: with_variants(on_engines, {name: variant})
        for variant in variants(node, task.op)
    }
    times = {variant: isolated(node, each, name).end for variant, each in workloads.items()}
    together = {
        variant: Outcome.of(case, run_once(node, each), alone, times[variant])
        for variant, each in workloads.items()
    }
    walls = {variant: outcome.wall_s for variant, outcome in together.items()}
    best = min(walls, key=lambda variant: walls[variant])
    chosen = {
        "conccl_latte": recommended_variants(on_engines, node).variants[name].name,
        "alone": min(times, key=lambda variant: times[variant]),
        "one_thread": _quickest_by_one_thread(case, workloads, name),
    }
    chosen |= {fixed: fixed for fixed in ("pcpy_pl", "pcpy") if fixed in workloads}
    return Row(
        scenario=case.name,
        label=case.label or case.name,
        host=host_name(case.workload.host),
        collective=task.op,
        size_bytes=int(task.size),
        gemm=GemmShape.of(gemm),
        gemm_isolated_s=alone[0],
        comm_isolated_s=alone[1],
        ideal_speedup=sum(alone) / max(alone),
        strategies={
            strategy: Outcome.of(case, best_candidate(strategy, case.workload, node).run, alone)
            for strategy in strategies
        },
        variants=together,
        best=best,
        soonest=min(together, key=lambda variant: together[variant].collective_s),
        good=_good(walls),
        good_not_prelaunched=_good({v: w for v, w in walls.items() if not v.endswith("_pl")}),
        chosen=chosen,
        regret={who: walls[variant] / walls[best] - 1 for who, variant in chosen.items()},
    )


def _good(walls: Mapping[str, float]) -> list[str]:
    """The variants that are as good as the best of them, in order."""
    least = min(walls.values())
    return [name for name, wall in walls.items() if wall <= (1 + SAME) * least]


def _quickest_by_one_thread(case: Case, workloads: Mapping[str, Workload], name: str) -> str:
    """The variant that is quickest alone when one thread writes the rings of all GPUs."""

    def time(variant: str) -> float:
        workload = workloads[variant]
        host = workload.host.model_copy(update={"threads": "single", "submission": "direct"})
        return isolated(case.node, workload.model_copy(update={"host": host}), name).end

    return min(workloads, key=time)
