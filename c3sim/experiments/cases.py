"""Scenarios crossed with axes: workloads on nodes, each a case of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from c3sim.errors import InputError, InputErrors
from c3sim.experiments.axes import Axis, Grid
from c3sim.experiments.plan import plan_of
from c3sim.experiments.points import PointRunner
from c3sim.experiments.setup import make_setup
from c3sim.spec.base import Spec
from c3sim.spec.hardware import Node
from c3sim.spec.reading.expressions import parse_expression
from c3sim.spec.reading.loading import LoadedStudy, load_node
from c3sim.spec.reading.mistakes import checked
from c3sim.spec.reading.paths import set_value
from c3sim.spec.study import Range, Scenario, Study
from c3sim.spec.workload import Collective, Gemm, HostTask, Workload

Task = TypeVar("Task")
Entry = TypeVar("Entry", bound=Spec)
MOST_CASES = 100_000  # of a study; a sweep takes more
#: Stands where paths of a node are resolved and there is no workload.
NONE = Workload(schema_version=1, name="none", tasks={"none": HostTask(kind="host", time=0.0)})


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One point of a study: a workload on a node, the values of the axes that led to it, the
    *strategies* to run it under and the *outputs* that are asked for.
    """

    name: str
    label: str
    workload: Workload
    node: Node
    scenario: str = ""
    point: Mapping[str, Any] = field(default_factory=dict)
    strategies: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def workload_cases(
    study: Study | LoadedStudy, node: Node | None = None, *, some: bool = False
) -> list[Case]:
    """The points of *study* with their strategies, in the order of a sweep; *node* replaces its
    own. *some*: a constraint may leave a case some of the strategies.

    Raises InputError, also where no case is left.
    """
    loaded = LoadedStudy(study=study) if isinstance(study, Study) else study
    setup = make_setup(loaded, node, of_points=False)
    named = any("strategy" in parse_expression(text).names for text in loaded.study.constraints)
    if named and not some:
        message = "this kind of study compares all strategies of a case; none can be left out"
        raise loaded.error(message, "constraints")
    plan, runner = plan_of(loaded, setup), PointRunner(setup)
    points: dict[tuple[int, ...], list[int]] = {}
    for number, indices in enumerate(plan.indices):
        points.setdefault(indices[:-1], []).append(number)
    if len(points) > MOST_CASES:
        raise loaded.error(f"{len(points)} cases; must be at most {MOST_CASES}", "axes")
    scenarios = {each.name: each for each in loaded.study.scenarios}
    cases = []
    for number, *others in points.values():
        point, texts = plan.point(number), plan.texts(plan.indices[number])
        scenario = scenarios.get(point.scenario, Scenario(name=point.scenario))
        with located(loaded.study, scenario):
            workload, case_node = runner.models(point.scenario, point.settings)
        cases.append(
            Case(
                name=case_name(scenario, texts),
                label=scenario.label,
                workload=workload,
                node=case_node,
                scenario=scenario.name,
                point=texts,
                strategies=tuple(plan.point(each).strategy for each in (number, *others)),
                outputs=setup.outputs,
            )
        )
    return cases


def listed(study: Study, what: str) -> Iterator[tuple[Scenario, dict[str, Any]]]:
    """Scenarios crossed with axes of listed values, the last fastest, of a study of *what*: those
    that have no points of a workload.
    """
    axes = {path: values for path, values in study.axes.items() if not isinstance(values, Range)}
    if len(axes) < len(study.axes) or study.linked or study.constraints or study.costs:
        raise InputError(
            f"a study of {what} has axes of listed values; ranges, linked, constraints and costs"
            " are for workloads",
            "axes",
        )
    scenarios = study.scenarios or (Scenario(name=study.name),)
    groups = tuple((Axis.as_written(path, values),) for path, values in axes.items())
    grid = Grid(scenarios=tuple(each.name for each in scenarios), groups=groups)
    for place in grid.places():
        yield scenarios[place[0]], grid.texts(place)


def rows_of(study: Study, row: type[Entry]) -> list[Entry]:
    """The table of *study*, each line as a *row*. Raises InputErrors."""
    return [_as(row, line, f"table[{number}]") for number, line in enumerate(study.table)]


def assumed(study: Study, entry: type[Entry]) -> Entry:
    """The assumptions of *study*, without their reasons, as an *entry*. Raises InputErrors."""
    said = {name: each for name, each in study.assumptions.items() if not name.endswith("_why")}
    return _as(entry, said, "assumptions")


def _as(entry: type[Entry], data: Mapping[str, Any], path: str) -> Entry:
    try:
        return checked(entry, data)
    except InputErrors as error:
        raise InputErrors(
            InputError(each.message, f"{path}.{each.path}" if each.path else path)
            for each in error.errors
        ) from None


@contextmanager
def located(study: Study, scenario: Scenario) -> Iterator[None]:
    """Puts study and scenario on the InputErrors raised inside."""
    try:
        yield
    except InputError as error:
        where = f"study {study.name!r}, scenario {scenario.name!r}"
        raise InputError(f"{error.message} ({where})", error.path, error.file, error.line) from None


def case_name(scenario: Scenario, point: Mapping[str, object]) -> str:
    return scenario.name + "".join(f", {path}={value}" for path, value in point.items())


def node_of(study: Study, node: Node | None = None, *, but: str = "") -> Node:
    """*node*, or the study's, with the values of its axes; those that begin with *but* are others'.
    Raises InputError: an axis of several values.
    """
    found = node or load_node(study.node)
    for path, values in study.axes.items():
        if but and path.startswith(but):
            continue
        if isinstance(values, Range) or len(values) != 1:
            raise InputError("a study of this kind takes one value of the node for each path", path)
        found, _ = set_value(found, NONE, path, values[0])
    return found


def gemm_of(case: Case) -> tuple[str, Gemm]:
    """Name and task of the one GEMM of a case. Raises InputError when it has none or several."""
    return _only(case, Gemm, "GEMMs")


def collective_of(case: Case) -> tuple[str, Collective]:
    """Name and task of the one collective. Raises InputError when it has none or several."""
    return _only(case, Collective, "collectives")


def shape_of(gemm: Gemm) -> dict[str, Any]:
    return {"m": gemm.m, "n": gemm.n, "k": gemm.k, "dtype": gemm.dtype}


def _only(case: Case, kind: type[Task], what: str) -> tuple[str, Task]:
    tasks = [(name, task) for name, task in case.workload.tasks.items() if isinstance(task, kind)]
    if len(tasks) != 1:
        message = f"scenario {case.name!r} has {len(tasks)} {what}; a study of its kind needs one"
        raise InputError(message)
    return tasks[0]
