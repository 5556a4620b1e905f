"""A study of kind ``cache_policies`` as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.evaluation.policy_costs import POLICIES
from c3sim.output.kit.text import percent
from c3sim.studies.cache_policies.study import CachePoliciesResult

if TYPE_CHECKING:
    from rich.console import RenderableType


def tables(result: CachePoliciesResult) -> list[RenderableType]:
    return [*(_times(result, node) for node in result.adaptive_worst_loss), _claims(result)]


def _times(result: CachePoliciesResult, node: str) -> RenderableType:
    """Times as multiples of uncached, and what decides."""
    from rich.table import Table

    loss = percent(result.adaptive_worst_loss[node])
    table = Table(title=f"{node}: time over uncached; adaptive loses {loss} % at worst")
    table.add_column("application")
    table.add_column("class")
    table.add_column("uncached (us)", justify="right")
    for policy in list(POLICIES)[1:]:
        table.add_column(policy, justify="right")
    table.add_column("cache_rw: bound by, stalls, row hits")
    decided = {(each.node, each.application): each for each in result.mechanisms}
    for row in result.rows:
        if row.node != node:
            continue
        base, why = row.times_s["uncached"], decided[node, row.application]
        others = [f"{row.times_s[policy] / base:.2f}" for policy in list(POLICIES)[1:]]
        reason = f"{why.bound['cache_rw']}, {percent(why.stalls)} %, {percent(why.row_hits)} %"
        table.add_row(row.application, row.klass, f"{1e6 * base:.1f}", *others, reason)
    return table


def _claims(result: CachePoliciesResult) -> RenderableType:
    from rich.table import Table

    table = Table(title="Published claims: share of the draws in which each holds (apu)")
    table.add_column("claim")
    table.add_column("%", justify="right")
    for name, share in result.claims.items():
        table.add_row(name.replace("_", " "), percent(share))
    return table
