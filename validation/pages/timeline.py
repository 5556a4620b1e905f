"""One run as a small picture: its tasks as bars with the measured end marked, and what the first
GPU was busy with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from c3sim.kit.text import time_unit
from c3sim.result import Counter, Timeline
from c3sim.simulation.run import Run

from .kit import Scale, label, line, picture, polygon, rectangle, ticks

WIDTH, LEFT, RIGHT = 640.0, 110.0, 40.0
LANE, PANEL, FOOT = 24.0, 30.0, 34.0
LANES = 8  # tasks shown
PANELS = {
    "compute_units": "compute units",
    "clock": "clock",
    "hbm": "memory",
    "memory_side_cache": "memory cache",
    "link": "links",
}


def timeline(run: Run, ends: Mapping[str, float], title: str) -> str:
    """*ends*: measured end of each task [s], where known.

    Panels show shares of a capacity; idle resources have none.
    """
    trace = run.timeline
    assert trace is not None  # the caller has traced the run
    tasks = list(dict.fromkeys(name for name, _ in run.times))[:LANES]
    panels = [
        (words, steps)
        for words, steps in _panels(trace)
        if max(value for _, value in steps) > 0.005
    ]
    height = LANE * len(tasks) + (PANEL + 6) * len(panels) + FOOT
    unit, length = time_unit(max(trace.end, *ends.values(), 0.0))
    scale = Scale(0.0, max([trace.end, *ends.values()]) / length, LEFT, WIDTH - RIGHT)
    shapes = [
        line(scale(value), 0, scale(value), height - FOOT, "rule") for value, _ in ticks(scale)
    ]
    for number, name in enumerate(tasks):
        y, task = LANE * number, run.task(name)
        start, end = scale(task.start / length), scale(task.end / length)
        shapes += [
            label(LEFT - 6, y + 15, name[:16], "end", "label"),
            rectangle(start, y + 4, end - start, 14, f"c{number % 4}"),
        ]
        if name in ends:
            x = scale(ends[name] / length)
            shapes.append(line(x, y + 1, x, y + 21, "measured"))
    y = LANE * len(tasks)
    for words, steps in panels:
        shapes += _panel(scale, y + 6, words, steps, trace.end, length)
        y += PANEL + 6
    shapes += [
        label(scale(value), height - FOOT + 14, words, "middle") for value, words in ticks(scale)
    ]
    shapes.append(
        label((LEFT + WIDTH - RIGHT) / 2, height - 5, f"time ({unit})", "middle", "label")
    )
    return picture(WIDTH, height, shapes, title)


Steps = list[tuple[float, float]]  # (time [s], share of the capacity from then on)


def _panel(
    scale: Scale, y: float, words: str, steps: Steps, end: float, length: float
) -> list[str]:
    floor = y + PANEL
    points = [(scale(steps[0][0] / length), floor)]
    for number, (time, share) in enumerate(steps):
        until = steps[number + 1][0] if number + 1 < len(steps) else end
        height = floor - PANEL * min(share, 1.0)
        points += [(scale(time / length), height), (scale(until / length), height)]
    points.append((points[-1][0], floor))
    frame = [
        line(LEFT, floor, WIDTH - RIGHT, floor, "axis"),
        line(LEFT, y, WIDTH - RIGHT, y, "rule"),
    ]
    return [
        *frame,
        polygon(points, "area"),
        label(LEFT - 6, floor - 10, words, "end"),
        label(WIDTH - RIGHT + 4, y + 8, "100 %"),
    ]


def _panels(trace: Timeline) -> Iterator[tuple[str, Steps]]:
    """Use of each resource of the first GPU; of its links, the busiest."""
    own = [counter for counter in trace.counters if counter.place.owner_name == "gpu0"]
    named = {counter.place.name: counter for counter in own}
    links = [counter for counter in own if counter.place.kind == "link"]
    if links:
        named["link"] = max(links, key=lambda counter: sum(counter.values))
    for name, words in PANELS.items():
        if name in named and named[name].maximum and named[name].values:
            yield words, _shares(named[name])


def _shares(counter: Counter) -> Steps:
    assert counter.maximum  # the caller has looked
    return [
        (time, value / counter.maximum)
        for time, value in zip(counter.times, counter.values, strict=True)
    ]
