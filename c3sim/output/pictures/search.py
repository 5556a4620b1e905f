"""Picture of a search: each design by each objective, the best so far, and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c3sim.kit import look
from c3sim.kit.files import AnyPath
from c3sim.output.pictures.axes import grid
from c3sim.output.results.columns import column_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from c3sim.experiments.search import SearchResult


def draw_search(result: SearchResult, path: AnyPath | None = None) -> Figure:
    """A panel for each objective: designs in the order tried, the best so far, what is there."""

    def draw() -> Figure:
        figure, panels = grid(len(result.objectives), 7.0, 3.2)
        for axes, (name, more) in zip(panels, result.objectives.items(), strict=True):
            _panel(axes, result, name, more)
        title = f"{result.loaded.study.name} on {result.setup.node.name}"
        figure.suptitle(title, x=0.05, y=0.88, ha="left", fontsize=12)
        return figure

    return look.picture(draw, path)


def _panel(axes: Axes, result: SearchResult, name: str, more: bool) -> None:
    import pandas as pd

    rows = pd.DataFrame(result.rows)
    column = column_of(name, rows[name][rows["error"].isna()].dropna().astype(float), {})
    show = column.display()
    look.panel(axes, column.label, show.unit)
    values = column.values / show.factor
    axes.plot(values.index, values, ".", color="#8c8c8c", markersize=4, label="designs")
    best = values.cummax() if more else values.cummin()
    axes.plot(best.index, best, drawstyle="steps-post", color=look.INK, label="best so far")
    gain = result.gains.get(name)
    if gain is not None and gain.there is not None:
        label = f"as it is ({gain.strategy})"
        axes.axhline(gain.there / show.factor, color="#c44e52", linestyle="--", label=label)
    axes.set_xlabel("design")
    axes.legend(fontsize=9, framealpha=0.85)
