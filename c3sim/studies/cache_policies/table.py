"""A study of kind ``cache_policies`` as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.output.kit.text import percent
from c3sim.studies.cache_policies.policies import POLICIES
from c3sim.studies.cache_policies.study import CachePoliciesResult

if TYPE_CHECKING:
    from rich.console import RenderableType

EXPLAINED = (
    "caching saves: best static policy over uncached; rows cost: cache_rw over rinsing;"
    " waiting costs: over allocation\nbypass; misses that wait for a line of L2, bytes written"
    " that hit their row: both under cache_rw"
)


def tables(result: CachePoliciesResult) -> list[RenderableType]:
    every = [table for node in result.adaptive_worst_loss for table in _times(result, node)]
    return [*every, _claims(result)]


def _times(result: CachePoliciesResult, node: str) -> list[RenderableType]:
    """Times as multiples of uncached, and what decides."""
    others = list(POLICIES)[1:]
    table = make_table(
        ["application", "class"],
        [
            "uncached\n(us)",
            *(f"{each.replace('_', chr(10))}\n(x)" for each in others),
            *(f"{each}\n(%)" for each in ("caching\nsaves", "rows\ncost", "waiting\ncosts")),
            *(f"{each}\n(%)" for each in ("misses\nwait", "row\nhits")),
        ],
    )
    decided = {(each.node, each.application): each for each in result.mechanisms}
    for row in result.rows:
        if row.node != node:
            continue
        base, why = row.times_s["uncached"], decided[node, row.application]
        add_row(
            table,
            row.application.replace("_", " "),
            row.klass,
            f"{1e6 * base:.1f}",
            *(f"{row.times_s[policy] / base:.2f}" for policy in others),
            *map(percent, (why.reuse, why.rows, why.waiting, why.stalls, why.row_hits)),
        )
    loss = percent(result.adaptive_worst_loss[node])
    title = f"{node}: time over that of uncached; adaptive loses {loss} % at worst"
    return [stack(title, table, EXPLAINED, "")]


def _claims(result: CachePoliciesResult) -> RenderableType:
    table = make_table(["claim"], ["holds in\n(% of draws)"])
    for name, share in result.claims.items():
        add_row(table, name.replace("_", " "), percent(share))
    return stack("Published claims, and the share of the draws in which each holds (apu)", table)
