"""The panels of the timeline picture: areas split by kind of task or by component, lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from c3sim.kit import look
from c3sim.kit.steps import average, extended, mean
from c3sim.kit.text import figures, percent
from c3sim.output.pictures.timeline_lanes import Scale
from c3sim.result import Counter, Timeline
from c3sim.spec.energies import COMPONENTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Panel(NamedTuple):
    """The look of a counter: in *unit*, *size* of its own; *limit* names its maximum.

    *line*: one line from the lowest value up, for what is not divided among tasks. *by_component*:
    areas of components, with their own key, instead of kinds of tasks.
    """

    counter: str
    title: str
    unit: str
    size: float
    limit: str
    line: bool = False
    by_component: bool = False

    def title_of(self, counter: Counter) -> str:
        """The title over *counter*, which names the links that it is the mean of."""
        return f"{self.title}, {counter.name}" if self.counter == "link" else self.title


PANELS = (
    Panel("compute_units", "Busy compute units", "units", 1.0, "all"),
    Panel("hbm", "HBM bandwidth", "GB/s", 1e9, "capacity"),
    Panel("memory_side_cache", "Memory-side cache bandwidth", "GB/s", 1e9, "capacity"),
    Panel("link", "Outgoing link bandwidth", "GB/s", 1e9, "capacity"),
    Panel("nic.out", "NIC bandwidth, to other nodes", "GB/s", 1e9, "capacity"),
    Panel("dma", "DMA engine bandwidth", "GB/s", 1e9, "capacity"),
    Panel("clock", "Engine clock", "MHz", 1e6, "highest", line=True),
    Panel("power", "Power", "W", 1.0, "limit"),
    Panel("power", "Power by component", "W", 1.0, "limit", by_component=True),
)

SHARED = "; striped: shared"
LEAST = 1e-6  # relative: what is less is rounding

# Paul Tol, "Colour Schemes" (2021), muted: other colours than those of tasks.
TONES = ("#332288", "#88CCEE", "#44AA99", "#117733", "#DDCC77", "#CC6677", "#AA4499", "#bbbbbb")
SHADES = dict(zip(COMPONENTS, TONES, strict=True))


def used_panels(timeline: Timeline, gpu: str) -> list[tuple[Panel, Counter]]:
    """The panels of *gpu* whose counter is recorded, not zero throughout, and split as they are."""
    counters = ((panel, counter_of(timeline, gpu, panel.counter)) for panel in PANELS)
    return [
        (panel, counter)
        for panel, counter in counters
        if counter and any(counter.values) and (counter.by_component or not panel.by_component)
    ]


def counter_of(timeline: Timeline, gpu: str, name: str) -> Counter | None:
    """The counter *name* of *gpu*; for "link" the mean over its outgoing links."""
    own = [counter for counter in timeline.counters if counter.place.owner_name == gpu]
    if name != "link":
        return next((counter for counter in own if counter.place.name == name), None)
    links = [counter for counter in own if counter.place.kind == "link"]
    if not links:
        return None
    return mean(links, f"mean of {len(links)} links" if len(links) > 1 else "1 link")


def draw_panel(
    axes: Axes,
    panel: Panel,
    counter: Counter,
    colours: Mapping[str, str],
    scale: Scale,
    names: Mapping[str, str],
) -> None:
    """One counter over time, its capacity as a dashed line, its mean in the title.

    *names*: what components are called.
    """
    look.panel(axes, panel.title_of(counter), panel.unit)
    # there is no clock before anything runs
    start = min(counter.times, default=0.0) if panel.line else 0.0
    since, totals = extended(counter.times, counter.values, scale.end, min(start, scale.end))
    instants = [time / scale.length for time in since]
    values = [value / panel.size for value in totals]
    mean = average(instants, values)
    shared = False
    if panel.line:
        axes.plot(instants, values, color=look.INK, linewidth=1.6, drawstyle="steps-post")
    elif panel.by_component:
        shown = replace(counter, by_task=counter.by_component)
        _areas(axes, instants, values, panel, shown, SHADES, scale)
        _component_keys(axes, list(counter.by_component), names)
    else:
        shared = _areas(axes, instants, values, panel, counter, colours, scale)
    top, note = max(values), f"mean {figures(mean)} {panel.unit}"
    if counter.maximum is not None:
        limit = counter.maximum / panel.size
        top = max(top, limit)
        note += f", {percent(mean / limit if limit else 0.0, 0)} % of {panel.limit}"
        axes.axhline(limit, color=look.INK, linestyle="--", linewidth=1.2)
        where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right"}
        text = f"{panel.limit} {figures(limit)} {panel.unit}"
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}
        axes.annotate(text, (1, limit), (-3, 3), **where, **style)
    note += SHARED if shared else ""
    bottom = min(values) - 0.1 * top if panel.line else 0.0
    axes.set_ylim(max(bottom, 0.0), top + 0.25 * (top - bottom))
    axes.set_title(note, loc="right", fontsize=9.5, pad=5)


def _component_keys(axes: Axes, components: list[str], names: Mapping[str, str]) -> None:
    """The key of the components, beside the panel's title."""
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=SHADES[key], label=names.get(key, key)) for key in components]
    where: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.19, 0.985)}
    gaps: dict[str, Any] = {
        "borderaxespad": 0.0,
        "handlelength": 1.0,
        "handletextpad": 0.4,
        "columnspacing": 0.9,
    }
    axes.legend(handles=patches, ncols=len(patches), fontsize=8, frameon=False, **where, **gaps)


def _areas(
    axes: Axes,
    instants: list[float],
    values: list[float],
    panel: Panel,
    counter: Counter,
    colours: Mapping[str, str],
    scale: Scale,
) -> bool:
    """The parts, stacked in the order of *colours*; the rest is grey. What parts share is counted
    once: the upper one reaches down into the lower one, striped. Returns whether any do.
    """
    floor, shared = [0.0] * len(instants), False
    order = {name: number for number, name in enumerate(colours)}
    for name in sorted(counter.by_task, key=lambda name: order.get(name, len(order))):
        own = extended(counter.times, counter.by_task[name], scale.end)[1]
        part = [value / panel.size for value in own]
        rows = list(zip(values, floor, part, strict=True))
        top = [min(total, low + value) for total, low, value in rows]
        down = [min(low, max(0.0, total - value)) for total, low, value in rows]
        colour = colours.get(name, look.GREY)
        axes.fill_between(instants, floor, top, step="post", color=colour, linewidth=0, alpha=0.9)
        if any(low - least > LEAST * low for least, low in zip(down, floor, strict=True)):
            stripes: dict[str, Any] = {"facecolor": "none", "edgecolor": colour, "hatch": "////"}
            axes.fill_between(instants, down, floor, step="post", linewidth=0, **stripes)
            shared = True
        floor = top
    axes.fill_between(instants, floor, values, step="post", color="#bbbbbb", linewidth=0)
    axes.plot(instants, values, color=look.INK, linewidth=0.7, drawstyle="steps-post")
    return shared
