"""One run as compact data for the page: spans by track, counters, accounts. Times in whole ns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from c3sim.iterations.glance import Glance
from c3sim.kit.step import ALONE, COMMUNICATION, classes_of, folded_at, stages_shown, step_of_result
from c3sim.kit.steps import binned
from c3sim.kit.text import natural
from c3sim.output.pictures.timeline_lanes import COLOURS, by_kind
from c3sim.output.pictures.timeline_panels import SHADES, Panel, used_panels
from c3sim.output.trace import lanes, ns
from c3sim.result import Counter, Result, Span, Timeline

STEPS = 600  # of a counter; where there are more, means over so many parts of the time
LONGEST = 1200  # spans that are kept of one run, the longest ones
TRACKS = 24  # if there are more, those of the first GPU and the host are kept
FIGURES = 4  # significant figures of a counter's values


def compact_run(result: Result, explanation: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """*result*, which holds its timeline, and its explanation, if any, as compact data."""
    assert result.trace is not None
    tasks = list(result.tasks)
    of_task = classes_of(result.tasks)
    kinds = [kind for kind in COLOURS if kind in of_task.values()]
    spans, left_out = _spans(result.trace, tasks)
    return {
        "wall": result.wall_s,
        "end": ns(max(result.trace.end, *(task.end_s for task in result.tasks.values()))),
        "kinds": kinds,
        "exposed": result.overlap.exposed_s,
        "stretched": result.overlap.stretched_s,
        "tasks": {
            name: [
                *map(ns, (task.start_s, task.end_s, task.isolated_s)),
                kinds.index(of_task[name]),
            ]
            for name, task in result.tasks.items()
        },
        "step": _step(result, kinds),
        "tracks": spans,
        "left_out": left_out,
        "counters": [
            _counter(panel, by_kind(counter, of_task), kinds, result.trace)
            for panel, counter in used_panels(result.trace, "gpu0")
        ],
        "explained": {
            name: account_of(task) for name, task in (explanation or {"tasks": {}})["tasks"].items()
        },
        "notes": list(result.notes),
    }


def compact_glance(found: Glance) -> dict[str, Any]:
    """The first look at a run as the same data: what ran when, without counters and accounts."""
    times = {name: found.run.task(name) for name in found.workload.tasks}
    of_task = {
        name: found.classes.get(name, task.kind) for name, task in found.workload.tasks.items()
    }
    kinds = [kind for kind in COLOURS if kind in of_task.values()]
    spans = [
        Span(
            owner="gpu0",
            row=f"stream.{task.stream}" if task.stream else name,
            name=name,
            task=name,
            start=times[name].start,
            end=times[name].end,
        )
        for name, task in found.workload.tasks.items()
    ]
    tracks, left_out = _spans(Timeline(spans=spans, counters=(), end=found.run.end), list(times))
    return {
        "wall": found.wall_s,
        "end": ns(found.run.end),
        "kinds": kinds,
        "tasks": {
            name: [ns(each.start), ns(each.end), None, kinds.index(of_task[name])]
            for name, each in times.items()
        },
        "step": None,
        "tracks": tracks,
        "left_out": left_out,
        "counters": [],
        "explained": {},
        "notes": [],
    }


def _step(result: Result, kinds: Sequence[str]) -> dict[str, Any] | None:
    """Step of a model: *parts* ``[name, number of its kind or -1, ns]``, where exposed
    communication is, *alone* [ns], groups and stages; None of another run.
    """
    step = step_of_result(result)
    if step is None:
        return None
    colour = {name: kinds.index(name) for name in kinds} | {
        ALONE: kinds.index(COMMUNICATION) if COMMUNICATION in kinds else -1
    }
    return {
        "parts": [[name, colour.get(name, -1), ns(time)] for name, time in step.parts.items()],
        "alone": [[ns(start), ns(end)] for start, end in step.alone],
        **_whole_step(result),
    }


def _whole_step(result: Result) -> dict[str, Any]:
    """Parts of an iteration: *groups* ``[name, ns busy, ns exposed]``; *stages* ``[number, ns
    forward, backward, optimizer, bubbles, waits]``; *folds* [ns], where layers that were *left* out
    run.
    """
    left, times = folded_at(result)
    groups = getattr(result, "groups", {})
    return {
        "groups": [[name, ns(each.busy_s), ns(each.exposed_s)] for name, each in groups.items()],
        "stages": [
            [
                stage.number,
                *map(ns, (stage.forward_s, stage.backward_s, stage.optimizer_s)),
                *map(ns, (stage.bubbles_s, stage.waits_s)),
            ]
            for stage in stages_shown(result)
        ],
        "left": left,
        "folds": [ns(time) for time in times],
    }


def _spans(timeline: Timeline, tasks: Sequence[str]) -> tuple[list[list[Any]], int]:
    """Tracks, each its name and spans ``[start, end, task, name, detail]``; spans left out."""
    kept = sorted(timeline.spans, key=lambda span: span.start - span.end)[:LONGEST]
    names = {span.track for span in kept}
    if len(names) > TRACKS:
        names = {span.track for span in kept if span.owner in ("gpu0", "host")}
    by_track: dict[str, list[Span]] = {}
    for span in sorted(kept, key=lambda span: (span.start, -span.end)):
        if span.track in names:
            by_track.setdefault(span.track, []).append(span)
    tracks: list[list[Any]] = []
    for track in sorted(by_track, key=natural)[:TRACKS]:
        for number, lane in enumerate(lanes(by_track[track])):
            shown = [_span(span, tasks) for span in lane]
            tracks.append([track if number == 0 else "", shown])
    return tracks, len(timeline.spans) - sum(len(shown) for _, shown in tracks)


def _span(span: Span, tasks: Sequence[str]) -> list[Any]:
    task = tasks.index(span.task) if span.task in tasks else -1
    detail = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in span.detail.items())
    return [ns(span.start), ns(span.end), task, span.name, detail]


def _counter(
    panel: Panel, counter: Counter, kinds: Sequence[str], timeline: Timeline
) -> dict[str, Any]:
    """*counter* in the unit of its panel; *by*: its parts, by the number of their kind of task or,
    of a panel of components, of the component.
    """
    counter = binned(counter, timeline.end, STEPS)
    data: dict[str, Any] = {
        "title": panel.title_of(counter),
        "unit": panel.unit,
        "line": panel.line,
        "limit": panel.limit,
        "times": [ns(time) for time in counter.times],
        "values": _short(counter.values, panel.size),
    }
    parts, names = counter.by_task, list(kinds)
    if panel.by_component:
        parts, names = counter.by_component, list(counter.by_component)
        shown = [timeline.component_names.get(key, key) for key in names]
        data |= {"parts": shown, "colours": [SHADES[key] for key in names]}
    data["by"] = {
        str(names.index(name)): _short(values, panel.size)
        for name, values in parts.items()
        if name in names
    }
    if counter.maximum is not None:
        data["maximum"] = counter.maximum / panel.size
    return data


def _short(values: Sequence[float], size: float) -> list[float]:
    return [float(f"{value / size:.{FIGURES}g}") for value in values]


def account_of(task: Mapping[str, Any]) -> dict[str, Any]:
    """Isolated and concurrent time [s], and the share of the isolated time that each cause took."""
    causes = {name: round(share, 6) for name, share in task["causes"].items()}
    return {
        "isolated": task["isolated_s"],
        "time": task["time_s"],
        "causes": causes,
        "left_over": round(task["left_over"], 6),
    }
