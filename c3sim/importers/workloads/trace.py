"""One rank's profiler trace: what its GPU did, and the calls of the host that matter for it.

Times are in us, as in the trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from c3sim.errors import InputError
from c3sim.importers.chakra import Side, events_of, read_graph
from c3sim.importers.chakra_runs import workload_of
from c3sim.importers.kineto import Links, group_of, is_amd, origin_of
from c3sim.importers.partial_json import read_members
from c3sim.importers.trace_events import as_time, category_of, sound_events
from c3sim.importers.traces import Kernel, KernelClass
from c3sim.simulation.exposure import uncovered
from c3sim.spec.hardware import Node

_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_RUNTIME = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime")
_SYNCHRONISES = re.compile(
    r"(?:Device|Stream|Event|Ctx)Synchronize(?:_v\d+)?$|Memcpy(?:HtoD|DtoH)?$"
)
_MARK = re.compile(r"ProfilerStep#(\d+)")


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """A kernel, copy or fill on a stream; *called*, *launched*: when the host's call began and
    returned, None where the trace lacks it. *operators*: it belongs to, the innermost first.
    """

    name: str
    category: str
    kind: KernelClass
    start: float
    duration: float
    stream: str
    args: Mapping[str, Any]
    called: float | None
    launched: float | None
    operators: Sequence[Mapping[str, Any]]

    @property
    def end(self) -> float:
        return self.start + self.duration

    @property
    def is_collective(self) -> bool:
        return self.kind.kind == "collective"

    @property
    def operator(self) -> Mapping[str, Any]:
        """The innermost operator with shapes, else the innermost; empty where there is none."""
        shaped = (op for op in self.operators if (op.get("args") or {}).get("Input Dims"))
        return next(shaped, next(iter(self.operators), {}))

    def interval(self) -> Kernel:
        """For the functions that work on time lines."""
        return Kernel(
            name=self.name,
            kind=self.kind.kind,
            start=self.start,
            duration=self.duration,
            device="",
            stream=self.stream,
        )


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of the runtime, by its plain name; *about*: what ``cuda_sync`` says of it."""

    name: str
    start: float
    end: float
    correlation: int
    about: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """*works* in order of their start; *marks*: step number -> its span on the host."""

    file: str
    rank: int
    ranks: int
    software: str
    facts: str
    backend: str
    works: Sequence[Work]
    marks: Mapping[int, tuple[float, float]]
    optimizer: Sequence[tuple[float, float]]
    syncs: Sequence[Call]
    records: Sequence[Call]
    waits: Sequence[Call]
    links: Links
    remarks: Sequence[str]
    timed: bool = True  # without times nobody knows what ran beside what
    awaits: Mapping[int, Sequence[Work]] | None = None  # by id of a work, where the trace tells all
    written: Mapping[str, Any] | None = None  # the workload whose run c3sim wrote as this trace


def read_trace(text: str, file: str) -> Trace:
    """Raises InputError: no kernel in it."""
    document, events, fault = read_members(text, "traceEvents")
    try:
        trace = trace_of(document or {}, events, file)
    except InputError as error:
        raise InputError(fault.message, file=file) if fault else error from None
    return replace(trace, remarks=[*trace.remarks, *([fault.message] if fault else [])])


def trace_of(document: Mapping[str, Any], events: Sequence[Any], file: str) -> Trace:
    """*document*: what a trace has beside its *events*. Raises InputError: no kernel in it."""
    whole, lost = sound_events(events)
    links = Links(whole)
    timed = _works(whole, links)
    works, remarks = _of_one_device(timed)
    if untimed := sum(event["cat"].lower() in _ON_GPU for event in whole) - len(timed):
        lost.append(f"{untimed} kernels without a time left out")
    if not works:
        message = "no kernel in the trace; profile with activities=[CPU, CUDA]"
        raise InputError(message, file=file)
    group = group_of(document)
    backend = "rccl" if is_amd(document, events) else "nccl"
    origin = origin_of(document, backend)
    calls = _calls(whole)
    return Trace(
        file=file,
        rank=_count(group, "rank", 0),
        ranks=_count(group, "world_size", 1),
        software=origin.software,
        facts=origin.facts,
        backend=backend,
        works=works,
        marks=_marks(whole),
        optimizer=_spans(whole, "Optimizer.step"),
        syncs=[call for call in calls if _SYNCHRONISES.search(call.name)],
        records=[call for call in calls if "EventRecord" in call.name],
        waits=[call for call in calls if "StreamWaitEvent" in call.name],
        links=links,
        remarks=[*remarks, *lost],
    )


def _count(group: Mapping[str, Any], key: str, least: int) -> int:
    """The whole number *key* of *group*, *least* where it is none."""
    value = group.get(key)
    return value if isinstance(value, int) and value >= least else least


def _works(events: Iterable[Mapping[str, Any]], links: Links) -> list[tuple[str, Work]]:
    """(device, work), in order of start; what lacks a time is left out."""
    found = []
    for event in events:
        category = category_of(event)
        if category not in _ON_GPU:
            continue
        args, name = event.get("args") or {}, str(event.get("name", ""))
        try:
            start, duration = as_time(event["ts"]), as_time(event["dur"])
        except (KeyError, ValueError):
            continue
        launch = links.launch(args)
        called = float(launch["ts"]) if launch else None
        operators = list(links.operators(args))
        work = Work(
            name=name,
            category=category,
            kind=links.kind(event),
            start=start,
            duration=duration,
            stream=str(args.get("stream", event.get("tid", 0))),
            args=args,
            called=called,
            launched=None
            if launch is None or called is None
            else called + float(launch.get("dur", 0)),
            operators=operators,
        )
        found.append((str(args.get("device", event.get("pid", 0))), work))
    return sorted(found, key=lambda each: each[1].start)


def _of_one_device(works: Sequence[tuple[str, Work]]) -> tuple[list[Work], list[str]]:
    """Works of the busiest device, and remarks on all that is left out."""
    busy: dict[str, float] = {}
    for device, work in works:
        busy[device] = busy.get(device, 0.0) + work.duration
    if not busy:
        return [], []
    chosen = max(busy, key=lambda device: busy[device])
    others = len(busy) - 1
    remarks = [f"of {others + 1} devices only {chosen} is read"] if others else []
    return [work for device, work in works if device == chosen], remarks


def _calls(events: Iterable[Mapping[str, Any]]) -> list[Call]:
    """Calls of the runtime in order of time, with what the GPU's side says of the same call."""
    about: dict[int, Mapping[str, Any]] = {}
    found = []
    for event in events:
        category, args = category_of(event), event.get("args") or {}
        if category == "cuda_sync":
            about[int(args.get("correlation", -1))] = args
        elif category in _RUNTIME:
            found.append((event, int(args.get("correlation", -1))))
    calls = [
        Call(
            name=str(event.get("name", "")),
            start=float(event.get("ts", 0)),
            end=float(event.get("ts", 0)) + float(event.get("dur", 0)),
            correlation=correlation,
            about=about.get(correlation, {}),
        )
        for event, correlation in found
    ]
    return sorted(calls, key=lambda call: call.start)


def _marks(events: Iterable[Mapping[str, Any]]) -> dict[int, tuple[float, float]]:
    """Steps that the host marked, by number."""
    marks = {}
    for event in events:
        match = _MARK.match(str(event.get("name", "")))
        if match and category_of(event) in ("user_annotation", "cpu_op"):
            marks[int(match[1])] = _span(event)
    return dict(sorted(marks.items()))


def _spans(events: Iterable[Mapping[str, Any]], prefix: str) -> list[tuple[float, float]]:
    return [
        _span(event)
        for event in events
        if str(event.get("cat", "")) == "user_annotation"
        and str(event.get("name", "")).startswith(prefix)
    ]


def _span(event: Mapping[str, Any]) -> tuple[float, float]:
    start = float(event.get("ts", 0))
    return start, start + float(event.get("dur", 0))


# The part of a trace that is one iteration: by the host's marks of steps, else by what repeats.


ALIKE = 0.95  # of the kernels of a repetition have the name of those one period before


@dataclass(frozen=True, kw_only=True)
class Iteration:
    """*works* in order of launch; *before*: iterations that are known to have gone before it."""

    name: str
    works: Sequence[Work]
    before: int = 0

    @property
    def start(self) -> float:
        """Start of its first kernel [us]."""
        return min(work.start for work in self.works)

    @property
    def wall(self) -> float:
        """From its first kernel's start to its last kernel's end [us]."""
        return max(work.end for work in self.works) - self.start


def iterations(trace: Trace) -> dict[int, Iteration]:
    """By number: as marked, else from 1 on; without either the whole trace is iteration 1. Raises
    InputError: no marked step has a kernel.
    """
    if trace.marks:
        found = {
            number: Iteration(
                name=f"ProfilerStep#{number}", works=in_order(_within(trace, span)), before=number
            )
            for number, span in trace.marks.items()
        }
        marked = {number: each for number, each in found.items() if each.works}
        if not marked:
            steps = f"the {len(found)} marked steps" if len(found) > 1 else "the marked step"
            raise InputError(f"no kernel was launched within {steps}", file=trace.file)
        return marked
    works = in_order(trace.works)
    size = period(works)
    if not size:
        return {1: Iteration(name="the whole trace", works=works)}
    return {
        turn + 1: Iteration(
            name=f"repetition {turn + 1}", works=works[begin : begin + size], before=turn
        )
        for turn, begin in enumerate(range(0, len(works) - size + 1, size))
    }


def choose(trace: Trace, wanted: int | None) -> tuple[Iteration, list[Iteration]]:
    """The iteration *wanted* and all of the trace. None: the whole trace without marks, else the
    last marked one. Raises InputError: there is none of that number.
    """
    found = iterations(trace)
    if wanted is None and not trace.marks:
        whole = Iteration(name="the whole trace", works=in_order(trace.works))
        return whole, [whole]
    number = max(found) if wanted is None else wanted
    if number not in found:
        numbers = ", ".join(str(each) for each in found)
        how = "marked" if trace.marks else "found by what repeats"
        raise InputError(f"got {number}; iterations {how}: {numbers}", "--iteration", trace.file)
    return found[number], list(found.values())


def in_order(works: Sequence[Work]) -> list[Work]:
    """In order of launch; those of one launch, a graph's, in order of start."""
    return sorted(works, key=lambda w: (w.start if w.called is None else w.called, w.start))


def period(works: Sequence[Work]) -> int:
    """Kernels after which all of *works* repeats; 0: it does not."""
    names = [work.name for work in works]
    for size in range(2, len(names) // 2 + 1):
        pairs = len(names) - size
        allowed = (1.0 - ALIKE) * pairs
        for first, second in zip(names, names[size:], strict=False):
            allowed -= first != second
            if allowed < 0:
                break
        else:
            return size
    return 0


def _within(trace: Trace, span: tuple[float, float]) -> list[Work]:
    """Works whose launch lies in *span*; of a trace without launches, those that start in it."""
    launched = any(work.called is not None for work in trace.works)
    return [
        work
        for work in trace.works
        if (time := work.called if launched else work.start) is not None
        and span[0] <= time < span[1]
    ]


# The share of a trace that is communication and hidden by nothing.


def exposed(works: Iterable[Work]) -> float:
    """Time [us] in which a collective runs and no other work of the GPU does."""
    found = list(works)
    return uncovered(
        ((work.start, work.end) for work in found if work.is_collective),
        by=((work.start, work.end) for work in found if not work.is_collective),
    )


# A Chakra trace as the trace of one rank.


def read_chakra(data: bytes, file: str, node: Node, side: Side, ranks: int) -> Trace:
    """From unpacked *data*, one of as many *ranks* as have traces; groups that *side* does not name
    are of all GPUs of *node*. Raises InputError: no Chakra trace.
    """
    graph = read_graph(data, file)
    found = events_of(graph.nodes, side, node.ranks, file)
    trace = trace_of({}, found.events, file)
    works = {int(work.args["correlation"]): work for work in trace.works}
    lone = ["a Chakra trace is that of one rank"] if ranks == 1 else []
    return replace(
        trace,
        rank=graph.rank or 0,
        ranks=1 if ranks == 1 else node.ranks,
        backend=next(iter(node.collective_libraries), trace.backend),
        software=f"Chakra schema {graph.version or 'unknown'}",
        remarks=[*trace.remarks, *found.remarks, *lone],
        timed=found.timed,
        awaits=None
        if found.awaits is None
        else {
            id(works[number]): [works[each] for each in others]
            for number, others in found.awaits.items()
        },
        written=workload_of(graph),
    )
