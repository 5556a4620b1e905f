"""The description of an iteration in the place of a workload: made, changed by path, run,
explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.explanation import Explanation, explain_run
from c3sim.evaluation.losses import whole_of
from c3sim.evaluation.notes import PAST_IDEAL
from c3sim.evaluation.shares import SAME, SEVERAL, Kinds, Progress, parts_of, runs_of_kinds
from c3sim.evaluation.strategies.rewrites import baseline, collectives, movable
from c3sim.evaluation.strategies.table import (
    STRATEGIES,
    best_candidate,
    best_workload,
    candidates_of,
    strategy_name,
)
from c3sim.iterations.build import Plan, build, plan
from c3sim.iterations.measure import result_of, step_of
from c3sim.iterations.measured import InTurns, Known, Measured, layers_to_run, measure
from c3sim.iterations.result import StepTimes
from c3sim.iterations.runs import Change, Numbers, Runs, Sides, launched
from c3sim.models.capacity import SHARING
from c3sim.result import Result
from c3sim.simulation.exposure import CLASSES
from c3sim.simulation.later import waiting
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import FIELDS, Described, DlrmInPlace, Iteration, TransformerInPlace
from c3sim.spec.models import Dlrm, Transformer
from c3sim.spec.reading.loading import (
    LoadedIteration,
    is_iteration,
    load_workload,
    open_iteration,
    with_field,
    with_model,
)
from c3sim.spec.reading.mistakes import with_places
from c3sim.spec.reading.paths import NO_WORKLOAD, is_of_workload, set_si, set_value, tuned
from c3sim.spec.reading.settings import Settings
from c3sim.spec.task import Kernel
from c3sim.spec.workload import Collective, Gemm, Workload
from c3sim.tasks.plan import kind_of

TOGETHER = (
    "each kind of sharing is the mean of what it adds first and last; three or more: what so many"
    " add only together (--full shares it among them)"
)


def subject(name_or_path: str | Path, node: Node | None = None) -> Workload:
    """The workload of that name or file, or the description of an iteration in its place, on *node*
    or its own. Raises InputErrors.
    """
    if not is_iteration(name_or_path):
        return load_workload(name_or_path)
    from c3sim.spec.reading.loading import load_hardware

    loaded = open_iteration(name_or_path)
    return described(loaded, node or load_hardware(loaded.iteration.node).node)


def described(
    loaded: LoadedIteration, node: Node, settings: Mapping[str, object] | None = None
) -> Described:
    """*loaded* in the place of a workload, with those *settings* that are not of the node. Raises
    InputErrors, with file and line where they are the file's.
    """
    given, iteration, of_tasks = settings or {}, loaded.iteration, {}
    for path, value in given.items():
        if path.split(".")[0] in FIELDS or path == "name":
            iteration = with_field(iteration, path, value)
        else:
            of_tasks[path] = value
    with with_places(loaded.file, loaded.places, {path.split(".")[0] for path in given}):
        if iteration is not loaded.iteration:
            loaded = with_model(iteration, loaded.file, loaded.places)
        try:
            workload = _few_layers(iteration, loaded.model, node)
        except InputError as error:
            raise InputErrors([error]) from None
    for path, value in of_tasks.items():
        node, changed = set_value(node, workload, path, value)
        assert isinstance(changed, Described)
        workload = changed
    return workload


def described_on(
    loaded: LoadedIteration, node: Node, settings: Mapping[str, object]
) -> tuple[Node, Described]:
    """*node* with those *settings* that are its, and *loaded* on it with the others. Raises
    InputError(s).
    """
    node = node_with(node, settings)
    others = {path: value for path, value in settings.items() if _is_of_iteration(path)}
    return node, described(loaded, node, others)


def node_with(node: Node, settings: Mapping[str, object]) -> Node:
    """*node* with those *settings* that are its. Raises InputError."""
    of_node = {path: value for path, value in settings.items() if not _is_of_iteration(path)}
    return Settings(of_node).apply(node, NO_WORKLOAD)[0]


def _is_of_iteration(path: str) -> bool:
    return path == "name" or is_of_workload(path)


def _few_layers(iteration: Iteration, model: Transformer | Dlrm, node: Node) -> Described:
    """The model stands in place, so that the description needs no other file."""
    planned = plan(iteration, model, node)
    built = build(planned, min(planned.own_layers, layers_to_run(planned)[1])).workload
    kind = DlrmInPlace if isinstance(model, Dlrm) else TransformerInPlace
    in_place = kind.model_validate(model.model_dump(by_alias=True))
    fields = {name: getattr(built, name) for name in Workload.model_fields}
    whole = {**fields, "iteration": iteration.model_copy(update={"model": in_place})}
    return Described.model_validate(whole, strict=True)


def evaluate(
    workload: Workload,
    node: Node,
    strategy: str,
    *,
    trace: bool = False,
    noted: bool = True,
    stretched: bool = True,
    wall_only: bool = False,
) -> Result:
    """Result as of :func:`c3sim.evaluation.evaluate.evaluate_run`, of a description too;
    *wall_only*: nothing but ``wall_s`` of it is asked for, which takes a third of the runs.
    """
    if isinstance(workload, Described):
        sides: Sides = "none" if wall_only else "run"
        return asked(workload, node, strategy, trace=trace, sides=sides)()
    return evaluate_run(workload, node, strategy, trace=trace, noted=noted, stretched=stretched)


def asked(
    workload: Described, node: Node, strategy: str, *, trace: bool = False, sides: Sides = "run"
) -> Callable[[], Result]:
    """What gives the result of an iteration, whose runs have been asked for. Raises InputErrors."""
    name = strategy_name(strategy)
    measured = _measured(workload, node, name, trace=trace, sides=sides)
    return lambda: result_of(measured, name)


def written_out(workload: Workload, node: Node, strategy: str) -> Workload:
    """Every task that is run of *workload* under *strategy*; of a description all layers. Raises
    InputError: of a pipeline, which is run in parts.
    """
    strategy = strategy_name(strategy)
    if not isinstance(workload, Described):
        return best_workload(strategy, workload, node)
    loaded = with_model(workload.iteration)
    planned = plan(loaded.iteration, loaded.model, node)
    if planned.in_turns:
        message = "micro batches are run in parts, of which no list of tasks is the whole"
        raise InputError(message, file=workload.name)
    few = _measured(workload, node, strategy)
    built = build(planned, planned.own_layers).workload
    return changes_of(workload, node, strategy)(launched(built, eager=few.host_bound))


def explain(
    workload: Workload,
    node: Node,
    strategy: str,
    progress: Progress | None = None,
    *,
    full: bool = True,
) -> Explanation:
    """Explanation as of :func:`c3sim.evaluation.explanation.explain_run`, of a description too, of
    which *full* asks for all orders.
    """
    strategy = strategy_name(strategy)
    if isinstance(workload, Described):
        return explain_described(workload, node, strategy, progress, full=full)
    best, pair = best_candidate(strategy, workload, node), whole_of(workload, node, strategy)
    found = explain_run(best, node, strategy, progress, pair=pair)
    said = evaluate_run(workload, node, strategy, stretched=False).notes
    past = tuple(note for note in said if note.startswith(PAST_IDEAL))
    return replace(found, notes=(*found.notes, *past))


def step(workload: Described, node: Node, strategy: str) -> StepTimes:
    """Where the time of the step goes as it is, from runs that its explanation begins with."""
    strategy = strategy_name(strategy)
    return step_of(_measured(workload, _chosen_on(node), strategy, sides="idle"), strategy)


def explain_described(
    workload: Described,
    node: Node,
    strategy: str,
    progress: Progress | None = None,
    *,
    full: bool = True,
) -> Explanation:
    """Wall time, exposed communication and operator classes, by kind of sharing; tasks, of
    which there are many, are left out. *progress* hears of the runs, unless these wait for each
    other. *full*: over all orders of the kinds, else by the first and last contribution of each.
    """
    node = _chosen_on(node)
    measured = _measured(workload, node, strategy, sides="idle")
    kinds = _felt(measured.sample, node)
    runs, matter = _runs_of_kinds(measured, kinds, progress, full=full)
    parts = parts_of({shared: _figures(run) for shared, run in runs.items()}, kinds, matter)
    none = dict.fromkeys(SHARING, 0.0)
    parts = {
        name: replace(part, removal_s={**none, **part.removal_s}) for name, part in parts.items()
    }
    return Explanation(
        workload=workload.name,
        node=node.name,
        strategy=strategy,
        wall_s=measured.numbers.wall,
        tasks={},
        parts=parts,
        notes=(TOGETHER,) if SEVERAL in parts["wall"].causes_s else (),
    )


def _runs_of_kinds(
    measured: Measured | InTurns, kinds: Sequence[str], progress: Progress | None, *, full: bool
) -> tuple[dict[Kinds, Numbers], tuple[str, ...]]:
    node, together = measured.planned.node, waiting() is not None

    def private(shared: Kinds) -> Kinds:
        every = SHARING if len(shared) < 2 < len(kinds) else kinds  # run by _felt
        return frozenset(every) - shared

    def each(run: Callable[[Kinds], Numbers], items: Sequence[Kinds]) -> Iterator[Numbers]:
        for shared in items if together else ():
            for runs in measured.runs_of_layers:
                runs.run(node, private(shared))
        return map(run, items)

    def run(shared: Kinds) -> Numbers:
        return measured.sharing(private(shared))

    told = None if together else progress
    return runs_of_kinds(run, _figures, kinds, told, orders=full, each=each)


def _felt(sample: Runs, node: Node) -> list[str]:
    """Kinds of sharing that a few layers feel: where all others are shared, or none is."""
    unmet = _of_one(sample.workload, node)
    every, none = frozenset(SHARING), frozenset[str]()
    pairs = {
        kind: ((none, frozenset({kind})), (every, every - {kind}))
        for kind in SHARING
        if kind not in unmet
    }
    if waiting() is not None:  # all are asked for before a figure is read
        for private in dict.fromkeys(chain(*chain(*pairs.values()))):
            sample.run(node, private)

    def felt(one: frozenset[str], other: frozenset[str]) -> bool:
        without = _figures(sample.sharing(node, other))
        return any(
            abs(value - without.get(name, 0.0)) > SAME * abs(value)
            for name, value in _figures(sample.sharing(node, one)).items()
        )

    return [kind for kind, pair in pairs.items() if any(felt(*both) for both in pair)]


def _of_one(workload: Workload, node: Node) -> set[str]:
    """Kinds of sharing that no two tasks of *workload* ever meet in, whatever else they share:
    engines and the host's threads where nobody uses them, links where one stream alone does.
    """
    tasks = workload.tasks.values()
    if not all(kind_of(task).on_units(task) for task in tasks):
        return set()
    found = {"dma"}
    host = workload.host
    if host.launch == "graph" and host.release == "event" and node.scale_out is None:
        found.add("host")
    away = [
        task
        for task in tasks
        if kind_of(task).side == "communication" or kind_of(task).stores_at_peers(task)
    ]
    streams = {task.stream for task in away}
    if len(streams) < 2 and None not in streams:
        found.add("links")
    return found


def _figures(numbers: Numbers) -> dict[str, float]:
    busy: dict[str, float] = {n: numbers.busy[n] for n in CLASSES if numbers.busy[n]}
    return {"wall": numbers.wall, "exposed": numbers.waited, **busy}


def figures_on(
    workload: Described, node: Node, strategy: str, *, wall_only: bool = False
) -> Callable[[Node], dict[str, float]]:
    """Function that gives what :func:`asked_on` asks for."""
    ask = asked_on(workload, node, strategy, wall_only=wall_only)
    return lambda on: ask(on)()


def asked_on(
    workload: Described, node: Node, strategy: str, *, wall_only: bool = False
) -> Callable[[Node], Callable[[], dict[str, float]]]:
    """Function that asks for runs on a node like *node* that has other rates, and gives what gives
    seconds of its wall time, of exposed communication, and of each operator class there;
    *wall_only*: only the first is right.

    What computation alone leaves idle there is that on *node*: latencies, which rates do not move.
    """
    sides: Sides = "none" if wall_only else "idle"
    own = _measured(workload, node if wall_only else _chosen_on(node), strategy, sides=sides)

    def ask(on: Node) -> Callable[[], dict[str, float]]:
        there = own
        if on is not node:
            on = on if wall_only else _chosen_on(on)
            there = _measured(workload, on, strategy, sides=sides, known=own.known)
        return lambda: _figures(there.numbers)

    return ask


def _chosen_on(node: Node) -> Node:
    """*node*, whose libraries choose as on it: equal to one with another number that no run reads,
    so that these share runs.
    """
    return node if node.gpu.tuned_on is not None else tuned(node, node.gpu)


def changes_of(workload: Described, node: Node, strategy: str) -> Change:
    """Function that applies its settings and *strategy* to every workload simulated for it."""
    planned, written = _planned(workload, node)

    @cache
    def chosen() -> str:
        """*strategy* with its number, or that which ``auto`` chooses: the best one of a few layers
        is that of all runs.
        """
        auto = strategy == "auto" and not planned.in_turns  # parts choose their own
        if not auto and not (strategy in STRATEGIES and STRATEGIES[strategy].numbered):
            return strategy
        few = written(_fewest(planned))
        if auto:
            (candidate,) = candidates_of(strategy, few, node)
            return str(candidate.detail["chosen"])
        return best_candidate(strategy, few, node).candidate.name

    def change(built: Workload) -> Workload:
        built = written(built)
        if strategy == "as_written" or (planned.in_turns and not collectives(built)):
            return built  # a part without collectives, as the copy to the next stage
        if planned.in_turns and strategy.startswith("conccl") and not movable(built, node):
            return baseline(built, node)  # what engines can carry is in another part
        return best_workload(chosen(), built, node)

    return change


def few_layers(workload: Described, node: Node) -> Workload | None:
    """Layers by which a strategy chooses for all, with its settings; None: it chooses for each of
    its parts.
    """
    planned, written = _planned(workload, node)
    return None if planned.in_turns else written(_fewest(planned))


def _fewest(planned: Plan) -> Workload:
    return build(planned, min(planned.own_layers, layers_to_run(planned)[0])).workload


def _planned(workload: Described, node: Node) -> tuple[Plan, Change]:
    """What *node* runs of it, and the function that applies its settings."""
    loaded = with_model(workload.iteration)
    planned = plan(loaded.iteration, loaded.model, node)

    def written(built: Workload) -> Workload:
        for path, value, style in workload.changes:
            try:
                _, built = (set_si if style == "si" else set_value)(node, built, path, value)
            except InputError:
                if not planned.in_turns:  # what is not in this part is in another
                    raise
        return taking(built, workload.takes)

    return planned, written


def taking(built: Workload, takes: Mapping[str, float]) -> Workload:
    """*built*, whose operators of a class, and collectives, take so many times as long alone."""
    if not takes:
        return built
    tasks = {}
    for name, task in built.tasks.items():
        times, change = 1.0, dict[str, float]()
        if isinstance(task, Kernel):
            times = takes.get(task.operator, 1.0)
            change = {
                "efficiency": min(1.0, task.efficiency / times),
                "stream_efficiency": min(4.0, task.stream_efficiency / times),
                "memory_efficiency": min(1.0, task.memory_efficiency / times),
                "dependent_loads": round(task.dependent_loads * times),
            }
        elif isinstance(task, Gemm | Collective):
            times = takes.get(_CLASS_OF[task.kind], 1.0)
            change = {"speed": task.speed / times}
        tasks[name] = task.model_copy(update=change) if times != 1.0 else task
    return built.model_copy(update={"tasks": tasks})


_CLASS_OF = {"gemm": "gemm", "collective": "communication"}


def _measured(
    workload: Described,
    node: Node,
    strategy: str,
    *,
    trace: bool = False,
    sides: Sides = "run",
    known: Known | None = None,
) -> Measured | InTurns:
    loaded, change = with_model(workload.iteration), changes_of(workload, node, strategy)
    try:
        return measure(
            loaded.iteration,
            loaded.model,
            node,
            change=change,
            trace=trace,
            sides=sides,
            known=known,
        )
    except InputError as error:
        raise InputErrors([error]) from None
