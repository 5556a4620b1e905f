"""The Python interface: run a workload, compare strategies, explain a run, run a study or a sweep.

Names, paths, mappings as in a file, and loaded models are all accepted. Bad input raises
InputError or InputErrors. What is returned shows itself in a notebook. It must not know the command
line: nothing here prints or ends the process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from c3sim.errors import DeadlockError, InputError, InputErrors
from c3sim.evaluation.comparison import Comparison
from c3sim.evaluation.differences import Differences, of_runs
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.evaluation.strategies.table import STRATEGIES
from c3sim.evaluation.trust import domains
from c3sim.kit.progress import heard, sweep_progress
from c3sim.kit.progress import progress as progress_bar
from c3sim.output.shows import Again, show_themselves
from c3sim.result import Result, changed, later
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described, Iteration
from c3sim.spec.reading import library
from c3sim.spec.reading.building import from_mapping
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.files import kept
from c3sim.spec.reading.loading import (
    LoadedIteration,
    LoadedNode,
    LoadedWorkload,
    is_iteration,
    load_hardware,
    open_iteration,
    open_workload,
    with_model,
)
from c3sim.spec.reading.settings import Settings as Settled
from c3sim.spec.reading.settings import beyond_the_file, remarks, settings_of
from c3sim.spec.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

    from c3sim.evaluation.effort import Agree
    from c3sim.evaluation.explanation import Explanation
    from c3sim.evaluation.shares import Progress
    from c3sim.experiments.advice import Advices
    from c3sim.experiments.jobs import Watcher
    from c3sim.experiments.study import StudyResult
    from c3sim.experiments.sweep import SweepResult
    from c3sim.iterations.result import IterationResult

__all__ = [
    "advise",
    "compare",
    "diff",
    "explain",
    "export_trace",
    "prepare",
    "run",
    "study",
    "sweep",
]

AnyNode = Node | LoadedNode | str | PathLike[str]
AnyWorkload = Workload | LoadedWorkload | Mapping[str, Any] | str | PathLike[str]
AnyRun = AnyWorkload | LoadedIteration | Iteration
Settings = Mapping[str, object] | str | PathLike[str]

#: Names whose results a type checker knows to be those of iterations.
PackagedIteration = Literal[
    "bert-large-one-gpu",
    "bert-large-training",
    "dlrm-training",
    "llama3-405b-training",
    "llama3-70b-decode",
    "llama3-70b-training",
    "llama3-8b-forward",
    "llama3-8b-training",
    "mixtral-prefill",
]

#: What the tasks of a deadlock most often do not fit into.
REGISTERS = "gpu.compute_units.registers"

show_themselves()


@overload
def run(
    workload: PackagedIteration | LoadedIteration | Iteration,
    *,
    node: AnyNode | None = None,
    strategy: str = "as_written",
    set: Settings | None = None,
    trace: bool = False,
) -> IterationResult: ...


@overload
def run(
    workload: AnyWorkload,
    *,
    node: AnyNode | None = None,
    strategy: str = "as_written",
    set: Settings | None = None,
    trace: bool = False,
) -> Result: ...


def run(
    workload: AnyRun,
    *,
    node: AnyNode | None = None,
    strategy: str = "as_written",
    set: Settings | None = None,
    trace: bool = False,
) -> Result:
    """One workload under one strategy, on *node* or its own; *set*: values by path. An iteration
    gives an :class:`c3sim.IterationResult`.
    """
    model, target, notes = _prepared(workload, node, set)
    with _file_of_units(model.node if node is None else node):
        return _noted(_evaluate(model, target, strategy, trace=trace), notes, model, target)


def compare(
    workload: AnyRun,
    *,
    node: AnyNode | None = None,
    strategies: Sequence[str] | str = "all",
    set: Settings | None = None,
    progress: Progress | None = None,
    jobs: int | None = 1,
) -> Comparison:
    """The workload under several strategies; ``all``: those that can apply to it. *progress* hears
    of each, of an iteration of each run; *jobs*: processes for these, None: as many as cores.
    """
    model, target, notes = _prepared(workload, node, set)
    names = strategies.split(",") if isinstance(strategies, str) else strategies
    must = strategies != "all"
    asked = [name.strip() for name in names] if must else [*STRATEGIES]
    with _file_of_units(model.node if node is None else node):
        if isinstance(model, Described):
            from c3sim.experiments.copying import together_by
            from c3sim.iterations.compared import of_strategies

            together = together_by(jobs, partial(progress, "runs") if progress else None)
            results, left_out = of_strategies(model, target, asked, together, must=must)
        else:
            results, left_out = [], {}
            for number, name in enumerate(asked):
                if progress is not None:
                    progress("strategies", number, len(asked))
                try:
                    results.append(evaluate_run(model, target, name))
                except (InputError, InputErrors) as error:
                    if must:
                        raise
                    left_out[name] = str(error)
    every = (_noted(result, notes, model, target) for result in results)
    return Comparison(every, left_out)


def _evaluate(model: Workload, target: Node, strategy: str, *, trace: bool = False) -> Result:
    """A checked *model* under *strategy*; what runs iterations is imported for these alone."""
    if not isinstance(model, Described):
        return evaluate_run(model, target, strategy, trace=trace)
    from c3sim.iterations.described import evaluate

    return evaluate(model, target, strategy, trace=trace)


def explain(
    workload: AnyRun,
    *,
    node: AnyNode | None = None,
    strategy: str = "as_written",
    set: Settings | None = None,
    limits: bool = False,
    full: bool = False,
    progress: Progress | None = None,
    jobs: int | None = 1,
) -> Explanation:
    """The slowdown of each task, split by cause. Of an iteration: where the wall time, the exposed
    communication and the time of each operator class went, by the first and last contribution of
    each kind of sharing. *limits*: also which number binds each time, and which next, by many runs
    more. *full*: of an iteration all orders of the kinds, and what binds next, by twice the runs.
    *progress* hears of the runs behind it; left out, a notebook shows a bar for an iteration.
    *jobs*: processes for the runs of an iteration; None: as many as cores.
    """
    from c3sim.experiments.copying import copies, together_by
    from c3sim.experiments.kept import answered
    from c3sim.iterations.described import explain as explain_any
    from c3sim.iterations.limits import limits_of

    model, target, notes = _prepared(workload, node, set)
    bar = progress_bar if isinstance(model, Described) else nullcontext
    with heard(progress, bar) as watcher, _file_of_units(model.node if node is None else node):
        causes = partial(explain_any, model, target, strategy, watcher, full=full)
        if isinstance(model, Described):
            tell = partial(watcher, "causes") if watcher else None

            def of_step() -> Explanation:
                with together_by(jobs, tell):
                    return causes()

            explanation = answered(("causes", model, target, strategy, full), of_step)
        else:
            explanation = causes()
        if limits:
            each = map if jobs == 1 else copies(jobs)
            found = limits_of(model, target, strategy, watcher, full=full, each=each)
            explanation = replace(explanation, limits=found)
    return replace(explanation, notes=(*notes(), *explanation.notes))


def advise(
    workload: AnyRun,
    *,
    node: AnyNode | None = None,
    set: Settings | None = None,
    progress: Progress | None = None,
    agree: Agree | None = None,
) -> Advices:
    """Channels, engines, order, priority, queues, pieces and prefetch, each tried alone and the
    good ones together: what each gains, with its band. Numbers in *set* are not drawn.
    """
    from c3sim.experiments.advice import advise as ask
    from c3sim.spec.reading.paths import canonical

    model, target, _ = _prepared(workload, node, set)
    opened = _opened(model.node if node is None else node)
    known = opened.provenance if isinstance(opened, LoadedNode) else {}
    held = LoadedNode(node=target, provenance=known)
    but = {canonical(path) for path in settings_of(set)}
    with heard(progress, progress_bar) as watcher:
        return ask(model, held, but=but, tell=watcher, agree=agree)


def diff(
    before: Result | AnyWorkload | LoadedIteration | Iteration,
    after: Result | AnyWorkload | LoadedIteration | Iteration,
    *,
    node: AnyNode | None = None,
    iteration: int | None = None,
    column: str | None = None,
) -> Differences | pd.DataFrame:
    """Change from *before* to *after*, cause by cause, as ``c3sim diff``: two results, two
    workloads or iterations (both are run on *node*), two traces or folders of traces (*iteration*
    of them), or two result files (a DataFrame of *column*). Bands are the command line's.
    """
    from c3sim.importers.workloads.changes import imported, of_traces
    from c3sim.output.results.saved import kind_of, of_results

    sides = (before, after)
    paths = [str(side) for side in sides if isinstance(side, str | PathLike)]
    kinds = {kind_of(path) for path in paths} if len(paths) == len(sides) else {"model"}
    if kinds == {"results"}:
        return of_results(paths[0], paths[1], column)
    if kinds == {"trace"}:
        named = None if node is None else str(node)
        return of_traces(*(imported([Path(path)], named, iteration) for path in paths))
    if kinds & {"results", "trace"}:
        raise InputError(f"{' and '.join(sorted(kinds))} are not of one kind")
    was, now = (_figures(side, node) for side in sides)
    return Differences(about=_about(was, now), times=of_runs(was, now))


def _about(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Title of a comparison: the workload of two results, and what differs, such as their
    strategies.
    """
    apart = [key for key in ("workload", "node", "strategy") if was.get(key) != now.get(key)]
    if "workload" in apart or not apart:
        apart = ["workload", *apart[1:]]
    sides = (", ".join(str(side.get(key)) for key in apart) for side in (was, now))
    return f"{'' if 'workload' in apart else now['workload'] + ': '}{' -> '.join(sides)}"


def _figures(side: Any, node: AnyNode | None) -> dict[str, Any]:
    """Plain data, as of ``Result.to_dict``, of a result, a saved run, or a workload that is run."""
    if isinstance(side, Result):
        return side.to_dict()
    if isinstance(side, str | PathLike) and str(side).endswith(".json"):
        saved: dict[str, Any] = json.loads(Path(side).read_bytes())
        return saved
    result: Result = run(side, node=node)
    return result.to_dict()


def export_trace(
    workload: AnyRun,
    path: str | PathLike[str],
    *,
    node: AnyNode | None = None,
    strategy: str = "as_written",
    set: Settings | None = None,
) -> list[Path]:
    """Write a run of *workload* as Chakra traces, one a rank, and return their paths: *path*
    ``step.et`` gives ``step.0.et``, ``step.1.et``, ... ``import_trace`` reads them back. Of an
    iteration every layer is run. Raises InputError: DMA programs, or micro batches.
    """
    from c3sim.importers.chakra_runs import chakra_traces
    from c3sim.iterations.described import written_out
    from c3sim.kit.files import write_bytes

    model, target, _ = _prepared(workload, node, set)
    stem = Path(path)
    traces = chakra_traces(target, written_out(model, target, strategy))
    files = [stem.with_name(f"{stem.stem}.{rank}.et") for rank in range(target.ranks)]
    for file, data in zip(files, traces, strict=True):
        write_bytes(file, data)
    return files


def sweep(
    study: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    *,
    node: AnyNode | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    progress: Watcher | None = None,
) -> SweepResult:
    """Every point of a study, as ``c3sim sweep``: into the folder *out* (left out: ``sweep-NAME``),
    going on with what is there unless *fresh*.

    *node* replaces the study's; *jobs*: processes (left out: all cores, where it pays); *progress*
    hears of points done, in all, failed; left out, a notebook shows a bar. A point that fails has
    its ``error``.
    """
    from c3sim.experiments.jobs import Workers
    from c3sim.experiments.sweep import sweep as run_sweep

    with heard(progress, partial(sweep_progress, "points")) as watcher:
        return run_sweep(
            _name_or_path(study),
            None if out is None else Path(out),
            node=None if node is None else _plain(_opened(node)),
            workers=Workers(jobs=jobs),
            fresh=fresh,
            watcher=watcher,
        )


def study(
    name_or_path: str | PathLike[str],
    *,
    node: AnyNode | None = None,
    set: Settings | None = None,
    strategies: Sequence[str] = (),
    band: bool = True,
    draws: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    agree: Agree | None = None,
) -> StudyResult:
    """A study by name or path; *node* and *strategies* replace its own; *set*: values by path, each
    an axis (one value or a list). For the others see :class:`c3sim.experiments.study.Options`.

    The result is that of the study's kind (:mod:`c3sim.experiments.papers`): its entries are
    attributes, its ``to_dict()`` is plain data.
    """
    from c3sim.experiments.study import Options, run_study
    from c3sim.spec.reading.loading import open_study

    loaded = None if node is None else _opened(node)
    with heard(progress, progress_bar) as watcher:
        options = Options(
            node=None if loaded is None else _plain(loaded),
            provenance=loaded.provenance if isinstance(loaded, LoadedNode) else {},
            strategies=strategies,
            settings=settings_of(set),
            band=band,
            draws=draws,
            n_jobs=n_jobs,
            progress=watcher,
            agree=agree,
        )
        return run_study(open_study(_name_or_path(name_or_path)), options)


def prepare(
    workload: AnyRun, node: AnyNode | None, set: Settings | None = None
) -> tuple[Workload, Node]:
    """Models of both, with the settings applied, checked against each other; of an iteration the
    workload that stands for it.
    """
    return _prepared(workload, node, set)[:2]


def _prepared(
    workload: AnyRun, node: AnyNode | None, set: Settings | None
) -> tuple[Workload, Node, Callable[[], tuple[str, ...]]]:
    """The models, and what gives notes, which few look at: what of the node was set, or written,
    beyond what was checked.
    """
    if isinstance(workload, str | PathLike):
        name = _name_or_path(workload)
        asked = kept(is_iteration, name)
        workload = open_iteration(name) if asked else kept(open_workload, name)
    elif isinstance(workload, Mapping):
        workload = from_mapping(workload)
    if isinstance(workload, Iteration):
        workload = with_model(workload)
    model = workload if isinstance(workload, Workload) else _of_file(workload)
    opened = _opened(model.node if node is None else node)
    loaded = opened if isinstance(opened, LoadedNode) else LoadedNode(node=opened, provenance={})
    settings = settings_of(set)
    if isinstance(workload, LoadedIteration):
        from c3sim.iterations.described import described_on

        target, model = described_on(workload, loaded.node, settings)
    else:
        assert isinstance(model, Workload)
        target, model = settings.apply(loaded.node, model)
    if isinstance(workload, LoadedWorkload) and not settings:
        workload.check_on(target)  # its errors have file and line
    else:
        check_on_node(model, target)
    return model, target, cache(lambda: _notes(loaded, target, model, settings))


def _notes(loaded: LoadedNode, target: Node, model: Workload, settings: Settled) -> tuple[str, ...]:
    notes = [beyond_the_file(loaded, target, model, settings), GRADES.get(target.grade or "", "")]
    notes += remarks(loaded, target, model, settings)
    if loaded.like and target.grade is None and not domains(target.name):
        base = next(iter(dict.fromkeys(loaded.like.values())))
        notes.append(f"{target.name} is like {base}; no measurement here checks where it differs")
    return tuple(note for note in notes if note)


#: What a node says of itself, by its grade, where its numbers were not measured here.
GRADES = {
    "calibrated": "the numbers of this node are of data sheets and published isolated runs",
    "data_sheet": "the numbers of this node are of data sheets; no run has checked them",
    "invented": "the numbers of this node are invented, for lessons and tests",
}


def _of_file(loaded: LoadedWorkload | LoadedIteration) -> Workload | Iteration:
    return loaded.workload if isinstance(loaded, LoadedWorkload) else loaded.iteration


def _noted(
    result: Result, notes: Callable[[], tuple[str, ...]], model: Workload, target: Node
) -> Result:
    """*result* with more *notes*, and with how it is repeated."""
    again = Again(
        partial(_evaluate, model, target, result.strategy, trace=True),
        partial(explain, model, node=target, strategy=result.strategy),
    )
    return changed(
        result,
        notes=later(lambda: (*result.notes, *notes())),
        trust=later(lambda: result.trust),
        again=again,
    )


def _opened(node: AnyNode) -> Node | LoadedNode:
    return load_hardware(_name_or_path(node)) if isinstance(node, str | PathLike) else node


@contextmanager
def _file_of_units(node: AnyNode) -> Iterator[None]:
    """Puts the file of the compute units on a DeadlockError of tasks that never fit into one."""
    try:
        yield
    except DeadlockError as error:
        if isinstance(node, Node) and node.name in library.names("node"):
            node = node.name
        loaded = _opened(node)
        if not isinstance(loaded, LoadedNode) or "compute_units" not in str(error):
            raise
        leaf = loaded.provenance[REGISTERS]
        raise DeadlockError(error.waiting, f"{leaf.file}:{leaf.line}") from None


def _plain(node: Node | LoadedNode) -> Node:
    return node.node if isinstance(node, LoadedNode) else node


def _name_or_path(value: str | PathLike[str]) -> str | Path:
    """Text may be a name or a path; anything else is a path."""
    return value if isinstance(value, str) else Path(value)
