"""A study of kind ``training_overlap`` at a glance: computing, stretched and exposed time of each
variant, over the time of the first variant's two sides one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.studies.show import grouped
from c3sim.studies.training_overlap.study import OverlapResult, Row
from c3sim.studies.training_overlap.table import WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = {"computing": look.PALETTE[0], "stretched": look.PALETTE[1], "exposed": look.PALETTE[5]}


def draw(study: OverlapResult) -> Figure:
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(row.model for row in study.rows))
    nodes = list(dict.fromkeys(row.node for row in study.rows))
    steps = grouped(study.rows, lambda row: (row.model, row.node))
    size = (4.4 * len(nodes) + 1.6, 3.1 * len(models) + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(models), len(nodes), sharey=True, squeeze=False)
    for (model, node), rows in steps.items():
        axes = panels[models.index(model)][nodes.index(node)]
        _bars(axes, rows)
        look.panel_title(axes, f"{rows[0].layers} layers of {model}, {node}")
    artists, labels = panels[0][0].get_legend_handles_labels()
    look.key(figure, len(labels), handles=artists, labels=labels, loc="outside lower center")
    title = f"{study.about.name}: a training step, in % of its time without overlap"
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    return figure


def _bars(axes: Axes, rows: Sequence[Row]) -> None:
    """A bar per variant from the top down; behind it what hides and what limits it."""
    places, whole = range(len(rows)), rows[0].wall_s
    left = [0.0] * len(rows)
    for name, colour in PARTS.items():
        parts = [100 * _part(row, name) / whole for row in rows]
        axes.barh(places, parts, left=left, color=colour, label=name, height=0.7)
        left = [before + part for before, part in zip(left, parts, strict=True)]
    for place, row, end in zip(places, rows, left, strict=True):
        text = f"{100 * row.hidden:.0f} % hidden; {WORDS[row.limited_by]}"
        axes.annotate(text if place else "", (end + 1, place), va="center", fontsize=7.5)
    axes.set_yticks(places, [row.variant for row in rows], fontsize=8.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, 1.42 * max(100.0, *left))
    axes.set_xlabel("%")
    look.grid(axes, "x")
    look.only_x_axis(axes)


def _part(row: Row, name: str) -> float:
    """Seconds of the bar; operators that run quicker than without communication shorten it."""
    if name == "computing":
        return row.compute_s + min(0.0, row.stretched_s)
    return row.exposed_s if name == "exposed" else max(0.0, row.stretched_s)
