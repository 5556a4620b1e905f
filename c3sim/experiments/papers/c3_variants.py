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

from c3sim.experiments.cases import Case, workload_cases
from c3sim.experiments.study import Asked, Row, StudyResult, grouped
from c3sim.experiments.subjects.variants import SAME, row_of
from c3sim.kit.grid import Table, remarks, titled
from c3sim.kit.panels import Panel, panel
from c3sim.kit.text import percent
from c3sim.spec.study import Study

CHOOSERS = ("conccl_latte", "alone", "one_thread", "pcpy_pl", "pcpy")


def cases(asked: Asked) -> list[Case]:
    return workload_cases(asked.loaded, asked.options.node)


def row(case: Case, study: Study) -> Row:
    return row_of(case, study.strategies)


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
    """A line per size for every operation and host."""
    rows, lines = sorted(found.rows, key=lambda row: int(row.size_bytes)), []
    for of in grouped(rows, lambda row: (row.collective, row.host, row.size_bytes)).values():
        slow = {
            name: fmean(row.strategies[name].gemm_slowdown for row in of)
            for name in of[0].strategies
        }
        line = {
            "soonest": list(dict.fromkeys(row.soonest for row in of)),
            "wall": _over_ideal(of),
            "slow": slow,
            "best": {row.label: winner(row) for row in of},
            "later": {row.label: winner(row, "good_not_prelaunched") for row in of},
        }
        lines.append({**of[0], **line})
    return titled("{collective} on " + found.node + ", {host}", lines)


def tables(found: StudyResult) -> list[Table | str]:
    parts: list[Table | str] = []
    for where, lines in _lines(found).items():
        columns = [
            "size_bytes size as size",
            "soonest > as ends soonest",
            "wall.* x",
            "slow.* x as GEMM *",
        ]
        note = "ideal: the longer one of both, alone; means over the GEMMs; slowdown of the GEMM"
        parts.append(Table(f"{where}: wall time over the ideal one (x)", lines, columns, note))
        note = "behind it, how much longer pcpy makes the wall time (%)"
        for key, what in (("later", "best variant without prelaunch"), ("best", "best variant")):
            columns = ["size_bytes size as size", f"{key}.* >"]
            parts.append(Table(f"{where}: {what} beside each GEMM", lines, columns, note))
    columns = ["host", "chooser", "mean %2", "p90 %2", "max %2", "good_in", "of", "worst"]
    columns += ["worst_chosen", "worst_best"]
    note = "regret: wall time with the variant chosen over that with the best one, less 1"
    title = f"{found.title}: regret of ways to choose a variant"
    return [*parts, Table(title, found.choosers, columns, note), remarks(found.published)]


def panels(found: StudyResult) -> list[Panel]:
    """Wall times over the ideal one by size, of every host and operation."""
    return [
        panel(f"{where}: wall time over ideal", lines, "size_bytes size", "wall.* x", log=True)
        for where, lines in _lines(found).items()
    ]
