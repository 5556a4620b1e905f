"""A study of kind ``fused`` at a glance: time saved in every configuration, published means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.studies.fused.study import FusedResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What m, n and k of a configuration are, one below the other.
SIZES = {
    "embedding_all_to_all": "vectors\nnumbers in each\nrows added",
    "gemv_all_reduce": "rows of the matrix\nvectors\ncolumns",
    "gemm_all_to_all": "m\nn\nk",
}


def draw(study: FusedResult) -> Figure:
    from matplotlib.figure import Figure

    groups = list(dict.fromkeys((row.operator, row.node) for row in study.rows))
    figure = Figure(figsize=(13.0, 3.0 * len(groups)), layout="constrained")
    colours = look.colours(dict.fromkeys(operator for operator, _ in groups))
    panels = figure.subplots(len(groups), 1, squeeze=False)[:, 0]
    for axes, (operator, node) in zip(panels, groups, strict=True):
        rows = [row for row in study.rows if (row.operator, row.node) == (operator, node)]
        look.panel(axes, f"{operator} on {node}", "time saved (%)")
        heights = [100 * row.saving for row in rows]
        axes.bar(range(len(rows)), heights, 0.7, color=colours[operator])
        names = [row.configuration.replace(" x ", "\n") for row in rows]
        axes.set_xticks(range(len(rows)), names, fontsize=8)
        where = {"xycoords": "axes fraction", "textcoords": "offset points", "fontsize": 8}
        axes.annotate(SIZES[operator], (0, 0), (0, -7), ha="right", va="top", **where)
        known = study.published.get("savings", {}).get(operator, {}).get(node)
        if known:
            for which, line in (("mean", "-"), ("max", ":")):
                label = f"published {which} {known[which]:.0%}"
                axes.axhline(100 * known[which], color="black", lw=1, ls=line, label=label)
            look.above(axes, 2, "right")
    figure.suptitle(study.title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure
