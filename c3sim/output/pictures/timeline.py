"""The timeline of one run as a picture: what ran when, and what each resource of one GPU did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.iterations.result import IterationResult
from c3sim.kit import look
from c3sim.kit.files import AnyPath
from c3sim.kit.step import Step, classes_of, step_of_result
from c3sim.kit.steps import binned
from c3sim.kit.text import percent, stretched, time_unit, times
from c3sim.output.pictures.timeline_lanes import (
    BAND,
    COLOURS,
    Scale,
    by_kind,
    draw_lanes,
    draw_parts,
    rows_of,
)
from c3sim.output.pictures.timeline_panels import draw_panel, used_panels
from c3sim.output.pictures.timeline_step import draw_fold, on_a_page, parts_of_page
from c3sim.result import Result, Timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = 400  # of a panel; where there are more, means over so many parts of the time
LANES = 16  # streams shown; more cannot be read
WIDTH, HEADER, FOOTER, GAP = 11.0, 1.06, 0.6, 0.42  # inches
LEFT, RIGHT = 0.075, 0.985  # of the width: the time axis
LANE, PANEL, BAR, KEYS = 0.62, 1.05, 0.34, 0.24  # KEYS: a row of the legend
PANEL_OF_STEP = 0.8  # so that a step is a page


def plot_timeline(result: Result, path: AnyPath | None = None, gpu: str = "gpu0") -> Figure:
    """The picture of *result*, written to *path* (.png, .svg, .pdf) if given.

    Raises InputError: a result without a trace, a *gpu* that was not recorded, an unknown suffix, a
    place that cannot be written.
    """

    def draw() -> Figure:
        if result.trace is None:
            raise InputError(
                "this result holds no timeline to draw; allowed: a run that recorded one"
            )
        recorded = {counter.place.owner_name for counter in result.trace.counters}
        if gpu not in recorded and recorded:
            names = ", ".join(sorted(recorded))
            raise InputError(f"{gpu!r} was not recorded, of GPUs that are alike one is: {names}")
        return _draw(result, result.trace, gpu)

    return look.picture(draw, path)


def _draw(result: Result, timeline: Timeline, gpu: str) -> Figure:
    from matplotlib.figure import Figure

    rows = rows_of(result.tasks, LANES)
    step = step_of_result(result)
    panels = on_a_page(used_panels(timeline, gpu), result)
    of_step = parts_of_page(result)
    bars = [*([BAR] if step else []), *(height for height, _ in of_step)]
    each = PANEL_OF_STEP if of_step else PANEL
    heights = [LANE * max(len(rows), 1), *bars, *([each] * len(panels))]
    kinds = classes_of(result.tasks)
    keys = _keys([kind for kind in COLOURS if kind in kinds.values()], step is not None)
    columns = _columns([key.get_label() for key in keys])
    header = HEADER + KEYS * -(-len(keys) // columns)
    height = header + sum(heights) + GAP * (len(heights) - 1) + FOOTER
    figure = Figure(figsize=(WIDTH, height))
    grid = {"top": 1 - header / height, "bottom": FOOTER / height, "left": LEFT, "right": RIGHT}
    grid |= {"hspace": GAP * len(heights) / sum(heights)}  # in units of the mean height
    column = figure.subplots(
        len(heights), sharex=True, height_ratios=heights, squeeze=False, gridspec_kw=grid
    )[:, 0]
    scale = _scale(result, timeline, step)
    inches = (RIGHT - LEFT) * WIDTH
    draw_lanes(column[0], rows, scale, inches, step)
    if step:
        draw_parts(column[1], step, scale, inches)
        draw_fold(column[0], result, scale)
        for axes, (_, draw) in zip(column[2:], of_step, strict=False):
            draw(axes, result, step, scale)
    longest, scale = scale.end, scale._replace(end=timeline.end)
    for axes, (panel, counter) in zip(column[1 + len(bars) :], panels, strict=True):
        shown = binned(by_kind(counter, kinds), timeline.end, STEPS)
        draw_panel(axes, panel, shown, COLOURS, scale, timeline.component_names)
    column[-1].set_xlim(0, longest / scale.length or 1.0)
    column[-1].set_xlabel(f"time since all streams were released ({scale.unit})")
    _header(figure, result, height, sum(len(row.tasks) for row in rows))
    _legend(figure, keys, columns, height)
    return figure


def _scale(result: Result, timeline: Timeline, step: Step | None) -> Scale:
    """Time axis as long as all that is drawn: tasks, and of a workload their times alone."""
    unit, length = time_unit(timeline.end)
    alone = (task.start_s + task.isolated_s for task in result.tasks.values() if step is None)
    longest = max([timeline.end, *(task.end_s for task in result.tasks.values()), *alone])
    return Scale(unit, length, longest)


def _legend(figure: Figure, keys: Sequence[Any], columns: int, height: float) -> None:
    style: dict[str, Any] = {"frameon": False, "fontsize": 9.5, "columnspacing": 1.4}
    style |= {"loc": "upper left", "bbox_to_anchor": (0.012, 1 - 0.8 / height)}
    figure.legend(handles=keys, ncols=columns, borderaxespad=0.0, **style)


def _header(figure: Figure, result: Result, height: float, drawn: int) -> None:
    """Title and subtitle, placed in inches from the top; *drawn*: tasks that have a row."""
    unit, length = time_unit(result.wall_s)
    title = f"{result.workload} on {result.node}, strategy {result.strategy}"
    stages = result.stages if isinstance(result, IterationResult) else ()
    further = _gained(result, unit, length)
    if stages:  # bubbles are no loss of overlap
        further = f"{len(stages)} stages; drawn below: the last micro batch in one, and optimizer"
    subtitle = f"wall {result.wall_s / length:.3f} {unit}; {further}"
    subtitle += f"\nexposed communication {result.overlap.exposed_s / length:.3f} {unit}"
    if result.overlap.stretched_s is not None:
        subtitle += f"; {stretched('compute', result.overlap.stretched_s, length, unit)}"
    if drawn < len(result.tasks):
        subtitle += f" (rows of the first {LANES} streams: {drawn} of {len(result.tasks)} tasks)"
    if isinstance(result, IterationResult) and result.simulated < result.layers:
        subtitle += f"; drawn: {result.simulated} of {result.layers} layers"
    figure.text(0.02, 1 - 0.3 / height, title, fontsize=14, fontweight="bold")
    figure.text(0.02, 1 - 0.42 / height, subtitle, fontsize=10.5, va="top")


def _gained(result: Result, unit: str, length: float) -> str:
    """What overlap gains, in words."""
    said = (
        f"one task after the other {result.serial_s / length:.3f} {unit}; "
        f"speedup {times(result.speedup)}, ideal {times(result.ideal_speedup)}"
    )
    if result.fraction_of_ideal is None:
        return said
    return f"{said}; fraction of ideal {percent(result.fraction_of_ideal)} % (collectives on CUs)"


def _keys(kinds: Sequence[str], step: bool) -> list[Any]:
    """The keys of the legend: *kinds* of tasks, or their classes in a *step*, then what else is
    drawn.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    dashed: dict[str, Any] = {"color": look.INK, "linestyle": "--", "linewidth": 1.2}
    limit = Line2D([], [], label="capacity or limit", **dashed)
    patches = [Patch(facecolor=COLOURS[kind], label=kind) for kind in kinds]
    if step:
        return [*patches, Patch(facecolor=BAND, label="band: exposed communication"), limit]
    return [
        *patches,
        Line2D([], [], color="#cccccc", linewidth=2.5, label="thin: waiting for tasks"),
        Line2D([], [], color=look.GREY, linewidth=2.5, label="in colour: for room"),
        Patch(facecolor="#bbbbbb", alpha=0.6, label="light bar: the task alone"),
        limit,
    ]


def _columns(labels: Sequence[str]) -> int:
    """The number of keys of the legend that fit in one row, by the length of their labels."""
    widths = [0.62 + 0.085 * len(label) for label in labels]  # inches
    for columns in range(len(labels), 1, -1):
        rest = list(widths)  # keys go down the columns, of which the first ones have one more
        taken = 0.0
        for column in range(columns):
            count = len(labels) // columns + (column < len(labels) % columns)
            taken += max(rest[:count])
            del rest[:count]
        if taken < WIDTH - 0.5:
            return columns
    return 1
