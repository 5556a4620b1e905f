"""Runs that are remembered: one workload is simulated once on nodes that are the same to it.

A run is a pure function of the workload, the kinds of sharing taken away, and the numbers that it
reads of the node (reads.py). It is kept by the text of the first two, in which tasks that are
carried out alike are alike, with what it read, and holds on every node that has the same there.
Strategies, isolated times, explanations, draws and studies all ask here. Where every number moves
at once, as from draw to draw, no other node can share a run: within :func:`of_one_node` runs are
known by their very node, and their reads are not watched.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from operator import attrgetter
from typing import Any

from pydantic_core import to_json

from c3sim.machine.machine import Memories
from c3sim.machine.settling import Settled
from c3sim.models.capacity import POSTS, SHARING, STORE_QUEUES
from c3sim.models.latest import for_latest
from c3sim.processes.plan import hosts_call
from c3sim.simulation.keeping import found_or_made
from c3sim.simulation.later import waiting
from c3sim.simulation.reads import Shape, watched
from c3sim.simulation.run import Run, TaskRun
from c3sim.simulation.simulate import (
    NOTHING,
    averages,
    first_turn,
    settled_behind,
    simulate,
    turn_of,
)
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.masks import parse_cu_mask
from c3sim.spec.task import TaskBase
from c3sim.spec.workload import Task, Workload
from c3sim.tasks.plan import kind_of

#: Times of tasks, about 1 kB each: enough for each task of the largest workload alone, twice, and
#: for thousands of runs of a few tasks.
REMEMBERED = 65536
NODES = 256  # that differ in what one workload reads; the latest that were asked for

WORKLOADS = 16  # the latest, whose texts and tasks alone are remembered
ALONE = "task"  # what a task alone, and its stream, may be called: equal ones share a run
#: Fields by which a task waits for others.
WAITS = ("after", "launch_after", "launch_time", "awaits", "peers_late")

_CONDITIONS = ("buffers", "tasks", "streams", "host", "schedule")
_Key = tuple[str, frozenset[str], bool, bool, Settled | None, Hashable]


class _Known:
    """Runs of one workload, by what each read and the values that stood there; the latest last."""

    __slots__ = ("runs", "shapes")

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.runs: dict[tuple[Shape, Hashable], Run] = {}

    def get(self, node: Node) -> Run | None:
        """The run that holds on *node*."""
        for shape in reversed(self.shapes):
            found = self.runs.pop(key := _place(shape, node), None)
            if found is not None:
                self.runs[key] = found
                return found
        return None

    def put(self, shape: Shape, node: Node, run: Run) -> int:
        """Keep *run*; returns the times of tasks that this adds."""
        if shape not in self.shapes:
            self.shapes.append(shape)
        self.runs[_place(shape, node)] = run
        dropped = self.runs.pop(next(iter(self.runs))) if len(self.runs) > NODES else None
        return len(run.times) - (len(dropped.times) if dropped is not None else 0)


def _place(shape: Shape, node: Node) -> tuple[Shape, Hashable]:
    """Values of *node* that *shape* names, a text for each of its parts that has mappings; those of
    the node that was asked for last are remembered, as many tasks are asked for on one.
    """
    global _node
    if node is not _node:
        _node = node
        _values.clear()
    values = _values.get(shape)
    if values is None:
        values = shape.values(node)
        try:
            hash(values)
        except TypeError:
            values = _hashable(values)
        _values[shape] = values
    return shape, values


def _hashable(values: Any) -> Hashable:
    if isinstance(values, tuple):
        return tuple([_hashable(each) for each in values])
    return _text(values) if isinstance(values, (Spec, dict)) else values


def _text(part: Any) -> bytes:
    """Text of *part*, of which nothing changes: that of the GPU as tuned is asked for again and
    again.
    """
    known = _texts.get(id(part))
    if known is None:
        if len(_texts) >= NODES:
            _texts.clear()
        known = _texts[id(part)] = part, to_json(part, fallback=repr)  # it keeps its number
    return known[1]


_texts: dict[int, tuple[Any, bytes]] = {}  # by number of the part
_node: Node | None = None  # that was asked for last
_values: dict[Shape, Hashable] = {}  # of it

_runs: dict[_Key, _Known] = {}  # the latest last
_held = 0  # times of tasks in them
_by_node: dict[tuple[int, _Key], tuple[Node, Run]] | None = None  # within of_one_node


@contextmanager
def of_one_node() -> Iterator[None]:
    """Within it runs are known by their very node, and forgotten at its end."""
    global _by_node
    before, _by_node = _by_node, {}
    try:
        yield
    finally:
        _by_node = before


def run_once(
    node: Node,
    workload: Workload,
    private: frozenset[str] = frozenset(),
    *,
    by_class: bool = False,
    energy: bool = True,
    settled: Settled | None = None,
    clocks: Memories = NOTHING,
) -> Run:
    """The run of *workload* on *node*, from memory if it was simulated before; other arguments as
    of :func:`simulate`. The *energy* of one that is asked for without is not known.
    """
    workload = _as_run(node, workload)
    before = tuple(sorted(clocks.items()))
    key = (_conditions(node, workload), private, by_class, energy, settled, before)

    def simulated(on: Node) -> Run:
        how: dict[str, Any] = {"by_class": by_class, "energy": energy, "settled": settled}
        return simulate(on, workload, private=private, clocks=clocks, **how)

    return _once(node, workload, key, simulated)


def settled_before(node: Node, workload: Workload) -> Settled | None:
    """A GPU in the middle of a loop of *workload*; None: no loop."""
    turn = turn_before(node, workload)
    return None if turn is None else settled_behind(node, workload, turn_of(node, turn))


def turn_before(node: Node, workload: Workload) -> Run | None:
    """The turn of a loop before its clock has settled; None: no loop. It is remembered as runs
    are.
    """
    if not averages(node, workload):
        return None
    workload = _as_run(node, workload)
    key = (_conditions(node, workload), frozenset[str](), False, True, None, "first turn")
    return _once(node, workload, key, lambda on: first_turn(on, workload))


def _once(node: Node, workload: Workload, key: _Key, simulated: Callable[[Node], Run]) -> Run:
    """Run of *node* from *simulated*, or the one remembered by *key* and by what it reads there."""
    if _by_node is not None:
        place = id(node), key
        if place not in _by_node:
            # the node too: its number is not given to another one
            _by_node[place] = node, simulated(node)
        return _by_node[place][1]
    found = _known(key, node)
    if found is not None:
        return found

    def make() -> tuple[Run, Shape]:
        known = _runs.get(key)

        def seen() -> tuple[Run, Shape]:
            seen, reads = watched(node, *known.shapes[-1:] if known is not None else ())
            if type(node) is not Node:  # somebody else watches it: the run is of this very one
                seen, reads.whole = node, True
            return simulated(seen), reads.shape()

        return found_or_made(node, workload, ("with what it read", sorted(key[1]), *key[2:]), seen)

    def take(made: tuple[Run, Shape]) -> Run:
        _remember(key, made[1], node, made[0])
        return made[0]

    later = waiting()
    if later is None:
        return take(make())
    return later.ask((id(node), key), len(workload.tasks), make, take)


def _known(key: _Key, node: Node) -> Run | None:
    """The run that is remembered by *key* for *node*; where all is shared, also one whose energy is
    known too, and the turn of a loop behind which clocks are as those before this one.
    """
    conditions, private, by_class, energy, settled, before = key
    keys = [key]
    if not private:
        ways = product(dict.fromkeys((energy, True)), dict.fromkeys((before, ())))
        keys = [(conditions, private, by_class, of, settled, clocks) for of, clocks in ways]
    for each in keys:
        known = _runs.get(each)
        found = None if known is None else known.get(node)
        if found and (each[-1] == before or tuple(sorted(found.clocks.items())) == before):
            return found
    return None


def _as_run(node: Node, workload: Workload) -> Workload:
    """*workload* with the tasks that stand for its own (:meth:`c3sim.tasks.kind.Kind.as_run`):
    where no host calls for kernels, without the time that a call takes; where nobody uses DMA
    engines, not prelaunched.
    """
    if workload.host.prelaunched and not any(map(_may_use_engines, workload.tasks.values())):
        host = workload.host.model_copy(update={"prelaunched": False})
        workload = workload.model_copy(update={"host": host})
    uncalled = None if hosts_call(workload.host) else {"launch_time": None}

    def stands_for(task: Task) -> Task:
        kind = kind_of(task)
        other: Task = kind.as_run(task, node)
        if uncalled and other.launch_time is not None and kind.on_units(other):
            other = other.changed(**uncalled)
        return other

    others = {name: stands_for(task) for name, task in workload.tasks.items()}
    if all(others[name] is task for name, task in workload.tasks.items()):
        return workload
    return workload.changed(tasks=others)


def _may_use_engines(task: Task) -> bool:
    kind = kind_of(task)
    return bool(kind.posted(task)) or not kind.on_units(task)


def _conditions(node: Node, workload: Workload) -> str:
    """The parts of *workload* that decide its run; names and descriptions do not."""
    as_written = workload.host.order in ((), tuple(workload.tasks))
    return _written(workload, as_written or _in_any_order(node, workload))


@for_latest(WORKLOADS)
def _written(workload: Workload, in_any_order: bool) -> str:
    without = {"host": {"order"}} if in_any_order else None
    return workload.model_dump_json(include={*_CONDITIONS}, exclude=without)


def _in_any_order(node: Node, workload: Workload) -> bool:
    """True if launch order has no say: kernels that are queued before one release, each in a stream
    of its own on compute units of its own, wait for nothing and for nobody.
    """
    host, tasks = workload.host, workload.tasks.values()
    if host.launch != "queued" or host.release != "event" or host.queues or host.loop:
        return False
    seen: set[int] = set()
    for task in tasks:
        stream = workload.streams.get(task.stream or "")
        waits = task.after or task.awaited or task.launch_after or task.repeat > 1
        masked = stream is not None and stream.compute_units is not None
        if waits or not masked or not kind_of(task).on_units(task):
            return False
        assert stream is not None
        units = parse_cu_mask(stream.compute_units, node.gpu.compute_unit_count)
        if not seen.isdisjoint(units):
            return False
        seen.update(units)
    return len({task.stream for task in tasks}) == len(tasks)


def _remember(key: _Key, shape: Shape, node: Node, run: Run) -> None:
    """Keep *run*, and the latest of the others as far as there is room."""
    global _held
    known = _runs.pop(key) if key in _runs else _Known()
    _runs[key] = known  # it is the latest now
    _held += known.put(shape, node, run)
    while _held > REMEMBERED and len(_runs) > 1:
        oldest = _runs.pop(next(iter(_runs)))
        _held -= sum(len(each.times) for each in oldest.runs.values())


def undisturbed(node: Node, workload: Workload) -> Run:
    """The run in which tasks that compute and tasks that communicate share nothing; what waits for
    another task still does.
    """
    return run_once(node, workload, frozenset(kinds_of(workload)), by_class=True, energy=False)


def kinds_of(workload: Workload) -> tuple[str, ...]:
    """Kinds of sharing that tasks of *workload* may have."""
    tasks = workload.tasks.values()
    storing = any(kind_of(task).stores_at_peers(task) for task in tasks)
    posting = any(kind_of(task).posted(task) for task in tasks)
    return (*SHARING, *[STORE_QUEUES] * storing, *[POSTS] * posting)


def forget() -> None:
    """Remember no run any more."""
    global _held, _node
    _runs.clear()
    _texts.clear()
    _values.clear()
    _held, _node = 0, None


def isolated(node: Node, workload: Workload, task: str) -> TaskRun:
    """*task* alone, on its slowest GPU; equal tasks share the run."""
    return run_alone(node, workload, task).task(ALONE)


def run_alone(node: Node, workload: Workload, task: str) -> Run:
    """The run of :func:`isolated`, in which *task* is called ALONE."""
    return run_once(node, _alone_as_any(workload, task), energy=False)


def each_isolated(
    node: Node, workload: Workload, tasks: Iterable[str] | None = None
) -> dict[str, TaskRun]:
    """Each of *tasks* alone, left out: of all."""
    runs = each_alone(node, workload, tasks)
    ends = {id(run): run.task(ALONE) for run in runs.values()}
    return {name: ends[id(run)] for name, run in runs.items()}


def each_alone(
    node: Node, workload: Workload, tasks: Iterable[str] | None = None
) -> dict[str, Run]:
    """The runs of :func:`each_isolated`: tasks of one stream that differ in their waits for others
    alone are looked up once.
    """
    known: dict[Hashable, Run] = {}
    found = {}
    for name in workload.tasks if tasks is None else tasks:
        task = workload.tasks[name]
        kind = type(task)
        key = kind, _decides(kind)(task)
        try:
            same = known.get(key)
        except TypeError:  # a field is a mapping or a list
            same, key = None, (kind, name)
        if same is None:
            same = known[key] = run_alone(node, workload, name)
        found[name] = same
    return found


@for_latest(WORKLOADS)
def _alone_as_any(workload: Workload, task: str) -> Workload:
    return alone(workload, task, called=ALONE)


@cache
def _decides(kind: type[TaskBase]) -> Callable[[TaskBase], Hashable]:
    """Function that gives what decides the run of a task of *kind* alone, in its stream."""
    return attrgetter(*[name for name in kind.model_fields if name not in WAITS])


def alone(workload: Workload, task: str, called: str | None = None) -> Workload:
    """*task* by itself: in its stream with the stream's mask, without dependencies on others, the
    host's own work before its launch, or peers that come late. *called*: it and its stream.
    """
    found = workload.tasks[task]
    fields = type(found).model_fields
    waits = {name: fields[name].default for name in WAITS if name in fields}
    stream = found.stream if called is None or found.stream is None else called
    kept = found.changed(**waits, stream=stream)
    streams = {}
    if stream is not None and found.stream in workload.streams:
        streams[stream] = workload.streams[found.stream]
    host = workload.host.changed(order=())
    tasks = {called or task: kept}
    changes = {"tasks": tasks, "streams": streams, "host": host, "schedule": None}
    return workload.changed(**changes)
