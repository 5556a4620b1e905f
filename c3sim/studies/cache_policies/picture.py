"""A study of kind ``cache_policies`` at a glance: a panel per machine, a mark per policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.studies.cache_policies.policies import POLICIES
from c3sim.studies.cache_policies.study import CachePoliciesResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = "o^svD*P"


def draw(result: CachePoliciesResult) -> Figure:
    from matplotlib.figure import Figure

    nodes = list(result.adaptive_worst_loss)
    figure = Figure(figsize=(13.0, 3.4 * len(nodes)), layout="constrained")
    colours = look.colours(dict.fromkeys(POLICIES))
    for place, node in enumerate(nodes):
        axes = figure.add_subplot(len(nodes), 1, place + 1)
        look.panel(axes, f"{node}: time over the best static policy", "x")
        rows = [row for row in result.rows if row.node == node]
        for number, (mark, policy) in enumerate(zip(MARKS, POLICIES, strict=True)):
            over = [
                row.times_s[policy] / min(row.times_s[each] for each in list(POLICIES)[:3])
                for row in rows
            ]
            places = [at + 0.1 * (number - len(POLICIES) // 2) for at in range(len(rows))]
            axes.plot(places, over, mark, color=colours[policy], label=policy, markersize=5)
        names = [f"{row.application.replace('_', ' ')}\n{row.klass}" for row in rows]
        axes.set_xticks(range(len(rows)), names, rotation=60, ha="right", fontsize=8)
        if place == 0:
            handles, labels = axes.get_legend_handles_labels()
    look.key(figure, 4, handles=handles, labels=labels, loc="outside lower center")
    figure.suptitle(result.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure
