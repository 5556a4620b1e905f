"""Kind ``c3_variants``: which DMA variant is the best beside a GEMM, and what does a way to choose
one give away? Nobody has published the two together.

All variants run beside the GEMM under the host of the case; the shortest wall time is the best. A
*chooser* names a variant from what it may know, and its *regret* is the wall time of that variant
over the best one, less 1:

    conccl_latte   the strategy: times alone and memory traffic
    alone          the quickest alone under the same host
    one_thread     the quickest alone when one thread submits for all GPUs and writes the engines'
                   rings, as the study dma-latte runs it
    pcpy, pcpy_pl  always the same

*soonest* is the variant whose collective ends first; *good* are as good as the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, geometric_mean, quantiles
from typing import Any

from c3sim.evaluation.losses import overlap
from c3sim.experiments.cases import Case, collective_of, gemm_of, shape_of, workload_cases
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.output.kit.grid import Table, remarks
from c3sim.output.kit.panels import Panel, panel
from c3sim.output.kit.text import percent
from c3sim.simulation.run import Run
from c3sim.simulation.runs import isolated, run_once
from c3sim.spec.study import Study
from c3sim.spec.workload import HostThreads, Workload
from c3sim.strategies.dma_variants import recommended_variants, variants, with_variants
from c3sim.strategies.rewrites import baseline, on_dma
from c3sim.strategies.table import best_candidate

CHOOSERS = ("conccl_latte", "alone", "one_thread", "pcpy_pl", "pcpy")
#: Wall times closer than this, relative, are as good as each other. A copy that is under way when
#: a round of tiles begins costs a GEMM 0.1 % through its share of the cache, however short it is.
SAME = 2e-3


def cases(asked: Asked) -> list[Case]:
    return workload_cases(asked.loaded, asked.options.node)


def row(case: Case, study: Study) -> Row:
    """Isolated times, every strategy, every variant, and what each chooser names."""
    (name, task), (gemm_name, gemm), node = collective_of(case), gemm_of(case), case.node
    common = baseline(case.workload, node)
    alone = [isolated(node, common, part).end for part in (gemm_name, name)]

    def outcome(run: Run) -> Row:
        """The GEMM and the collective together."""
        return Row(
            wall_s=run.end,
            gemm_slowdown=run.task(gemm_name).end / alone[0],
            collective_s=run.task(name).end,
            fraction_of_ideal=overlap(alone, run.end).fraction,
        )

    on_engines = on_dma(common, node)
    workloads = {
        variant.name: with_variants(on_engines, {name: variant})
        for variant in variants(node, task.op)
    }
    times = {variant: isolated(node, each, name).end for variant, each in workloads.items()}
    together = {
        variant: Row(outcome(run_once(node, each)), alone_s=times[variant])
        for variant, each in workloads.items()
    }
    walls = {variant: each.wall_s for variant, each in together.items()}
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
        gemm=shape_of(gemm),
        gemm_isolated_s=alone[0],
        comm_isolated_s=alone[1],
        ideal_speedup=sum(alone) / max(alone),
        strategies={
            strategy: outcome(best_candidate(strategy, case.workload, node).run)
            for strategy in study.strategies
        },
        variants=together,
        best=best,
        soonest=min(together, key=lambda variant: together[variant].collective_s),
        good=_good(walls),
        good_not_prelaunched=_good({v: w for v, w in walls.items() if not v.endswith("_pl")}),
        chosen=chosen,
        regret={who: walls[variant] / walls[best] - 1 for who, variant in chosen.items()},
    )


def host_name(host: HostThreads) -> str:
    """Who submits and how, in words: ``a thread per GPU, kernels queued, commands direct``."""
    thread = "one thread" if host.threads == "single" else "a thread per GPU"
    return f"{thread}, kernels {host.launch}, commands {host.submission.replace('_', ' ')}"


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


def reduce(asked: Asked, _: Sequence[Case], rows: list[Row]) -> Mapping[str, Any]:
    return {"rows": rows, "choosers": summed_regrets(rows), "published": asked.study.published}


def summed_regrets(rows: Sequence[Row]) -> list[Row]:
    """The regrets of each chooser that every case of a host has."""
    return [
        _regrets(host, chooser, of_host)
        for host, of_host in grouped(rows, lambda row: row.host).items()
        for chooser in CHOOSERS
        if all(chooser in row.regret for row in of_host)
    ]


def _regrets(host: str, chooser: str, rows: Sequence[Row]) -> Row:
    regrets = [row.regret[chooser] for row in rows]
    worst = max(rows, key=lambda row: row.regret[chooser])
    several = len(regrets) > 1
    return Row(
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


def _over_ideal(rows: Sequence[Row]) -> dict[str, float]:
    """Wall time over the longest isolated one by strategy and variant, mean over *rows*."""
    names = {**rows[0].strategies, **rows[0].variants}
    return {
        name: geometric_mean(
            (row.strategies.get(name) or row.variants[name]).wall_s
            / max(row.gemm_isolated_s, row.comm_isolated_s)
            for row in rows
        )
        for name in names
    }


def winner(row: Row, among: str = "good") -> str:
    """The first variant that is as good as the best, and how much longer pcpy takes (%)."""
    name: str = row[among][0]
    walls = {variant: row.variants[variant].wall_s for variant in row.variants}
    lost = walls["pcpy"] / min(walls[each] for each in row[among]) - 1
    return name + (f" {percent(lost)}" if name != "pcpy" else "")


def _lines(found: StudyResult) -> dict[str, list[dict[str, Any]]]:
    """A line per size of every operation and host."""
    settings = grouped(found.rows, lambda row: f"{row.collective} on {found.node}, {row.host}")
    return {
        where: [
            {
                "size": bytes_,
                "soonest": list(dict.fromkeys(row.soonest for row in rows)),
                "wall": _over_ideal(rows),
                "slow": {
                    name: fmean(row.strategies[name].gemm_slowdown for row in rows)
                    for name in rows[0].strategies
                },
                "best": {row.label: winner(row) for row in rows},
                "later": {row.label: winner(row, "good_not_prelaunched") for row in rows},
            }
            for bytes_, rows in sorted(grouped(of, lambda row: row.size_bytes).items())
        ]
        for where, of in settings.items()
    }


def tables(found: StudyResult) -> list[Table | str]:
    parts: list[Table | str] = []
    for where, lines in _lines(found).items():
        columns = [
            "size size as size",
            "soonest > as ends soonest",
            "wall.* x",
            "slow.* x as GEMM *",
        ]
        note = "ideal: the longer one of both, alone; means over the GEMMs; slowdown of the GEMM"
        parts.append(Table(f"{where}: wall time over the ideal one (x)", lines, columns, note))
        note = "behind it, how much longer pcpy makes the wall time (%)"
        for key, what in (("later", "best variant without prelaunch"), ("best", "best variant")):
            columns = ["size size as size", f"{key}.* >"]
            parts.append(Table(f"{where}: {what} beside each GEMM", lines, columns, note))
    columns = ["host", "chooser", "mean %2", "p90 %2", "max %2", "good_in", "of", "worst"]
    columns += ["worst_chosen", "worst_best"]
    note = "regret: wall time with the variant chosen over that with the best one, less 1"
    title = f"{found.title}: regret of ways to choose a variant"
    return [*parts, Table(title, found.choosers, columns, note), remarks(found.published)]


def panels(found: StudyResult) -> list[Panel]:
    """Wall times over the ideal one by size, of every host and operation."""
    return [
        panel(f"{where}: wall time over ideal", lines, "size size", "wall.* x", log=True)
        for where, lines in _lines(found).items()
    ]
