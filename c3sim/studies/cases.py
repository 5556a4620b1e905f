"""A study's scenarios and axes as workloads on nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TypeVar

from c3sim.errors import InputError
from c3sim.experiments.axes import axis_groups
from c3sim.experiments.setup import kind_of
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.dimensions import check_constraint
from c3sim.input.expressions import parse_expression
from c3sim.input.loading import LoadedStudy, load_hardware
from c3sim.input.paths import get_value, set_value
from c3sim.iterations.described import subject
from c3sim.specs.hardware import Node
from c3sim.specs.study import Scenario, Study
from c3sim.specs.workload import Collective, Gemm, Workload

Task = TypeVar("Task")
MOST_CASES = 100_000  # of a scenario; a sweep takes more


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One point of a study: a workload on a node, and the values of the axes that led to it."""

    name: str
    label: str
    workload: Workload
    node: Node
    point: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class GemmShape:
    m: int
    n: int
    k: int
    dtype: str

    @classmethod
    def of(cls, gemm: Gemm) -> GemmShape:
        return cls(m=gemm.m, n=gemm.n, k=gemm.k, dtype=gemm.dtype)


def study_cases(study: Study, node: Node | None = None) -> list[Case]:
    """Scenarios crossed with axes, the last axis fastest, less what constraints leave out. *node*
    replaces the study's.

    Raises InputError, also where no case is left.
    """
    base_node = node or load_hardware(study.node).node
    try:
        tests = [parse_expression(text) for text in study.constraints]
    except InputError as error:
        raise InputError(error.message, error.path or "constraints") from None
    workloads: dict[str, Workload] = {}
    cases = []
    for scenario in study.scenarios or (Scenario(name=study.name),):
        name = scenario.workload or study.workload
        assert name is not None  # the schema asks for one of them
        if name not in workloads:
            workloads[name] = subject(name, base_node)
            for test in tests:
                check_constraint(test, partial(kind_of, base_node, workloads[name]), {})
        groups = axis_groups(LoadedStudy(study=study), base_node, [workloads[name]])
        points = math.prod(len(group[0].values) for group in groups)
        if points > MOST_CASES:
            raise InputError(f"{points} points; must be at most {MOST_CASES}", "axes")
        for places in product(*(range(len(group[0].values)) for group in groups)):
            point = {
                axis.written: axis.texts[place]
                for group, place in zip(groups, places, strict=True)
                for axis in group
            }
            case = _case(study, scenario, base_node, workloads[name], point)
            if all(test.value(partial(_value, case, scenario.name)) for test in tests):
                cases.append(case)
    if not cases:
        raise InputError(f"study {study.name!r}: every case is left out", "constraints")
    return cases


def _value(case: Case, scenario: str, name: str) -> object:
    """What an expression asks of a case."""
    if name == "strategy":
        raise InputError(
            "all strategies of a case are run together; 'c3sim sweep' takes constraints on it",
            "constraints",
        )
    return scenario if name == "scenario" else get_value(case.node, case.workload, name)


def _case(
    study: Study, scenario: Scenario, node: Node, workload: Workload, point: Mapping[str, object]
) -> Case:
    with located(study, scenario):
        for path, value in {**scenario.set, **point}.items():
            node, workload = set_value(node, workload, path, value)
        check_on_node(workload, node)
    name = case_name(scenario, point)
    return Case(name=name, label=scenario.label, workload=workload, node=node, point=point)


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


def gemm_of(case: Case) -> tuple[str, Gemm]:
    """Name and task of the one GEMM of a case. Raises InputError when it has none or several."""
    return _only(case, Gemm, "GEMMs")


def collective_of(case: Case) -> tuple[str, Collective]:
    """Name and task of the one collective. Raises InputError when it has none or several."""
    return _only(case, Collective, "collectives")


def _only(case: Case, kind: type[Task], what: str) -> tuple[str, Task]:
    tasks = [(name, task) for name, task in case.workload.tasks.items() if isinstance(task, kind)]
    if len(tasks) != 1:
        message = f"scenario {case.name!r} has {len(tasks)} {what}; a study of its kind needs one"
        raise InputError(message)
    return tasks[0]
