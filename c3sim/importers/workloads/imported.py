"""From the files of traces to a checked workload and its replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from c3sim.errors import InputError
from c3sim.evaluation.effort import Agree, effort_of
from c3sim.importers.chakra import Side, is_chakra, read_side
from c3sim.importers.files import read_log, read_unpacked
from c3sim.importers.workloads.alone import LoneTimes, part_of_limit
from c3sim.importers.workloads.build import (
    Built,
    at_power_limit,
    build,
    draws_much,
    loop_after,
    shorten,
)
from c3sim.importers.workloads.trace import Trace, read_chakra, read_trace
from c3sim.importers.workloads.translate import translate
from c3sim.result import Span, Timeline
from c3sim.simulation.run import Run
from c3sim.simulation.simulate import simulate
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.checks.workload import check_workload
from c3sim.spec.words import counted
from c3sim.spec.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = (".json", ".json.gz", ".et")


@dataclass(frozen=True, kw_only=True, repr=False)
class Imported:
    """*text*: the YAML file of *workload*; *node*: what it was read for; *moved*: the wall time
    [us] on the node that it was translated to, if it was.
    """

    node: Node
    built: Built
    workload: Workload
    text: str
    replay: Replay
    moved: float | None = None

    def class_of(self, name: str) -> str:
        """The class of task *name*: the operation of a collective, else its operator or kind."""
        task = self.built.workload["tasks"][name]
        if task["kind"] == "collective":
            return str(task["op"])
        return str(task.get("operator", task["kind"]))

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Lines that say what was read, guessed, replayed and moved."""
        built = self.built
        times = (
            f": {built.wall / 1e3:.3f} ms, of which {built.exposed / 1e3:.3f} ms communication"
            " alone"
        )
        count = counted(len(built.workload["tasks"]), "task")
        lines = [f"{count} of {built.iteration}{times if built.timed else ''}"]
        lines += [f"guessed: {guess}" for guess in built.guesses]
        lines += self.replay.lines(built)
        if self.moved is not None:
            lines.append(f"on {built.workload['node']}: {self.moved / 1e3:.3f} ms")
        return lines

    def to_frame(self) -> pd.DataFrame:
        """A row for each kernel of the trace: its task, class, stream, begin and time [s] in the
        trace, and time in the replay.
        """
        import pandas as pd

        replayed = _spans(self.replay.run)
        rows = [
            {
                "task": task,
                "kernel": work.name,
                "class": self.class_of(task),
                "stream": work.stream,
                "start_s": 1e-6 * (work.start - self.built.start),
                "trace_s": 1e-6 * work.duration,
                "replay_s": 1e-6 * replayed[task],
            }
            for task, work in self.built.works.items()
        ]
        return pd.DataFrame(rows)


def import_iteration(
    paths: Sequence[Path],
    node: Node,
    wanted: int | None,
    *,
    side: Path | None = None,
    trace: bool = False,
    large: bool = False,
    agree: Agree = lambda effort: None,
    other: Node | None = None,
) -> Imported:
    """One iteration of the traces in *paths*: files, or folders of them; *side*: what Chakra traces
    among them lack; *trace*: keep the timeline of the replay; *large*: read long files too; *agree*
    is told what the replay takes, and raises where that is too much; *other*: the node that it is
    translated to behind the replay. Raises InputError or InputErrors.
    """
    given, files = read_side(side), trace_files(paths)
    traces = [_read(path, node, given, len(files), large=large) for path in files]
    built = build(_in_order(traces), node, wanted)
    workload = _checked(built, node)
    agree(effort_of(workload, node))
    found = replay(built, workload, node, trace=trace)
    if built.timed and built.works and draws_much(found.run, node):
        first = found.run
        if built.before and at_power_limit(first, node):
            first = _full_clock(built, node)
        _hold(built, node, first)
        workload = _checked(built, node)
        found = replay(built, workload, node, trace=trace)
    moved = None
    if other is not None:
        translate(built, node, other)
        workload = _checked(built, other)
        moved = _wall(simulate(other, workload))
    return Imported(
        node=node,
        built=built,
        workload=workload,
        text=workload_text(built),
        replay=found,
        moved=moved,
    )


def _in_order(traces: Sequence[Trace]) -> list[Trace]:
    """*traces* by rank. Raises InputError: a rank has two."""
    ranks = [each.rank for each in traces]
    if len(set(ranks)) < len(ranks):
        numbers = ", ".join(str(rank) for rank in ranks)
        raise InputError(
            f"got traces of ranks {numbers}; must be one of each rank of one job"
            " (of Chakra: NAME.RANK.et)"
        )
    return sorted(traces, key=lambda each: each.rank)


def _full_clock(built: Built, node: Node) -> Run:
    """Make *built*, at the power limit, a turn of a loop, with isolated times of the full clock;
    its replay.
    """
    host = built.workload["host"]
    host["loop"] = loop_after(built.earliest) if built.earliest else None
    shorten(built, _run(built, node))
    host["loop"] = loop_after(built.before)
    return _run(built, node)


def _hold(built: Built, node: Node, first: Run) -> None:
    """Give *built*, of which *first* is the replay, the part of the power limit that held."""
    share = _share(built, node, first)
    if share != 1.0:
        built.workload["host"]["power_share"] = share
        built.add(
            f"the clock was as at {share:.0%} of the power limit, by kernels that ran alone: chips"
            " differ, regulators swing"
        )


def _share(built: Built, node: Node, first: Run) -> float:
    """The part of the power limit that held; *first*: the replay with all of it."""
    lone = LoneTimes.of(built.works)
    return part_of_limit(lone, first, lambda share: _run(built, node, share))


def _run(built: Built, node: Node, share: float | None = None) -> Run:
    """The replay, where *share* is given with that of the power limit."""
    workload = _checked(built, node)
    if share is not None:
        workload = workload.changed(host__power_share=share)
    return simulate(node, workload)


def _checked(built: Built, node: Node) -> Workload:
    workload = Workload.model_validate(built.workload)
    check_workload(workload)
    check_on_node(workload, node)
    return workload


def _read(path: Path, node: Node, side: Side, ranks: int, *, large: bool) -> Trace:
    """The trace in one of *ranks* files, of a profiler or of Chakra."""
    data = read_unpacked(path, large=large)
    if is_chakra(data):
        return read_chakra(data, path.name, node, side, ranks)
    return read_trace(read_log(path, large=large)[0], path.name)


def trace_files(paths: Sequence[Path]) -> list[Path]:
    """*paths*, and what folders among them hold. Raises InputError: a folder without a trace."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(each for each in path.iterdir() if each.name.endswith(ENDINGS))
        if not found:
            raise InputError(f"no trace in it ({' or '.join(ENDINGS)})", file=str(path))
        files += found
    return files


# The replay of an imported workload beside its trace: how far off, and which kernels.


CLOSE = 0.05  # of the wall time: a replay is as long as its trace
SHOWN = 6  # groups of kernels


@dataclass(frozen=True, kw_only=True)
class Apart:
    """Kernels of one name: how many, and how long they ran in the trace and the replay [us]."""

    name: str
    count: int
    trace: float
    replay: float


@dataclass(frozen=True, kw_only=True)
class Replay:
    """*wall* [us] of the replay; *apart*: the groups of kernels that differ most."""

    run: Run
    wall: float
    error: float
    apart: tuple[Apart, ...]

    def lines(self, built: Built) -> list[str]:
        """In words."""
        if not built.timed:
            return [f"replay: {self.wall / 1e3:.3f} ms; the trace has no times to compare with"]
        lines = [
            f"replay: {self.wall / 1e3:.3f} ms, trace: {built.wall / 1e3:.3f} ms"
            f" ({self.error:+.1%})"
        ]
        if abs(self.error) > CLOSE:
            lines.append("which kernels differ most (trace, replay, in ms):")
            lines += [
                f"  {each.trace / 1e3:8.3f} {each.replay / 1e3:8.3f}  {each.count} x {each.name}"
                for each in self.apart
            ]
            if any("ccl" in each.name and each.trace > each.replay for each in self.apart):
                lines.append(
                    "a collective's time in a trace has its wait for other ranks:"
                    " give the traces of all of them"
                )
        return lines


def replay(built: Built, workload: Workload, node: Node, *, trace: bool = False) -> Replay:
    """Run *workload*, which *built* was written as, under the conditions of its trace; *trace*:
    keep its timeline.
    """
    run = simulate(node, workload, trace=trace, energy=True)
    wall = _wall(run)
    if not built.timed:
        return Replay(run=run, wall=wall, error=0.0, apart=())
    return Replay(run=run, wall=wall, error=wall / built.wall - 1.0, apart=_apart(built, run))


def _wall(run: Run) -> float:
    """From the first task's start to the end [us]."""
    return 1e6 * (run.end - min(times.start for times in run.times.values()))


def _spans(run: Run) -> Mapping[str, float]:
    """The time of each task on the first GPU [us]."""
    return {
        name: 1e6 * (times.end - times.start) for (name, gpu), times in run.times.items() if not gpu
    }


def _apart(built: Built, run: Run) -> tuple[Apart, ...]:
    groups: dict[str, list[str]] = {}
    for task, work in built.works.items():
        groups.setdefault(short_name(work.name), []).append(task)
    spans = _spans(run)
    found = [
        Apart(
            name=name,
            count=len(tasks),
            trace=sum(built.works[task].duration for task in tasks),
            replay=sum(spans[task] for task in tasks),
        )
        for name, tasks in groups.items()
    ]
    found.sort(key=lambda each: -abs(each.trace - each.replay))
    return tuple(found[:SHOWN])


def short_name(name: str) -> str:
    return name.split("(")[0].split("<")[0].removeprefix("void ")[:70] or name[:70]


# The original beside its replay on one time line, for ui.perfetto.dev.


BOTH = "both: trace and replay"  # the group of tracks that comes first


def beside(built: Built, replayed: Replay) -> Timeline:
    """The replay's timeline and, per stream, a track of the trace above one of the replay, both
    from their first kernel on. Of a trace without times the replay alone.
    """
    timeline, run = replayed.run.timeline, replayed.run
    assert timeline is not None, "the replay was run without a trace"
    if not built.timed:
        return timeline
    begin = min(times.start for times in run.times.values())
    spans = []
    for name, work in built.works.items():
        stream = built.workload["tasks"][name]["stream"]
        start, times = begin + 1e-6 * (work.start - built.start), run.task(name)
        ends = {"1 trace": (start, start + 1e-6 * work.duration)}
        ends["2 replay"] = (times.start, times.end)
        spans += [
            Span(
                owner=BOTH,
                row=f"{stream} {which}",
                name=name,
                task=name,
                start=first,
                end=last,
                detail={"kernel": work.name},
            )
            for which, (first, last) in ends.items()
        ]
    both = sorted([*timeline.spans, *spans], key=lambda span: (span.start, span.end))
    return replace(timeline, spans=both, end=max(timeline.end, max(s.end for s in spans)))


# A workload as YAML text: what was guessed, then a line a task, with its instances behind it.


WIDTH = 110
TIMES = ("time", "launch_time", "peers_late", "kernel_gap")
BYTES = ("size", "bytes", "read", "written")


def workload_text(built: Built) -> str:
    """The file; its head says what was guessed."""
    content = built.workload
    head = {key: value for key, value in content.items() if key not in ("tasks", "description")}
    head["host"] = with_units(head["host"])
    lines = [
        "# An iteration of a profiler trace, written by `c3sim import --as workload`.\n",
        _plain({key: head.pop(key) for key in ("schema", "name")}),
        "description: |\n",
        *(f"  {line}\n" for line in content["description"].splitlines()),
        _plain(head),
        "tasks:\n",
    ]
    for name, task in content["tasks"].items():
        note = f"  # {built.notes[name]}" if name in built.notes else ""
        lines.append(f"  {name}: {_flow(task)}{note}\n")
    return "".join(lines)


def _plain(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, width=WIDTH, allow_unicode=True)


def _flow(task: dict[str, Any]) -> str:
    text = yaml.safe_dump(with_units(task), sort_keys=False, default_flow_style=True, width=10**9)
    return text.strip()


def with_units(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Times in us and bytes with their unit."""
    texts = {}
    for name, value in fields.items():
        if name in TIMES:
            texts[name] = f"{1e6 * value:.6g} us"
        elif name in BYTES:
            texts[name] = f"{round(value)} B"
        else:
            texts[name] = value
    return texts
