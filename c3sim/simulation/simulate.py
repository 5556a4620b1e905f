"""One simulation: a workload on a node, from the common release of all streams to the last end."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from types import MappingProxyType

import simpy

from c3sim.engine.clock import Clock
from c3sim.engine.flow import Observer
from c3sim.engine.fluid import Fluid
from c3sim.engine.progress import Progress
from c3sim.engine.recorder import Recorder
from c3sim.errors import DeadlockError, InputError
from c3sim.machine.cache_counts import CacheCounts, cache_counts
from c3sim.machine.energy import idle_energy, task_accounts
from c3sim.machine.follower import behind
from c3sim.machine.machine import Machine, Memories, Turns
from c3sim.machine.settling import Settled, Sums, Turn
from c3sim.models.cache_lines import counts_lines, released_of, write_backs
from c3sim.processes.plan import Arrivals, Context, Plan
from c3sim.processes.streams import TaskRuns, no_room
from c3sim.result import Span, Timeline
from c3sim.simulation.counters import UnitsHeld, counters
from c3sim.simulation.draws import Case, Draw, draws, drifting, median_run
from c3sim.simulation.drift import drifted
from c3sim.simulation.exposure import exposure
from c3sim.simulation.folding import folds
from c3sim.simulation.keeping import found_or_made
from c3sim.simulation.run import Run, TaskRun
from c3sim.spec.energies import Account, components_of
from c3sim.spec.hardware import Node
from c3sim.spec.parts import Clock as ClockSpec
from c3sim.spec.schedules import expanded
from c3sim.spec.workload import Workload
from c3sim.tasks.plan import kind_of, plan

MOST_TURNS, RISES = 40, 2  # turns, and rises of a clock, before it is as a loop leaves it
SETTLED = 1e-4  # of the maximum clock
OFTEN = 64  # events of a run between two questions, some milliseconds

NOTHING: Memories = MappingProxyType({})  # is known of clocks
Ask = Callable[[], None]


def _go_on() -> None:
    """Nobody calls it off."""


_ask: ContextVar[Ask] = ContextVar("ask", default=_go_on)


@contextmanager
def may_be_called_off(ask: Ask) -> Iterator[None]:
    """Every run in here calls *ask* now and then; what that raises ends the run, and is not caught
    on its way here.
    """
    token = _ask.set(ask)
    try:
        yield
    finally:
        _ask.reset(token)


def asked() -> Ask:
    """Callback for a run that begins now."""
    return _ask.get()


def simulate(
    node: Node,
    workload: Workload,
    *,
    private: frozenset[str] = frozenset(),
    by_class: bool = False,
    observers: Iterable[Observer] = (),
    fold: bool | None = None,
    energy: bool = False,
    trace: bool = False,
    compiled: bool = False,
    settled: Settled | None = None,
    clocks: Memories = NOTHING,
) -> Run:
    """Run *workload*, once for every way in which its ranks may begin (simulation/draws.py).

    *private*: kinds of sharing to take away, between tasks; *by_class*: between those that compute
    and those that communicate alone. *fold*: overrides the derived decision (None).
    *energy*: record the accounts; *trace*: the timeline as well. *compiled* (needs numba): pays off
    in unfolded runs with hundreds of flows at once, and changes rounding alone. *settled*: in the
    middle of a loop; None: derived (of a loop, from a turn of it). *clocks*: of a turn
    much like this one (:attr:`Run.clocks`); empty: found by going round.

    Raises DeadlockError when nothing can happen any more and tasks are unfinished.
    """
    how = _Options(private, by_class, tuple(observers), bool(fold), energy, trace, compiled, clocks)

    def run() -> Run:
        return _every_way(node, workload, how, fold, settled)

    if how.observers or trace:  # these want the run itself, or much of it
        return run()
    asked = (sorted(private), by_class, fold, energy, compiled, settled, *sorted(clocks.items()))
    return found_or_made(node, workload, asked, run)


def _every_way(
    node: Node, workload: Workload, how: _Options, fold: bool | None, settled: Settled | None
) -> Run:
    workload = expanded(workload, node)
    node = _limited(node, workload.host.power_share)
    tasks = plan(workload, node)
    how = replace(how, folded=folds(tasks) if fold is None else fold)
    if settled is None:
        settled = _settled_before(tasks, how)

    def begin(draw: Draw) -> Case:
        return Case(draw, _turn(tasks, draw.arrivals, settled, how))

    cases = [begin(draw) for draw in draws(tasks)]
    loop = workload.host.loop
    if loop is not None and not loop.barrier:
        cases = drifting(cases, node.ranks, begin)
        if len(cases) == 1:
            turns = drifted(tasks, cases[0].run, lambda draw: begin(draw).run)
            return cases[0].run if turns is None else turns
    return median_run(cases)


def _limited(node: Node, share: float) -> Node:
    """*node* with *share* of its power limit."""
    if share == 1.0:
        return node
    return node.changed(gpu__clock__power_limit=share * node.gpu.clock.power_limit)


def first_turn(node: Node, workload: Workload) -> Run:
    """A turn of a loop behind which nothing was drawn, with its energy."""
    tasks = plan(workload, node)
    how = _Options(frozenset(), False, (), folds(tasks), True, False, False)
    return _simulate(tasks, Arrivals(), None, how)


def _settled_before(tasks: Plan, how: _Options) -> Settled | None:
    node, workload = tasks.scene.node, tasks.scene.workload
    if not averages(node, workload):
        return None
    turn = _simulate(tasks, Arrivals(), None, replace(how, energy=True, trace=False))
    return settled_behind(node, workload, turn_of(node, turn))


def averages(node: Node, workload: Workload) -> bool:
    """True if what was drawn before *workload* has a say: a loop, and a governor of averages."""
    return workload.host.loop is not None and node.gpu.clock.power_window > 0


def turn_of(node: Node, run: Run) -> Turn:
    """What *run*, a first turn, took of a GPU of *node*."""
    return Turn(Sums(run.energy / node.ranks, run.end), run.held)


def settled_behind(node: Node, workload: Workload, turn: Turn) -> Settled:
    """A GPU in the middle of a loop of such turns."""
    loop = workload.host.loop
    assert loop is not None
    return turn.settled(node.gpu.clock, loop.iterations)


@dataclass(frozen=True, slots=True)
class _Options:
    private: frozenset[str]
    by_class: bool
    observers: tuple[Observer, ...]
    folded: bool
    energy: bool
    trace: bool
    compiled: bool
    clocks: Memories = field(default_factory=dict)


@contextmanager
def uncollected() -> Iterator[None]:
    """No passes of the garbage collector, which take a third of a run of thousands of tasks: what a
    run makes lives until its end. May be nested; the outermost one turns it on again.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


_NOBODY: Turns = {}
#: A GPU before a run; None: idle.
Before = Settled | None


def _turn(plan: Plan, arrivals: Arrivals, settled: Settled | None, how: _Options) -> Run:
    """One run; of a loop on GPUs whose clock follows power, a turn that leaves the clock as it
    found it. One behind clocks that are given is such a turn if the next one is like it. A clock of
    one task is that of a GPU which has long done what that begins with.
    """
    clock = plan.scene.node.gpu.clock
    if plan.scene.workload.host.loop is None or clock.response is None:
        return _simulate(plan, arrivals, settled, how)
    if "clock" in how.private and not how.by_class:
        return _simulated(plan, arrivals, settled, how, {})[0]
    if how.clocks:
        run, turns = _simulated(plan, arrivals, settled, how, how.clocks)
        if _behind(clock, turns, _left_by(turns)) is not None:
            return run
    memories: Memories = {}
    brief, turns = replace(how, trace=False, observers=()), _NOBODY
    span = RISES * clock.response.rise
    for _ in range(MOST_TURNS):
        before, again = memories, _behind(clock, turns, memories)
        if again is None:
            run, turns = _simulated(plan, arrivals, settled, brief, before)
            again = _left_by(turns)
        memories = again
        span -= run.end
        if span < 0.0 or (before and _settled(before, memories)):
            break
    if brief == how and _behind(clock, turns, memories) is not None:
        return replace(run, clocks=memories)
    return _simulated(plan, arrivals, settled, how, memories)[0]


def _left_by(turns: Turns) -> Memories:
    return {key: calls[-1].memory for key, calls in turns.items()}


def _settled(before: Memories, after: Memories) -> bool:
    """True if a turn leaves the clocks as it found them."""
    return all(abs(after[key].factor - before[key].factor) < SETTLED for key in after)


def _behind(clock: ClockSpec, turns: Turns, memories: Memories) -> Memories | None:
    """Memories of governors behind the turn that asked *turns*, once more behind *memories*; None:
    it would be another one.
    """
    if not turns:
        return None
    found = {}
    for key, calls in turns.items():
        assert clock.response is not None  # somebody remembers
        again = behind(calls, memories[key], clock, clock.response)
        if again is None:
            return None
        found[key] = again
    return found


def _simulate(plan: Plan, arrivals: Arrivals, settled: Settled | None, how: _Options) -> Run:
    return _simulated(plan, arrivals, settled, how, None)[0]


@uncollected()
def _simulated(
    plan: Plan, arrivals: Arrivals, settled: Before, how: _Options, memories: Memories | None
) -> tuple[Run, Turns]:
    """A run, and what governors were asked in it; *memories*: before it, None: no loop."""
    node, workload = plan.scene.node, plan.scene.workload
    recorder = Recorder() if how.energy or how.trace else None
    clock = Clock()
    watching = (*how.observers, recorder) if recorder else how.observers
    fluid = Fluid(clock, watching, _compiled() if how.compiled else None)
    machine = _machine(plan, fluid, len(arrivals.classes), settled, memories, how)
    spans: list[Span] | None = [] if how.trace else None
    context = Context(clock, plan, fluid, machine, spans, arrivals)
    held = UnitsHeld(context.dispatchers)
    if how.trace:
        fluid.observers = (*fluid.observers, held)
    tasks = TaskRuns(context)
    tasks.submit()
    events = _stepped(clock, tasks)
    fluid.close()
    context.close()
    begins = _begins(workload, tasks, arrivals)
    times = _task_runs(workload, tasks, begins)
    made = Run(
        times=times,
        begins=begins,
        end=max(run.end for run in times.values()),
        idle=idle_energy(node, clock.now),
        folded=how.folded,
        events=events,
        exposure=exposure(workload, times),
        clocks=memories or {},
        held=_held(plan, machine) if settled is None else {},
        accounts=None if recorder is None else _accounts(workload, machine, recorder),
        lines={} if recorder is None else _lines(plan, machine, recorder),
        timeline=None
        if recorder is None or spans is None
        else _timeline(machine, recorder, held, spans),
    )
    return made, machine.turns


def _held(plan: Plan, machine: Machine) -> dict[float, Sums]:
    """What the turn would take of a GPU at a clock that is held; nothing where none settles."""
    scene = plan.scene
    if not averages(scene.node, scene.workload) or scene.node.gpu.clock.response is not None:
        return {}
    machine.loads.until(machine.fluid.env.now)
    return machine.loads.held(scene.node.gpu.clock)


def _stepped(clock: Clock, tasks: TaskRuns) -> int:
    """Step until all *tasks* are done; returns the events."""
    events, go_on = 0, asked()
    while tasks.unfinished:
        try:
            clock.step()
        except simpy.core.EmptySchedule:
            raise DeadlockError(tasks.waiting()) from None
        events += 1
        if not events % OFTEN:
            go_on()
    return events


def check_room(workload: Workload, node: Node) -> None:
    """Raises DeadlockError for tasks of *workload* that no compute unit can hold, as far as that is
    known without a run (:meth:`c3sim.tasks.kind.Kind.has_room`).
    """
    tasks = workload.tasks.items()
    without = [name for name, task in tasks if not kind_of(task).has_room(task, node)]
    if without:
        raise DeadlockError(dict.fromkeys(without, no_room(node.gpu.compute_units)))


def _machine(
    plan: Plan,
    fluid: Fluid,
    classes: int,
    settled: Settled | None,
    memories: Memories | None,
    how: _Options,
) -> Machine:
    return Machine(
        plan.scene.node,
        fluid,
        folded=how.folded,
        private=how.private,
        groups=_sides(plan) if how.by_class else {},
        classes=classes,
        settled=settled,
        memories=memories,
        storing=any(task.stores_at_peers for task in plan.tasks.values()),
        lines={name: task.lines for name, task in plan.tasks.items()},
        set_aside=plan.scene.workload.host.set_aside,
    )


def _sides(plan: Plan) -> dict[str, str]:
    """The group of each task; no task has a name with a space."""
    return {name: f"{task.side} tasks" for name, task in plan.tasks.items()}


def _begins(workload: Workload, tasks: TaskRuns, arrivals: Arrivals) -> dict[int, float]:
    """Begin of each simulated GPU: at its release; in a loop, as that says: a release is when
    the first task could have started.
    """
    gpus, loop = dict.fromkeys(gpu for _, gpu in tasks.times), workload.host.loop
    if loop is None or loop.begin == "call":
        return {gpu: arrivals.of(gpu).late for gpu in gpus}
    starts = [
        (gpu, times.start if loop.begin == "start" else times.ready)
        for (_, gpu), times in tasks.times.items()
    ]
    return {gpu: min(s for other, s in starts if other == gpu and s is not None) for gpu in gpus}


def _task_runs(
    workload: Workload, tasks: TaskRuns, begins: Mapping[int, float]
) -> dict[tuple[str, int], TaskRun]:
    """In the order of the workload's tasks."""
    order = {name: position for position, name in enumerate(workload.tasks)}
    runs = {}
    for key, times in sorted(tasks.times.items(), key=lambda item: order[item[0][0]]):
        assert times.start is not None and times.end is not None  # the run is over
        begin = begins[key[1]]
        runs[key] = TaskRun(
            ready=times.ready - begin,
            start=times.start - begin,
            end=times.end - begin,
            detail=times.detail,
            waited=times.waited,
        )
    return runs


def _accounts(workload: Workload, machine: Machine, recorder: Recorder) -> dict[str, Account]:
    """Energy of each task on all GPUs, those that are folded included."""
    copies = machine.node.ranks / len(machine.gpus)
    simulated = task_accounts(machine.node.gpu, recorder.segments())
    return {
        task: {name: copies * joules for name, joules in simulated.get(task, {}).items()}
        for task in workload.tasks
    }


def _lines(plan: Plan, machine: Machine, recorder: Recorder) -> dict[str, CacheCounts]:
    gpu, aside = machine.node.gpu, plan.scene.workload.host.set_aside
    if not counts_lines(gpu, [task.use for task in plan.tasks.values()], aside):
        return {}
    counted = cache_counts(recorder.segments(), machine.group, len(machine.gpus))
    return {
        name: counted.get(name, CacheCounts())._replace(
            write_backs=write_backs(gpu, task.use, aside), released_bytes=released_of(gpu, task.use)
        )
        for name, task in plan.tasks.items()
    }


def _timeline(
    machine: Machine, recorder: Recorder, held: UnitsHeld, spans: Sequence[Span]
) -> Timeline:
    return Timeline(
        spans=sorted(spans, key=lambda span: (span.start, span.end)),
        counters=counters(recorder, machine, held),
        end=machine.fluid.env.now,
        component_names=components_of(machine.node),
    )


def _compiled() -> Progress:
    """Progress of flows in compiled loops. Raises InputError where numba is not installed."""
    if find_spec("numba") is None:
        raise InputError(
            "compiled runs need numba, which is not installed; pip install 'c3sim[fast]'"
        )
    from c3sim.engine.compiled.progress import CompiledProgress

    return CompiledProgress()
