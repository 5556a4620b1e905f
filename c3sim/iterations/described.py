"""Runs a description with settings by path: of the description, of the node, of every task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c3sim.errors import InputError, InputErrors
from c3sim.input.constraints import with_places
from c3sim.input.loading import LoadedIteration, with_model
from c3sim.input.paths import is_of_workload, set_field, set_value
from c3sim.input.shapes import fields_of
from c3sim.iterations.measure import run_iteration, sample
from c3sim.iterations.result import IterationResult
from c3sim.specs.hardware import Node
from c3sim.specs.iteration import Iteration
from c3sim.specs.workload import Workload
from c3sim.strategies.best import best_candidate

#: Stands for the workload where only the node is set.
_NO_WORKLOAD: Any = {"schema": 1, "name": "none", "tasks": {"none": {"kind": "host", "time": 0.0}}}


def run_described(
    loaded: LoadedIteration,
    node: Node,
    *,
    strategy: str = "as_written",
    settings: Mapping[str, object],
    trace: bool = False,
    all_layers: bool = False,
) -> IterationResult:
    """*loaded* on *node*. *settings*: fields of the description (``batch``, ``parallel.bucket``),
    values of the node, and of the tasks (``task.NAME.channels``). Raises InputErrors.
    """
    loaded, node, of_tasks = _changed(loaded, node, settings)

    def change(workload: Workload) -> Workload:
        for path, value in of_tasks.items():
            _, workload = set_value(node, workload, path, value)
        if strategy != "as_written":
            workload = best_candidate(strategy, workload, node).workload
        return workload

    with with_places(loaded.file, loaded.places):
        try:
            return run_iteration(
                loaded.iteration,
                loaded.model,
                node,
                strategy=strategy,
                change=change,
                trace=trace,
                all_layers=all_layers,
            )
        except InputError as error:
            raise InputErrors([error]) from None


def sample_described(
    loaded: LoadedIteration, node: Node, settings: Mapping[str, object]
) -> tuple[Workload, Node, float]:
    """A workload of one layer of *loaded* with *settings*, its node, and how many times as much
    :func:`run_described` simulates. Raises InputErrors.
    """
    loaded, node, _ = _changed(loaded, node, settings)
    with with_places(loaded.file, loaded.places):
        try:
            return sample(loaded.iteration, loaded.model, node)
        except InputError as error:
            raise InputErrors([error]) from None


def _changed(
    loaded: LoadedIteration, node: Node, settings: Mapping[str, object]
) -> tuple[LoadedIteration, Node, dict[str, object]]:
    """Both with *settings*, and those of tasks."""
    iteration, of_tasks = loaded.iteration, {}
    for path, value in settings.items():
        if path.split(".")[0] in fields_of(Iteration).keys() - {"node"}:
            iteration = set_field(iteration, path, value)
        elif is_of_workload(path):
            of_tasks[path] = value
        else:
            nothing = Workload.model_validate(_NO_WORKLOAD)
            node, _ = set_value(node, nothing, path, value)
    if iteration is not loaded.iteration:
        with with_places(loaded.file, loaded.places):
            loaded = with_model(iteration, loaded.file, loaded.places)
    return loaded, node, of_tasks
