"""A study's scenarios and axes as iterations on nodes.

What a scenario sets are fields of the description (``tokens``, ``parallel.bucket``; whole ones in
their braces, as in its file), of its model (``model: {hidden: 2048}``: these, the rest as it is),
of the node and of the tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeVar

from pydantic import BaseModel

from c3sim.errors import InputError
from c3sim.evaluation.effort import Effort
from c3sim.experiments.cases import NONE, case_name, listed, located
from c3sim.iterations.build import Plan, plan
from c3sim.iterations.effort import effort_of_iteration
from c3sim.iterations.measure import result_of
from c3sim.iterations.measured import measure
from c3sim.iterations.memory import memory_bytes
from c3sim.iterations.result import IterationResult
from c3sim.spec.fields import annotation_of, fields_of
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Iteration
from c3sim.spec.reading.loading import LoadedIteration, open_iteration, with_field, with_model
from c3sim.spec.reading.mistakes import checked, convert
from c3sim.spec.reading.paths import is_of_workload, set_value
from c3sim.spec.study import Scenario, Study
from c3sim.spec.words import unknown
from c3sim.spec.workload import Workload

Model = TypeVar("Model", bound=BaseModel)


WORTH = 4  # cases of about a second from which other processes pay


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationCase:
    """One point of a study: the description *loaded* on *node*, with values of its *tasks* by path.
    *file*: the description's name.
    """

    name: str
    file: str
    loaded: LoadedIteration
    node: Node
    tasks: Mapping[str, object] = field(default_factory=dict)

    def planned(self) -> Plan:
        return plan(self.loaded.iteration, self.loaded.model, self.node)

    def change(self, workload: Workload) -> Workload:
        """*workload*, one of those that are simulated, with the values of its tasks."""
        for path, value in self.tasks.items():
            _, workload = set_value(self.node, workload, path, value)
        return workload

    def run(self) -> IterationResult:
        """Raises InputError with the name of the case."""
        loaded = self.loaded
        try:
            measured = measure(loaded.iteration, loaded.model, self.node, change=self.change)
            return result_of(measured, "as_written")
        except InputError as error:
            where = f"{self.name} on {self.node.name}"
            raise InputError(f"{error.message} ({where})", error.path) from None

    def with_fields(self, **fields: object) -> IterationCase:
        """With these fields of the description; *layers* None: all, with embedding and head."""
        iteration = self.loaded.iteration.changed(**fields)
        return replace(self, loaded=replace(self.loaded, iteration=iteration))


def iteration_cases(study: Study, nodes: Sequence[Node]) -> list[IterationCase]:
    """Nodes, iterations, scenarios and axes, crossed, the last fastest. A scenario that asks for
    more GPUs or channels than a node has is left out there. Raises InputError.
    """
    points = list(listed(study, "iterations"))
    descriptions = {name: open_iteration(name) for name in study.iterations}
    cases = []
    for node, (file, loaded), (scenario, point) in product(nodes, descriptions.items(), points):
        if not _asks_for_more(scenario, node):
            name = case_name(scenario, point)
            case = IterationCase(name=name, file=file, loaded=loaded, node=node)
            with located(study, scenario):
                cases.append(_with(case, {**scenario.set, **point}))
    return cases


def _asks_for_more(scenario: Scenario, node: Node) -> bool:
    most = {"gpus": node.gpus, "channels": node.collective_library(None).channels.maximum}
    return any(
        isinstance(value, int) and value > most.get(path.rpartition(".")[2], value)
        for path, value in scenario.set.items()
    )


def effort_of_one(case: IterationCase) -> Effort:
    """The effort of one case."""
    return effort_of_iteration(case.planned())


def most_layers(case: IterationCase) -> IterationCase:
    """*case* with as many layers as its GPUs have memory for; all: with embedding and head. Raises
    InputError where not one fits.
    """

    def fits(layers: int | None) -> bool:
        return memory_bytes(case.with_fields(layers=layers).planned()) <= case.node.gpu.hbm.capacity

    if fits(None):
        return case.with_fields(layers=None)
    low, high = 0, case.with_fields(layers=None).planned().layers
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not low:
        raise InputError(f"{case.file}: not one layer fits a GPU of {case.node.name}")
    return case.with_fields(layers=low)


def _with(case: IterationCase, settings: Mapping[str, object]) -> IterationCase:
    """*case* with *settings*, wherever they belong."""
    for path, value in settings.items():
        loaded = _loaded(case.loaded, path, value)
        if loaded is not None:
            case = replace(case, loaded=loaded)
        elif is_of_workload(path):
            case = replace(case, tasks={**case.tasks, path: value})
        else:
            node, _ = set_value(case.node, NONE, path, value)
            case = replace(case, node=node)
    return case


def _loaded(loaded: LoadedIteration, path: str, value: object) -> LoadedIteration | None:
    """*loaded* with *value* at *path* of the description; None: no path of it."""
    if path.split(".")[0] not in fields_of(Iteration).keys() - {"node"}:
        return None
    if isinstance(value, Mapping) and "like" not in value:
        return (
            _with_fields_of_model(loaded, value) if path == "model" else _group(loaded, path, value)
        )
    iteration = with_field(loaded.iteration, path, value)
    if path.split(".")[0] == "model":
        return with_model(iteration)
    return replace(loaded, iteration=iteration)


def _with_fields_of_model(loaded: LoadedIteration, fields: Mapping[str, Any]) -> LoadedIteration:
    known = loaded.model.model_dump(by_alias=True)
    for name in fields:
        if name not in known:
            raise InputError(unknown("field of the model", name, known), f"model.{name}")
    return replace(loaded, model=checked(type(loaded.model), {**known, **fields}))


def _group(loaded: LoadedIteration, name: str, value: Mapping[str, Any]) -> LoadedIteration:
    """The field *name* of the description as its file would have it."""
    si = convert(annotation_of(Iteration, name), value, path=name)
    known = loaded.iteration.model_dump(by_alias=True, exclude_unset=True)
    return replace(loaded, iteration=checked(Iteration, {**known, name: si}))
