"""From traces of one rank or several to a workload of one iteration, and what was guessed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c3sim.errors import InputError
from c3sim.importers.traces import Kernel, overlaps
from c3sim.importers.workloads.alone import Alone, Key, followed, keys_of, times_alone
from c3sim.importers.workloads.tasks import Guesses, Task, Tasks, label_of
from c3sim.importers.workloads.trace import Iteration, Trace, Work, choose, exposed
from c3sim.importers.workloads.waits import HostSide, Meetings, Waits, find_waits, host_side, meet
from c3sim.simulation.run import Run
from c3sim.spec.hardware import Node
from c3sim.spec.words import counted
from c3sim.spec.workload import MOST_TASKS


@dataclass(frozen=True, kw_only=True)
class Built:
    """*workload*: what the file says, in SI units; *works*: task -> what it was; times in us."""

    workload: dict[str, Any]
    works: dict[str, Work]
    notes: dict[str, str]  # task -> what the trace says of it
    guesses: list[str]
    keys: dict[str, Key]  # task -> what it has in common with equal ones
    alone: dict[Key, float]  # shortest time alone, as seen by who waits for it
    iteration: str
    before: int  # iterations that have gone before
    earliest: int  # the same of the first one in the trace
    start: float
    wall: float
    exposed: float
    timed: bool  # the trace has times to compare with

    def add(self, guess: str) -> None:
        """Say one more thing that is not as in the trace."""
        self.guesses.append(guess)
        self.workload["description"] = _description(self.guesses)


def build(traces: Sequence[Trace], node: Node, wanted: int | None) -> Built:
    """*traces* of one job, one a rank. Raises InputError: no such iteration, or too long a one."""
    if traces[0].written is not None:
        return _as_written(traces, traces[0].written)
    chosen = [choose(trace, wanted) for trace in traces]
    meetings = _meetings(traces, [own for own, _ in chosen])
    rank = meetings.rank if meetings else 0
    trace, (iteration, _) = traces[rank], chosen[rank]
    works = _works(trace, iteration)
    guesses = Guesses(Counter())
    keys = keys_of(trace.works)
    alone = times_alone(trace.works, keys, timed=trace.timed)
    by_work = {id(work): alone[keys[id(work)]] for work in trace.works}
    found = {} if meetings is None or len(traces) < trace.ranks else meetings.of
    follows = followed(trace.works, keys, alone) if trace.timed else {}
    clocked = {id(work): follows[key] for work in trace.works if (key := keys[id(work)]) in follows}
    tasks = Tasks(trace, node, by_work, found, guesses, clocked)
    waits = find_waits(trace, works)
    host = host_side(trace, works, node.gpu.kernels.dispatch_latency * 1e6, waits.after)
    named = _named(works, [tasks.task(work) for work in works])
    streams = stream_names(works)
    content = _placed(named, works, streams, host, waits)
    lines = [*guesses.lines(), *_about(trace, host, waits, meetings, len(traces), len(streams))]
    if len(traces) > 1 and meetings is None:
        lines.append(_without_times(chosen))
    return Built(
        workload=_workload(content, trace, node, iteration, host, streams, lines),
        works=dict(zip(content, works, strict=True)),
        notes=_notes({name: by_work[id(work)] for name, work in zip(content, works, strict=True)}),
        guesses=lines,
        keys={name: keys[id(work)] for name, work in zip(content, works, strict=True)},
        alone=_waited_for(alone, node.gpu.kernels.completion_latency * 1e6),
        iteration=iteration.name,
        before=iteration.before,
        earliest=min(each.before for each in chosen[rank][1]),
        start=iteration.start,
        wall=iteration.wall,
        exposed=exposed(works),
        timed=trace.timed,
    )


def _meetings(traces: Sequence[Trace], iterations: Sequence[Iteration]) -> Meetings | None:
    """Meetings of the collectives of several ranks; None for one rank or without times."""
    if len(traces) == 1 or not all(trace.timed for trace in traces):
        return None
    return meet(iterations, [trace.works for trace in traces])


def _works(trace: Trace, iteration: Iteration) -> list[Work]:
    """Kernels of *iteration*. Raises InputError: too many, or no duration."""
    works = list(iteration.works)
    if len(works) > MOST_TASKS:
        message = f"{iteration.name} has {len(works)} kernels; a workload has {MOST_TASKS} at most"
        raise InputError(
            f"{message}: mark steps in the trace, or give --iteration", file=trace.file
        )
    if trace.timed and not iteration.wall:
        raise InputError(f"{iteration.name} has no duration", file=trace.file)
    return works


def _waited_for(alone: Mapping[Key, Alone], latency: float) -> dict[Key, float]:
    """Isolated times [us] as seen by who waits for a kernel: with the *latency* of its end."""
    return {key: each.time + latency for key, each in alone.items() if each.time is not None}


def _notes(alone: Mapping[str, Alone]) -> dict[str, str]:
    """Task -> how many of its kind ran alone, where that is not the one there is."""
    return {
        name: f"{each.alone} of {each.count} alone"
        for name, each in alone.items()
        if each.count > 1 or not each.alone
    }


def _as_written(traces: Sequence[Trace], workload: Mapping[str, Any]) -> Built:
    """The workload that c3sim wrote as *traces*, with the times of the run from which it did."""
    ranks = [choose(trace, None)[0] for trace in traces]
    start = min(each.start for each in ranks)
    return Built(
        workload={"description": "", "host": {}, **workload},
        works={},
        notes={},
        guesses=[],
        keys={},
        alone={},
        iteration=str(workload["name"]),
        before=0,
        earliest=0,
        start=start,
        wall=max(each.start + each.wall for each in ranks) - start,
        exposed=exposed(ranks[0].works),
        timed=traces[0].timed,
    )


def _named(works: Sequence[Work], tasks: Sequence[Task]) -> dict[str, Task]:
    """Names of tasks: what they are, and their place in the order of launch."""
    digits = len(str(len(works)))
    return {
        f"{label_of(work, task)}_{place:0{digits}}": task
        for place, (work, task) in enumerate(zip(works, tasks, strict=True), 1)
    }


def _placed(
    named: dict[str, Task],
    works: Sequence[Work],
    streams: dict[str, str],
    host: HostSide,
    waits: Waits,
) -> dict[str, Task]:
    """The tasks with stream, dependencies and launches."""
    names, placed = list(named), {}
    for index, (name, task) in enumerate(named.items()):
        place: Task = {"stream": streams[works[index].stream]}
        after = sorted(waits.after.get(index, ()))
        if after:
            place["after"] = [names[i] for i in after]
        if host.launches is not None:
            launch = host.launches[index]
            place["launch_time"] = launch.time * 1e-6
            if launch.after:
                place["launch_after"] = [names[i] for i in launch.after]
        placed[name] = {**task, **place}
    return placed


def stream_names(works: Sequence[Work]) -> dict[str, str]:
    """Streams of the trace -> ``compute`` (the busiest without collectives only), ``comm``, and
    ``stream_N`` for the others.
    """
    busy: dict[str, float] = {}
    moving: dict[str, bool] = {}
    for work in works:
        busy[work.stream] = busy.get(work.stream, 0.0) + work.duration * (not work.is_collective)
        moving[work.stream] = moving.get(work.stream, False) or work.is_collective
    compute = max(busy, key=lambda stream: busy[stream])
    names = {compute: "compute"}
    for stream in busy:
        if stream != compute:
            number = sum(name.startswith("comm_") or name == "comm" for name in names.values())
            plain = "comm" if not number else f"comm_{number + 1}"
            names[stream] = plain if moving[stream] else f"stream_{stream}"
    return names


def _workload(
    tasks: dict[str, Task],
    trace: Trace,
    node: Node,
    iteration: Iteration,
    host: HostSide,
    streams: dict[str, str],
    guesses: Sequence[str],
) -> dict[str, Any]:
    launch: dict[str, Any] = {"launch": "queued" if host.launches is None else "eager"}
    if host.gap is not None:
        launch["kernel_gap"] = host.gap * 1e-6
    return {
        "schema": 1,
        "name": f"{iteration.name} of {trace.file.removesuffix('.gz').removesuffix('.json')}",
        "description": _description(guesses),
        "source": f"{trace.file}, rank {trace.rank} of {trace.ranks}, {trace.software}; "
        + (_times(iteration) if trace.timed else "without start times"),
        "node": node.name,
        "streams": {name: {} for name in streams.values()},
        "host": launch,
        "tasks": tasks,
    }


def _times(iteration: Iteration) -> str:
    """Begin of the iteration, and its duration."""
    return (
        f"{iteration.name} took {iteration.wall / 1e3:.3f} ms, of which"
        f" {exposed(iteration.works) / 1e3:.3f} ms communication alone; begins at ts"
        f" {iteration.start:.3f}"
    )


def _description(guesses: Sequence[str]) -> str:
    if not guesses:
        return "Nothing in it was guessed."
    return "\n".join(["Guessed, or not as in the trace:", *(f"- {each}" for each in guesses)])


def _without_times(ranks: Sequence[tuple[Iteration, Any]]) -> str:
    first, *others = ([work.name for work in each.works] for each, _ in ranks)
    unlike = sum(names != first for names in others)
    also = f"; {unlike} others have other kernels" if unlike else ""
    return f"without start times nobody knows who came last: all do as the first rank{also}"


def _about(
    trace: Trace, host: HostSide, waits: Waits, meetings: Meetings | None, traces: int, streams: int
) -> list[str]:
    """Remarks on order and host that the trace lacked."""
    lines = list(trace.remarks)
    if streams > 1:
        lines.append("a trace has no priorities of streams: all are equal")
    if waits.by_order or waits.by_time:
        lines.append(
            f"the trace does not say which event a stream waits for: {waits.by_order} waits are"
            f" read from the order of calls, {waits.by_time} from kernels that began as another"
            " ended"
        )
    if host.lacking:
        lines.append(f"{host.lacking} kernels without a launch in the trace are launched at once")
    if host.lead > 0:
        lines.append(f"the host is {host.lead / 1e3:.2f} ms ahead as the iteration begins")
    if traces < trace.ranks:
        lines.append(f"traces of {traces} of {trace.ranks} ranks: all do as this one does")
    if meetings is not None and meetings.shift:
        lines.append(f"clocks of the ranks put right by {meetings.shift:.0f} us")
    return lines


# Iterations of a loop at the power limit.
#
# The power of a GPU before an iteration decides when its clock falls (``host.loop``). The isolated
# times of such a trace were taken at a lowered clock too, but a workload's are those of an idle
# GPU: the model says by how much they are shorter there. To that end the iteration is run as the
# earliest one of the trace; equal kernels must then take at least what the shortest of them took.


NEAR_LIMIT = 0.9  # of the power limit
MUCH = 0.7  # of it: chips that draw more than others may be at their limit
NOTHING = 0.998  # a time that is no more off than this is as measured


def at_power_limit(run: Run, node: Node) -> bool:
    """True if a GPU takes so much that what it took before the iteration decides its clock."""
    return _drawn(run, node) > NEAR_LIMIT


def draws_much(run: Run, node: Node) -> bool:
    """True if the limit of power may have lowered the clock of such a GPU."""
    return _drawn(run, node) > MUCH


def _drawn(run: Run, node: Node) -> float:
    """Mean power of a GPU in *run* over the power limit; *run* has its energy."""
    return run.energy / run.end / node.ranks / node.gpu.clock.power_limit


def loop_after(turns: int) -> dict[str, int]:
    """A loop in whose middle as many *turns* have gone before."""
    return {"iterations": 2 * turns}


def shorten(built: Built, earliest: Run) -> None:
    """Give the tasks of *built* the isolated times of a GPU at its full clock. *earliest*: its
    replay with the power of the trace's earliest iteration before it.
    """
    shares = {
        key: built.alone[key] / shortest
        for key, shortest in _shortest(built, earliest).items()
        if built.alone[key] < NOTHING * shortest
    }
    if not shares:
        return
    for name, task in built.workload["tasks"].items():
        share = shares.get(built.keys[name], 1.0)
        if "time" in task:
            task["time"] *= share
        elif task["kind"] == "gemm" and "speed" in task:
            task["speed"] = round(task["speed"] / share, 4)
    most = 1.0 - min(shares.values())
    built.add(
        f"{counted(len(shares), 'time')} alone at the power limit: at the full clock up to"
        f" {most:.1%} less, as the model says"
    )


def _shortest(built: Built, run: Run) -> Mapping[Key, float]:
    """Shortest time of each group of equal kernels with an isolated time: that that is alone in
    *run* [us].
    """
    found = []
    for name in built.keys:
        times = run.task(name)
        found.append(
            Kernel(
                name=name,
                kind="other",
                start=1e6 * times.start,
                duration=1e6 * (times.end - times.start),
                device="",
                stream=built.workload["tasks"][name]["stream"],
            )
        )
    found.sort(key=lambda kernel: kernel.start)
    shortest: dict[Key, float] = {}
    for kernel, beside in zip(found, overlaps(found), strict=True):
        key = built.keys[kernel.name]
        if key in built.alone and not beside:
            shortest[key] = min(kernel.duration, shortest.get(key, math.inf))
    return shortest
