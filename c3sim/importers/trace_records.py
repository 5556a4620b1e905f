"""Records and kernel times from the kernels of a trace, whatever wrote it.

- A kernel alone on its device becomes a record of its isolated time.
- Kernels of several streams that ran at the same time are an *episode*. Episodes of the same tasks
  become one record with medians: times from the start of the first kernel (so that queueing
  counts), starts, and isolated times where the trace has such instances.
- Equal kernels in a row on a stream are one task with ``repeat``; its isolated time is that many
  isolated kernels.
- A trace of fewer GPUs than a collective has cannot tell its run from its waiting for the others.
  In such an episode the collective's time, and the wall time with it, are ``observed``; alone,
  its shortest instance counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from c3sim.importers.collector import Collector, us
from c3sim.importers.result import KernelTimes, Overlap
from c3sim.importers.traces import Episode, Kernel, both, describe, episodes, overlaps
from c3sim.importers.values import task_text
from c3sim.simulation.exposure import length, uncovered, union

ISOLATED_NOTE = "kernel time, without launch; caches as the run left them"
OTHERS_SHARE = 0.05  # of an episode's kernel time may be kernels that the schema cannot say
MOST_TASKS = 12
SHORTEST = "the shortest, which waits for other ranks least"
WAITS = (
    "this trace has not all ranks of its collectives: beside other tasks their times, and wall"
    " times, include waiting for ranks that it does not show, and are kept under 'observed'"
)
# of the wall time: a stream that begins later was held back by something outside the workload
LATE = 0.05


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Origin of a trace."""

    suite: str
    software: str
    facts: str
    profile: str = ""  # host profile of what launched kernels eagerly


def add_trace(collector: Collector, kernels: Sequence[Kernel], origin: Origin) -> None:
    """Findings and records of all *kernels*."""
    times: dict[str, list[tuple[Kernel, float]]] = {}
    devices = len({kernel.device for kernel in kernels})
    all_episodes: list[Episode] = []
    for device in sorted({kernel.device for kernel in kernels}):
        here = sorted((k for k in kernels if k.device == device), key=lambda k: k.start)
        for kernel, beside in zip(here, overlaps(here), strict=True):
            times.setdefault(kernel.key, []).append((kernel, beside))
        all_episodes += [
            describe(group)
            for group in episodes(here)
            if len({kernel.stream for kernel in group}) > 1
        ]
        collector.overlaps.append(_overlap(device, here))
    collector.kernels += [_kernel_times(group) for group in times.values()]
    isolated = {key: _isolated(group) for key, group in times.items()}
    for key, group in times.items():
        _add_isolated(collector, group[0][0], isolated[key], origin, devices)
    groups: dict[str, list[Episode]] = {}
    for episode in all_episodes:
        groups.setdefault(json.dumps(episode.workload, sort_keys=True), []).append(episode)
    for alike in groups.values():
        _add_episodes(collector, alike, isolated, origin, devices)


def _overlap(device: str, kernels: Sequence[Kernel]) -> Overlap:
    gemm, collective = (
        union((k.start, k.end) for k in kernels if k.kind == kind)
        for kind in ("gemm", "collective")
    )
    return Overlap(
        device=device,
        gemm_us=us(length(gemm)),
        collective_us=us(length(collective)),
        both_us=us(length(both(gemm, collective))),
        exposed_us=us(
            uncovered(collective, [(k.start, k.end) for k in kernels if k.kind != "collective"])
        ),
    )


def _isolated(group: Sequence[tuple[Kernel, float]]) -> list[float]:
    return [kernel.duration for kernel, beside in group if not beside]


def _kernel_times(group: Sequence[tuple[Kernel, float]]) -> KernelTimes:
    kernel, alone = group[0][0], _isolated(group)
    beside = [(k.duration, overlap) for k, overlap in group if overlap]
    return KernelTimes(
        name=kernel.name,
        kind=kernel.kind,
        what=task_text(kernel.task),
        streams=tuple(sorted({k.stream for k, _ in group})),
        isolated=len(alone),
        isolated_us=us(median(alone)) if alone else None,
        concurrent=len(beside),
        concurrent_us=us(median(d for d, _ in beside)) if beside else None,
        overlap_us=us(median(o for _, o in beside)) if beside else None,
    )


def _add_isolated(
    collector: Collector, kernel: Kernel, durations: Sequence[float], origin: Origin, devices: int
) -> None:
    if kernel.task is None or not durations:
        return
    waits = (kernel.gpus or 0) > devices  # for ranks that the trace does not show
    time, which = (min(durations), SHORTEST) if waits else (median(durations), "median")
    name = "gemm" if kernel.kind == "gemm" else "collective"
    collector.add(
        suite=f"{origin.suite}_isolated",
        workload={"name": task_text(kernel.task), "tasks": {name: dict(kernel.task)}},
        measured={"isolated": {name: us(time)}},
        software=origin.software,
        facts=origin.facts,
        samples=len(durations),
        note=f"{which}; {_spread(durations)}; {ISOLATED_NOTE}",
        gpus=kernel.gpus,
    )


def _medians(alike: Sequence[Episode]) -> tuple[dict[str, Any], float, list[str]]:
    """Times of the tasks of *alike* episodes, wall time [us], and notes on both."""
    episode, tasks = alike[0], dict[str, Any]()
    notes = [f"medians of {len(alike)} episodes"] if len(alike) > 1 else []
    for name in episode.tasks:
        ends, starts = ([getattr(e.tasks[name], part) for e in alike] for part in ("end", "start"))
        tasks[name] = {"time_us": us(median(ends)), "start_us": us(median(starts))}
        busy = [e.tasks[name].busy for e in alike]
        notes.append(
            f"{name} ran {us(median(busy))} us" + (f" ({_spread(busy)})" if len(busy) > 1 else "")
        )
    wall = us(median(e.wall for e in alike))
    late = [name for name in episode.first_of_streams if tasks[name]["start_us"] > LATE * wall]
    if late:
        notes.append(f"{' and '.join(late)} began late, for a reason that is not in the trace")
    if any(other := [e.others for e in alike]):
        left_out = "kernels that are neither GEMM nor collective left out"
        notes.append(f"{us(median(other))} us of {left_out}")
    notes += ["a collective's time includes waiting for other ranks; caches as the run left them"]
    return tasks, wall, notes


def _add_episodes(
    collector: Collector,
    alike: Sequence[Episode],
    isolated: Mapping[str, list[float]],
    origin: Origin,
    devices: int,
) -> None:
    episode = alike[0]
    if reason := _unfit(alike):
        collector.leave_out("episode of concurrent kernels", reason)
        return
    tasks, wall, notes = _medians(alike)
    missing = [name for name, task in episode.tasks.items() if not isolated[task.key]]
    if missing:
        shown = ", ".join(sorted({episode.tasks[name].what for name in missing}))
        message = "runs alone in this trace: its slowdown is not known"
        collector.warn(f"no instance of {shown} {message}")
    known = {name: task for name, task in episode.tasks.items() if name not in missing}
    alone = {name: us(task.count * median(isolated[task.key])) for name, task in known.items()}
    measured: dict[str, Any] = {"wall_us": wall, "tasks": tasks}
    observed: dict[str, Any] = {}
    if (episode.gpus or 0) > devices:
        collector.warn(WAITS)
        waiting = {name for name in tasks if episode.workload["tasks"][name]["kind"] != "gemm"}
        observed = {"wall_us": wall, "tasks": {name: tasks[name] for name in sorted(waiting)}}
        measured = {"tasks": {name: tasks[name] for name in tasks if name not in waiting}}
        alone = {name: time for name, time in alone.items() if name not in waiting}
    collector.add(
        suite=f"{origin.suite}_concurrent",
        workload=_launched_by(episode.workload, origin.profile),
        software=origin.software,
        facts=origin.facts,
        measured={**measured, **({"isolated": alone} if alone else {})},
        samples=len(alike),
        note="; ".join(notes),
        gpus=episode.gpus,
        more={"observed": {"one_rank": observed}} if observed else None,
    )


def _launched_by(workload: dict[str, Any], profile: str) -> dict[str, Any]:
    """*workload* with the host profile of its eager launches, where the node has it."""
    host = workload["host"]
    if not profile or host.get("launch") != "eager":
        return workload
    return {**workload, "host": {**host, "profile": profile}}


def _unfit(alike: Sequence[Episode]) -> str:
    episode = alike[0]
    if episode.unknown:
        return f"size not known of {', '.join(sorted(episode.unknown))}"
    if not episode.tasks:
        return "neither GEMM nor collective takes part"
    if len(episode.streams) < 2:
        return "GEMMs and collectives are on one stream; what ran beside them is neither"
    if len(episode.tasks) > MOST_TASKS:
        several = f"more than {MOST_TASKS} different tasks hang together"
        return f"{several}; times per kernel are in the summary"
    if max(e.others / e.total for e in alike) > OTHERS_SHARE:
        return f"more than {OTHERS_SHARE:.0%} of its kernel time is neither GEMM nor collective"
    return ""


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):.6g} to {max(values):.6g} us"
