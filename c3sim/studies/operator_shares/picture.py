"""A study of kind ``operator_shares`` at a glance: a bar of shares for each configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.output.kit.text import figures
from c3sim.studies.operator_shares.row import Row
from c3sim.studies.operator_shares.study import SharesResult
from c3sim.studies.show import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(study: SharesResult) -> Figure:
    from matplotlib.figure import Figure

    nodes = grouped(study.rows, lambda row: row.node)
    names = list(dict.fromkeys(row.configuration for row in study.rows))
    figure = Figure(figsize=(4.6 * len(nodes) + 2.4, 0.27 * len(names) + 2.0), layout="constrained")
    panels = figure.subplots(1, len(nodes), sharey=True, squeeze=False)[0]
    for axes, (node, rows) in zip(panels, nodes.items(), strict=True):
        _bars(axes, node, rows, names)
    artists, labels = panels[0].get_legend_handles_labels()
    columns = 1 + 3 * len(nodes)
    look.key(figure, columns, handles=artists, labels=labels, loc="outside lower center")
    title = f"{study.about.name}: where the time in which kernels run goes"
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def _bars(axes: Axes, node: str, rows: Sequence[Row], names: Sequence[str]) -> None:
    """A bar per configuration, from the top down, and its time in ms behind it."""
    colours = look.colours(rows[0].shares)
    places = {name: place for place, name in enumerate(names)}
    heights = [places[row.configuration] for row in rows]
    left = [0.0] * len(rows)
    for name, colour in colours.items():
        parts = [100 * row.shares[name] for row in rows]
        axes.barh(heights, parts, left=left, color=colour, label=name, height=0.72)
        left = [before + part for before, part in zip(left, parts, strict=True)]
    for row, height in zip(rows, heights, strict=True):
        text = f"{figures(1e3 * row.kernels_s)} ms"
        axes.annotate(text, (101, height), va="center", fontsize=7.5, color=look.INK)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 122)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("%")
    look.panel_title(axes, node)
    look.only_x_axis(axes)
