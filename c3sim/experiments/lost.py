"""The losses in a strategy's mean fraction of ideal: points lost by kinds of sharing.

With f the fraction, f_k without the kinds of sharing k, and f_0 without any,

    f = 1 + (f_0 - 1) - sum of (f_k - f) - together
            alone       by removal

*alone*: what the strategy's tasks take alone, against the ideal with collectives on compute units:
engines that are quicker than channels add to it, fewer compute units take from it. *together* is
what removals one by one leave. All are means over the same cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean

from c3sim.evaluation.losses import overlap
from c3sim.evaluation.strategies.rewrites import baseline
from c3sim.evaluation.strategies.table import best_candidate
from c3sim.experiments.draws import Rerun
from c3sim.experiments.study import Asked, Row
from c3sim.simulation.runs import isolated, kinds_of, run_once
from c3sim.spec.hardware import Node
from c3sim.spec.workload import Workload

#: Points -> kinds of sharing that are taken away together.
KINDS: Mapping[str, tuple[str, ...]] = {
    "waiting": ("compute_units",),
    "memory": ("cache", "hbm"),
    "links": ("links", "dma", "host"),
    "clock": ("clock",),
}


def points_lost(reruns: Sequence[Rerun], asked: Asked) -> list[Row]:
    """A row for each strategy, of fractions; a case where nothing can overlap is left out."""
    found = asked.each(_of_case, reruns, what="where points come from", worth=8)
    names = dict.fromkeys(name for each in found for name in each)
    rows = []
    for name in names:
        of = [each[name] for each in found if name in each]
        rows.append(
            Row(strategy=name, **{part: fmean(each[part] for each in of) for part in of[0]})
        )
    return rows


def _of_case(rerun: Rerun) -> dict[str, dict[str, float]]:
    workload, node = rerun.case.workload, rerun.case.node
    base = baseline(workload, node)
    alone = [isolated(node, base, name).end for name in base.tasks]
    if overlap(alone, sum(alone)).fraction is None:
        return {}
    parts = {}
    for name, candidate in rerun.strategies.items():
        best = best_candidate(candidate, workload, node)
        fraction = partial(_fraction, alone, best.workload, node)
        usual, nothing = fraction(()), fraction(kinds_of(best.workload))
        lost = {part: fraction(kinds) - usual for part, kinds in KINDS.items()}
        rest = nothing - usual - sum(lost.values())
        parts[name] = {"alone": nothing - 1.0, **lost, "together": rest, "fraction": usual}
    return parts


def _fraction(
    alone: Sequence[float], workload: Workload, node: Node, private: Sequence[str]
) -> float:
    run = run_once(node, workload, frozenset(private), energy=False)
    fraction = overlap(alone, run.end).fraction
    assert fraction is not None  # asked before
    return fraction
