"""The rows of the timeline picture: one for each stream, tasks in the colours of their kinds or, of
a step of a model, of their operator classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from c3sim.kit import look
from c3sim.kit.step import ALONE, FURTHER, Step, class_of
from c3sim.kit.text import times
from c3sim.result import Counter, TaskResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RAN, WAITED, ISOLATED = (0.34, 0.34), (0.47, 0.08), (0.74, 0.11)  # top and height within a row
PARTED = 60  # tasks of a row that have an edge each
CHARACTER = 0.075  # inches of a name on a bar
#: Kinds of tasks in the order of their colours.
KINDS = ("gemm", "collective", "stream", "copy", "commands", "hold", "host", "kernel", "stores")
#: Colours of kinds, then of the operator classes of a step, which no picture shows together.
COLOURS = dict(zip(KINDS, (*look.PALETTE, "#882255", "#44AA99"), strict=True)) | {
    "communication": "#E69F00",
    "attention": "#CC79A7",
    "normalisation": "#56B4E9",
    "elementwise": "#009E73",
    "embedding": "#F0E442",
    "optimizer": "#D55E00",
}
SHORT = 0.004  # of the whole time: bars without a white edge
MANY = 100  # tasks of a row of a step
IN_STEP = (0.34, 0.5)  # top and height within a row of a step
BAND = "#f7dca6"  # behind the rows where communication is alone


class Scale(NamedTuple):
    """The time axis: its unit, the unit's length [s], and the end of the run [s]."""

    unit: str
    length: float
    end: float


@dataclass(frozen=True, slots=True)
class Row:
    """The tasks of one stream, in order; *name*: the stream's, or that of its only task."""

    name: str
    tasks: Mapping[str, TaskResult]


def rows_of(tasks: Mapping[str, TaskResult], most: int) -> list[Row]:
    """At most *most* rows; where there are more, tasks without a stream share rows, by kind."""
    streams: dict[str, dict[str, TaskResult]] = {}
    for name, task in tasks.items():
        streams.setdefault(task.stream or f"task {name}", {})[name] = task
    if len(streams) > most:
        streams = {}
        for name, task in tasks.items():
            row = task.stream or f"{task.kind} tasks of no stream"
            streams.setdefault(row, {})[name] = task
    rows = [
        Row(next(iter(of)) if len(of) == 1 else stream, _in_order(of))
        for stream, of in streams.items()
    ]
    return rows[:most]


def _in_order(tasks: Mapping[str, TaskResult]) -> dict[str, TaskResult]:
    return dict(sorted(tasks.items(), key=lambda item: item[1].start_s))


def by_kind(counter: Counter, kinds: Mapping[str, str]) -> Counter:
    """*counter* split by kind, or class, of task instead of by task; *kinds*: of each task."""
    sums: dict[str, list[float]] = {}
    for task, values in counter.by_task.items():
        kind = kinds.get(task, "")
        known = sums.get(kind)
        sums[kind] = [a + b for a, b in zip(known, values, strict=True)] if known else list(values)
    return replace(counter, by_task=sums)


def draw_lanes(
    axes: Axes, rows: Sequence[Row], scale: Scale, inches: float, step: Step | None = None
) -> None:
    """Each row: a sentence; bars where tasks run, thin ones where they wait, light ones below as
    long as the task alone. Of a *step*: bars of operator classes, bands where communication is
    alone. *inches*: the length of the whole time axis.
    """
    unit, length, end = scale
    axes.set_autoscale_on(False)  # else every bar looks for the limits, which are given
    if step is not None:
        for start, stop in step.alone:
            axes.axvspan(start / length, stop / length, color=BAND, linewidth=0, zorder=0)
    for lane, row in enumerate(rows):
        label = axes.annotate(
            row.name, (0, lane + 0.25), (3, 0), textcoords="offset points", fontweight="bold"
        )
        text = _sentence(row.tasks, unit, length)
        beside: dict[str, Any] = {"xycoords": label, "textcoords": "offset points", "va": "bottom"}
        said = axes.annotate(text, (1, 0), (8, 0), **beside)
        before = 0.0  # the end of the task before, in this row
        if step is not None:
            look.readable(label)
            look.readable(said)
            _classes(axes, lane, row.tasks, scale)
        for name, task in row.tasks.items():
            if step is None:
                _bars(axes, lane, task, before, length, 0.5 if len(row.tasks) <= PARTED else 0.0)
            width = inches * (task.end_s - task.start_s) / end if end else 0.0
            if len(row.tasks) > 1 and width > CHARACTER * len(name):
                middle = 0.5 * (task.start_s + task.end_s) / length
                top, height = RAN if step is None else IN_STEP
                where = (middle, lane + top + height / 2)
                axes.annotate(name, where, ha="center", va="center", fontsize=8, color="white")
            before = max(before, task.end_s)
    axes.set_ylim(max(len(rows), 1), 0)
    axes.set_yticks([])
    look.only_x_axis(axes)


def _classes(axes: Axes, lane: int, tasks: Mapping[str, TaskResult], scale: Scale) -> None:
    """The tasks of a row of a step, each class drawn at once. A short bar has an edge of its own
    colour, which shows it, but in a row of many, where edges would fill the gaps.
    """
    spans: dict[str, list[tuple[float, float]]] = {}
    for task in tasks.values():
        span = (task.start_s / scale.length, (task.end_s - task.start_s) / scale.length)
        spans.setdefault(class_of(task), []).append(span)
    short = SHORT * scale.end / scale.length
    thin = 0.3 if len(tasks) <= MANY else 0.0
    for name, bars in spans.items():
        colour = COLOURS.get(name, look.GREY)
        edges = [colour if width < short else "white" for _, width in bars]
        widths = [thin if width < short else 0.3 for _, width in bars]
        place = (lane + IN_STEP[0], IN_STEP[1])
        axes.broken_barh(bars, place, facecolor=colour, edgecolor=edges, linewidth=widths)


def draw_parts(axes: Axes, step: Step, scale: Scale, inches: float) -> None:
    """One bar as long as what is drawn: time of the step by class, communication alone (hatched),
    idle.
    """
    look.panel_title(axes, "Where the step went", pad=5)
    begin, whole = 0.0, sum(step.parts.values())
    for name, part in step.parts.items():
        seconds = part * step.end / whole
        colour = COLOURS["communication"] if name == ALONE else COLOURS.get(name, "#eeeeee")
        span = [(begin / scale.length, seconds / scale.length)]
        style: dict[str, Any] = {"hatch": "////"} if name == ALONE else {}
        axes.broken_barh(span, (0, 1), facecolor=colour, edgecolor="white", linewidth=0.4, **style)
        share = f"{100 * seconds / step.end:.1f} %"
        width = inches * seconds / scale.end
        text = next((t for t in (f"{name} {share}", share) if width > CHARACTER * len(t)), "")
        dark = name in (*FURTHER, ALONE, "embedding", "normalisation")
        said = axes.annotate(
            text,
            ((begin + seconds / 2) / scale.length, 0.5),
            ha="center",
            va="center",
            fontsize=8,
            color=look.INK if dark else "white",
        )
        if name == ALONE:  # its bar is hatched
            look.readable(said)
        begin += seconds
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    look.only_x_axis(axes)


def _bars(
    axes: Axes, lane: int, task: TaskResult, before: float, length: float, edge: float
) -> None:
    """Bars of *task*: waiting for others, then for room; where it ran, with an *edge*; how long it
    takes alone.
    """
    colour = COLOURS.get(task.kind, look.GREY)
    ready = min(max(task.ready_s, before), task.start_s)
    for start, end, (top, height), style in (
        (before, ready, WAITED, {"color": "#cccccc"}),
        (ready, task.start_s, WAITED, {"color": colour}),
        (task.start_s, task.end_s, RAN, {"facecolor": colour, "edgecolor": "white"}),
        (task.start_s, task.start_s + task.isolated_s, ISOLATED, {"color": colour, "alpha": 0.4}),
    ):
        if end > start:
            bar = [(start / length, (end - start) / length)]
            axes.broken_barh(bar, (lane + top, height), linewidth=edge, **style)


def _sentence(tasks: Mapping[str, TaskResult], unit: str, length: float) -> str:
    """The times that the tasks of a row waited and ran, in words."""
    waited = sum(max(task.start_s - task.ready_s, 0.0) for task in tasks.values()) / length
    ran = sum(task.end_s - task.start_s for task in tasks.values()) / length
    alone = sum(task.isolated_s for task in tasks.values()) / length
    if len(tasks) == 1:
        (task,) = tasks.values()
        waiting = f"waited {task.start_s / length:.3f} {unit}, " if task.start_s > 0 else ""
        of_alone = f"in all {times(task.slowdown)} its {alone:.3f} {unit} alone"
        return f"{waiting}ran {ran:.3f} {unit}: {of_alone}"
    room = f", waited {waited:.3f} {unit} for room" if waited >= 0.0005 else ""
    return f"{len(tasks)} tasks ran {ran:.3f} {unit}, alone {alone:.3f} {unit}{room}"
