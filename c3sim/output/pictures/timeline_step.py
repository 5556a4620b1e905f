"""Panels of a step of a model: where layers are left out, exposed time by group of GPUs, stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from c3sim.iterations.result import IterationResult
from c3sim.kit import look
from c3sim.kit.step import STAGES, Step, folded_at, stages_shown
from c3sim.output.pictures.timeline_lanes import BAND, COLOURS, Scale
from c3sim.output.pictures.timeline_panels import Panel
from c3sim.result import Counter, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Panels of a picture of a step, which is one page; the page in a browser has all.
ON_A_PAGE = frozenset({"compute_units", "hbm", "link", "nic.out", "dma", "clock"})
ROW = 0.26  # inches of a group or a stage
#: What a stage does -> its colour.
_OF_STAGE = {
    "forward": COLOURS["gemm"],
    "backward": COLOURS["normalisation"],
    "optimizer": COLOURS["optimizer"],
    "bubbles": "#dddddd",
    "waits": "#bbbbbb",
}


def on_a_page(panels: list[tuple[Panel, Counter]], result: Result) -> list[tuple[Panel, Counter]]:
    """*panels* that a picture of an iteration has; of a workload all."""
    if not isinstance(result, IterationResult):
        return panels
    return [each for each in panels if each[0].counter in ON_A_PAGE]


def parts_of_page(result: Result) -> list[tuple[float, Any]]:
    """Inches and functions of what a picture of an iteration has beside the lanes and the bar."""
    if not isinstance(result, IterationResult):
        return []
    parts: list[tuple[float, Any]] = []
    if result.groups:
        parts.append((ROW * len(result.groups), draw_groups))
    if result.stages:
        parts.append((ROW * min(STAGES, len(result.stages)), draw_stages))
    return parts


def draw_fold(axes: Axes, result: Result, scale: Scale) -> None:
    """A line where the layers that are not drawn run, forward and backward."""
    left, times = folded_at(result)
    for time in times:
        axes.axvline(time / scale.length, color=look.INK, linestyle=":", linewidth=1.2)
        where = (time / scale.length, axes.get_ylim()[0])
        style: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": "right",
            "va": "bottom",
            "fontsize": 8,
        }
        look.readable(axes.annotate(f"{left} layers more", where, (-3, 2), **style))


def draw_groups(axes: Axes, result: IterationResult, step: Step, scale: Scale) -> None:
    """A bar for each group of GPUs that communicates, light; the part of it in which no operator
    runs, in colour. As long as its part of what is drawn.
    """
    look.panel_title(axes, "Communication by group: exposed, and beside operators", pad=5)
    drawn = step.end / result.wall_s / scale.length
    for row, (name, times) in enumerate(result.groups.items()):
        axes.broken_barh([(0, times.busy_s * drawn)], (row + 0.15, 0.7), facecolor=BAND)
        axes.broken_barh(
            [(0, times.exposed_s * drawn)],
            (row + 0.15, 0.7),
            facecolor=COLOURS["communication"],
            hatch="////",
            edgecolor="white",
            linewidth=0.4,
        )
        share = 100 * times.exposed_s / result.wall_s
        text = f"{name}: {share:.1f} % of the wall exposed"
        where = (max(times.busy_s, 0.0) * drawn, row + 0.5)
        axes.annotate(text, where, (4, 0), textcoords="offset points", va="center", fontsize=8)
    _rows(axes, len(result.groups))


def draw_stages(axes: Axes, result: IterationResult, step: Step, scale: Scale) -> None:
    """A bar for each stage of a pipeline: what it does, and why it is idle."""
    words = ", ".join(_OF_STAGE)
    look.panel_title(axes, f"Stages: {words}", pad=5)
    drawn = step.end / result.wall_s / scale.length
    stages = stages_shown(result)
    for row, stage in enumerate(stages):
        spans = (stage.forward_s, stage.backward_s, stage.optimizer_s)
        begin = 0.0
        for (name, colour), seconds in zip(
            _OF_STAGE.items(), (*spans, stage.bubbles_s, stage.waits_s), strict=True
        ):
            bar = [(begin * drawn, seconds * drawn)]
            axes.broken_barh(bar, (row + 0.1, 0.8), facecolor=colour, edgecolor="white")
            share = seconds / result.wall_s
            if share > 0.1:
                text = f"{name} {100 * share:.0f} %"
                where = ((begin + seconds / 2) * drawn, row + 0.5)
                ink = "white" if name == "forward" else look.INK
                axes.annotate(text, where, ha="center", va="center", fontsize=8, color=ink)
            begin += seconds
        text = f"{stage.number}"
        axes.annotate(
            text, (0, row + 0.5), (-4, 0), textcoords="offset points", ha="right", va="center"
        )
    _rows(axes, len(stages))


def _rows(axes: Axes, count: int) -> None:
    axes.set_ylim(max(1, count), 0)
    axes.set_yticks([])
    look.only_x_axis(axes)
