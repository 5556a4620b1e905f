"""Tables of a study of kind ``fused``: configurations, and each claim beside what comes out."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import TYPE_CHECKING

from c3sim.output.kit.layout import add_row, make_table, stack
from c3sim.studies.fused.study import FusedResult

if TYPE_CHECKING:
    from rich.console import RenderableType


def tables(study: FusedResult) -> list[RenderableType]:
    table = make_table(
        ["operator", "node", "m x n x k"], ["unfused\n(us)", "fused\n(us)", "saved\n(%)"]
    )
    for row in study.rows:
        times = (f"{1e6 * row.unfused_s:.0f}", f"{1e6 * row.fused_s:.0f}")
        add_row(table, row.operator, row.node, row.configuration, *times, f"{100 * row.saving:.0f}")
    claims = make_table(["claim"], ["simulated\n(%)", "published\n(%)"])
    for claim, ours, theirs in beside(study):
        add_row(claims, claim, f"{100 * ours:.0f}", theirs)
    said = study.assumptions
    reasons = [
        f"{name} {said[name]}: {said[f'{name}_why']}" for name in said if f"{name}_why" in said
    ]
    source = study.published.get("source")
    notes = "\n".join([*reasons, *([f"published: {source}"] if source else [])])
    return [stack("operators", table), stack("time saved", claims, notes)]


def beside(study: FusedResult) -> Iterator[tuple[str, float, str]]:
    """What is claimed, what comes out, and the published figure, where there is one."""
    savings, known = study.published.get("savings", {}), study.published
    for operator, nodes in study.by_node.items():
        for node, summary in nodes.items():
            theirs = savings.get(operator, {}).get(node, {})
            yield f"{operator} on {node}, mean", summary.mean_saving, _percent(theirs.get("mean"))
            yield f"{operator} on {node}, max", summary.max_saving, _percent(theirs.get("max"))
    skews = [row.skew for row in study.rows if row.skew is not None]
    for which in ("without", "with") if skews else ():
        published = _percent(known.get("skew", {}).get(which))
        yield f"skew of two nodes {which} the order", mean(skew[which] for skew in skews), published
    if study.training is not None:
        ends = known.get("training", {})
        theirs = f"{_percent(ends['low'])} to {_percent(ends['high'])}" if ends else ""
        step = study.training
        yield f"training step, {step.nodes} nodes of {step.node}", step.saving, theirs
        yield "embedding and all-to-all in that step", step.exchange_share, ""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f}"
