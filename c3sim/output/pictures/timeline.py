"""The timeline of one run as a picture: what ran when, and what each resource of one GPU did."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.output.kit import look
from c3sim.output.kit.text import percent, time_unit, times
from c3sim.output.pictures.timeline_panels import Scale, draw_lanes, draw_panel, used_panels
from c3sim.result import Result, Timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LANES = 16  # tasks shown; more cannot be read
WIDTH, HEADER, FOOTER, GAP = 11.0, 0.9, 0.6, 0.42  # inches
LANE, PANEL, KEYS = 0.62, 1.05, 0.24  # KEYS: a row of the legend


def plot_timeline(
    result: Result, path: str | os.PathLike[str] | None = None, gpu: str = "gpu0"
) -> Figure:
    """The picture of *result*, written to *path* (.png, .svg, .pdf) if given.

    Raises InputError: a result without timeline, an unknown suffix, a place that cannot be written.
    """

    def draw() -> Figure:
        if result.timeline is None:
            raise InputError(
                "this result holds no timeline to draw; allowed: a run that recorded one"
            )
        return _draw(result, result.timeline, gpu)

    return look.picture(draw, path)


def _draw(result: Result, timeline: Timeline, gpu: str) -> Figure:
    from matplotlib.figure import Figure

    panels = [
        (panel, counter)
        for panel, counter in used_panels(timeline, gpu)
        if counter.by_component or not panel.by_component
    ]
    tasks = dict(list(result.tasks.items())[:LANES])
    heights = [LANE * len(tasks), *([PANEL] * len(panels))]
    keys = _keys(look.colours(result.tasks))
    columns = _columns([key.get_label() for key in keys])
    header = HEADER + KEYS * -(-len(keys) // columns)
    height = header + sum(heights) + GAP * len(panels) + FOOTER
    figure = Figure(figsize=(WIDTH, height))
    grid = {"top": 1 - header / height, "bottom": FOOTER / height, "left": 0.075, "right": 0.985}
    grid |= {"hspace": GAP * len(heights) / sum(heights)}  # in units of the mean height
    column = figure.subplots(
        len(heights), sharex=True, height_ratios=heights, squeeze=False, gridspec_kw=grid
    )[:, 0]
    unit, length = time_unit(timeline.end)
    longest = max([timeline.end, *(max(task.end_s, task.isolated_s) for task in tasks.values())])
    scale = Scale(unit, length, timeline.end)
    colours = look.colours(result.tasks)
    draw_lanes(column[0], tasks, colours, scale)
    for axes, (panel, counter) in zip(column[1:], panels, strict=True):
        draw_panel(axes, panel, counter, colours, scale, timeline.component_names)
    column[-1].set_xlim(0, longest / length or 1.0)
    column[-1].set_xlabel(f"time since all streams were released ({unit})")
    _header(figure, result, height)
    style: dict[str, Any] = {"frameon": False, "fontsize": 9.5, "columnspacing": 1.4}
    style |= {"loc": "upper left", "bbox_to_anchor": (0.012, 1 - 0.64 / height)}
    figure.legend(handles=keys, ncols=columns, borderaxespad=0.0, **style)
    return figure


def _header(figure: Figure, result: Result, height: float) -> None:
    """Title and subtitle, placed in inches from the top."""
    unit, length = time_unit(result.wall_s)
    title = f"{result.workload} on {result.node}, strategy {result.strategy}"
    subtitle = (
        f"wall {result.wall_s / length:.3f} {unit}; "
        f"one task after the other {result.serial_s / length:.3f} {unit}; "
        f"speedup {times(result.speedup)}, ideal {times(result.ideal_speedup)}"
    )
    if result.fraction_of_ideal is not None:
        subtitle += (
            f"; fraction of ideal {percent(result.fraction_of_ideal)} % (collectives on CUs)"
        )
    if len(result.tasks) > LANES:
        subtitle += f" (first {LANES} of {len(result.tasks)} tasks)"
    figure.text(0.02, 1 - 0.3 / height, title, fontsize=14, fontweight="bold")
    figure.text(0.02, 1 - 0.56 / height, subtitle, fontsize=10.5)


def _keys(colours: Mapping[str, str]) -> list[Any]:
    """The keys of the legend: tasks, until colours repeat, then what is common to all."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        *(
            Patch(facecolor=colours[name], label=name)
            for name in list(colours)[: len(look.PALETTE)]
        ),
        Patch(facecolor="white", edgecolor=look.GREY, hatch="////", label="waiting to start"),
        Patch(facecolor="#cccccc", label="thin bar: the task alone"),
        Line2D([], [], color=look.INK, linestyle="--", linewidth=1.2, label="capacity or limit"),
    ]


def _columns(labels: Sequence[str]) -> int:
    """How many keys of the legend fit in one row, by the length of their labels."""
    widths = [0.62 + 0.085 * len(label) for label in labels]  # inches
    return len(labels) if sum(widths) < WIDTH - 0.3 else max(1, int((WIDTH - 0.3) // max(widths)))
