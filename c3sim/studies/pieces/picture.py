"""A study of kind ``pieces`` at a glance: speedup of each schedule by GEMM, and its losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from c3sim.output.kit import look
from c3sim.studies.pieces.outcomes import FOUR, SHARDS, Row
from c3sim.studies.pieces.study import PiecesResult
from c3sim.studies.pieces.table import MOVES
from c3sim.studies.show import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 5.4, 2.5  # inches of a panel


def draw(study: PiecesResult) -> Figure:
    from matplotlib.figure import Figure

    first = study.scenarios[0].by
    rows = [row for row in study.scenarios if row.by == first]
    groups = grouped(rows, lambda row: (row.node, row.collective))
    nodes = list(dict.fromkeys(node for node, _ in groups))
    across = max(sum(node == each for node, _ in groups) for each in nodes)
    size = (WIDTH * across, 1.2 + (HEIGHT + 1.0) * len(nodes) + HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(nodes) + 1, across)
    colours = look.colours([*FOUR, SHARDS])
    places = {node: 0 for node in nodes}
    lines: Axes | None = None
    for (node, collective), found in groups.items():
        lines = figure.add_subplot(grid[nodes.index(node), places[node]])
        places[node] += 1
        _speedups(lines, f"{collective}, {node}", found, colours)
    _losses(figure.add_subplot(grid[len(nodes), :]), rows, colours)
    assert lines is not None  # a study has a scenario
    handles, names = lines.get_legend_handles_labels()
    look.key(figure, 6, handles=handles, labels=names, loc="outside lower center")
    title = f"{study.about.name}: speedup over serial, moved {MOVES[first]}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    return figure


def _speedups(axes: Axes, title: str, rows: Sequence[Row], colours: Mapping[str, str]) -> None:
    """A mark per schedule and GEMM; a grey bar up to the ideal."""
    look.panel(axes, title, "x")
    places = range(len(rows))
    tops = [row.ideal_speedup - 1 for row in rows]
    axes.bar(places, tops, bottom=1.0, color=look.GRID, width=0.85, label="ideal")
    for name, colour in colours.items():
        points = [
            (place, row.schedules[name].speedup)
            for place, row in enumerate(rows)
            if name in row.schedules
        ]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, "x" if name == SHARDS else "o", color=colour, markersize=5, label=name)
    axes.axhline(1.0, color=look.INK, linewidth=0.8)
    axes.set_xticks(places, [row.gemm for row in rows], rotation=90, fontsize=7)


def _losses(axes: Axes, rows: Sequence[Row], colours: Mapping[str, str]) -> None:
    """A point per scenario and schedule: what it loses to decomposition and to contention."""
    look.panel(axes, "What is lost, at the best number of pieces (% of serial)", "contention")
    axes.set_xlabel("decomposition")
    for name in FOUR:
        found = [row.schedules[name] for row in rows if name in row.schedules]
        xs = [100 * outcome.decomposition_loss for outcome in found]
        ys = [100 * outcome.contention_loss for outcome in found]
        axes.plot(xs, ys, "o", color=colours[name], markersize=4, alpha=0.8)
    axes.axhline(0.0, color=look.INK, linewidth=0.6)
    axes.axvline(0.0, color=look.INK, linewidth=0.6)
