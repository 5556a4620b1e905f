"""The Python interface: run a workload, compare strategies, explain a run, run a study.

Names, paths and loaded models are all accepted. Bad input raises InputError or InputErrors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.loading import (
    LoadedIteration,
    LoadedNode,
    LoadedWorkload,
    is_iteration,
    load_hardware,
    open_iteration,
    open_workload,
    with_model,
)
from c3sim.input.paths import set_value
from c3sim.result import Result
from c3sim.specs.hardware import Node
from c3sim.specs.iteration import Iteration
from c3sim.specs.workload import Workload
from c3sim.strategies.best import best_candidate
from c3sim.strategies.table import STRATEGIES

if TYPE_CHECKING:
    from c3sim.evaluation.explanation import Explanation
    from c3sim.studies.kind import Progress, StudyResult

__all__ = ["compare", "explain", "prepare", "run", "study"]

AnyNode = Node | LoadedNode | str | PathLike[str]
AnyWorkload = Workload | LoadedWorkload | str | PathLike[str]
AnyRun = AnyWorkload | LoadedIteration | Iteration
Settings = Mapping[str, object]


def run(
    workload: AnyRun,
    *,
    node: AnyNode | None = None,
    strategy: str = "as_written",
    set: Settings | None = None,
    trace: bool = False,
) -> Result:
    """One workload under one strategy, on *node* or its own; *set*: values by path. An iteration
    gives an :class:`c3sim.iterations.result.IterationResult`.
    """
    if isinstance(workload, str | PathLike) and _names_iteration(workload):
        workload = open_iteration(_name_or_path(workload))
    if isinstance(workload, Iteration):
        workload = with_model(workload)
    if isinstance(workload, LoadedIteration):
        from c3sim.iterations.described import run_described

        on = _plain(_opened(workload.iteration.node if node is None else node))
        return run_described(workload, on, strategy=strategy, settings=set or {}, trace=trace)
    model, target = prepare(workload, node, set)
    return evaluate_run(model, target, strategy, trace=trace)


def compare(
    workload: AnyRun,
    *,
    node: AnyNode | None = None,
    strategies: Sequence[str] | str = "all",
    set: Settings | None = None,
) -> list[Result]:
    """The workload under several strategies; ``all``: those that can apply to it."""
    if isinstance(workload, LoadedIteration | Iteration) or _names_iteration(workload):
        return _compare_iteration(workload, node, strategies, set)
    model, target = prepare(workload, node, set)
    if strategies != "all":
        names = strategies.split(",") if isinstance(strategies, str) else strategies
        return [evaluate_run(model, target, name.strip()) for name in names]
    results = []
    for name in STRATEGIES:
        try:
            results.append(evaluate_run(model, target, name))
        except InputError:
            continue
    return results


def _compare_iteration(
    workload: AnyRun,
    node: AnyNode | None,
    strategies: Sequence[str] | str,
    settings: Settings | None,
) -> list[Result]:
    """As :func:`compare`; what it says of single tasks is left out, as there are many."""
    names = strategies.split(",") if isinstance(strategies, str) else strategies
    results = []
    for name in STRATEGIES if strategies == "all" else [name.strip() for name in names]:
        try:
            result = run(workload, node=node, strategy=name, set=settings)
        except (InputError, InputErrors):
            if strategies != "all":
                raise
            continue
        results.append(replace(result, tasks={}))
    return results


def _names_iteration(workload: object) -> bool:
    return isinstance(workload, str | PathLike) and is_iteration(_name_or_path(workload))


def explain(
    workload: AnyWorkload,
    *,
    node: AnyNode | None = None,
    strategy: str = "as_written",
    set: Settings | None = None,
) -> Explanation:
    """Where the time of each task went: its slowdown split by cause."""
    from c3sim.evaluation.explanation import explain_run

    model, target = prepare(workload, node, set)
    return explain_run(best_candidate(strategy, model, target), target, strategy)


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
) -> StudyResult:
    """A study by name or path; *node* and *strategies* replace its own; *set*: values by path, each
    an axis (one value or a list). For the others see :class:`c3sim.studies.Options`.

    The result is that of the study's kind (:mod:`c3sim.studies.kinds`); its ``to_dict()`` is plain
    data.
    """
    from c3sim.input.loading import load_study
    from c3sim.studies import Options, run_study

    loaded = None if node is None else _opened(node)
    options = Options(
        node=None if loaded is None else _plain(loaded),
        provenance=loaded.provenance if isinstance(loaded, LoadedNode) else {},
        strategies=strategies,
        settings=set or {},
        band=band,
        draws=draws,
        n_jobs=n_jobs,
        progress=progress,
    )
    return run_study(load_study(_name_or_path(name_or_path)), options)


def prepare(
    workload: AnyWorkload, node: AnyNode | None, set: Settings | None = None
) -> tuple[Workload, Node]:
    """Models of both, with the settings applied, checked against each other."""
    if _names_iteration(workload):
        raise InputError(f"{str(workload)!r} is an iteration; run and compare take it")
    if isinstance(workload, str | PathLike):
        workload = open_workload(_name_or_path(workload))
    model = workload.workload if isinstance(workload, LoadedWorkload) else workload
    target = _plain(_opened(model.node if node is None else node))
    for path, value in (set or {}).items():
        target, model = set_value(target, model, path, value)
    if isinstance(workload, LoadedWorkload) and not set:
        workload.check_on(target)  # its errors have file and line
    else:
        check_on_node(model, target)
    return model, target


def _opened(node: AnyNode) -> Node | LoadedNode:
    return load_hardware(_name_or_path(node)) if isinstance(node, str | PathLike) else node


def _plain(node: Node | LoadedNode) -> Node:
    return node.node if isinstance(node, LoadedNode) else node


def _name_or_path(value: str | PathLike[str]) -> str | Path:
    """Text may be a name or a path; anything else is a path."""
    return value if isinstance(value, str) else Path(value)
