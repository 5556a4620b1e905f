"""What all points of a study share, from its file: node, workloads, outputs, expressions. Mistakes
are told with their line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from c3sim.errors import InputError
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.dimensions import TRUTH, WORDS, check_constraint
from c3sim.input.expressions import Expression, parse_expression
from c3sim.input.hints import unknown
from c3sim.input.loading import LoadedStudy, load_hardware, load_workload
from c3sim.input.paths import get_value, is_of_workload, set_value, unit_of
from c3sim.input.yaml_nodes import join
from c3sim.specs.hardware import Node
from c3sim.specs.study import WITH_POINTS, Scenario
from c3sim.specs.workload import Workload
from c3sim.strategies.table import STRATEGIES
from c3sim.sweeps.outputs import FIELDS, output_names
from c3sim.sweeps.points import Setup

Found = TypeVar("Found")
_COLUMNS = ("point", "scenario", "strategy", "error")


def make_setup(loaded: LoadedStudy, node: Node | None = None) -> Setup:
    """Node, workloads and outputs of a study. Raises InputError or InputErrors, with file and line."""
    study = loaded.study
    if study.serving is not None:
        message = "a study of serving has no points of a workload; 'c3sim study' runs it"
        raise loaded.error(message, "serving")
    if study.kind not in WITH_POINTS:
        message = f"a study of kind {study.kind!r} has no points of its own; 'c3sim study' runs it"
        raise loaded.error(message, "kind")
    _check_names(loaded)
    base = node or located(loaded, "node", partial(_node, study.node))
    files: dict[str, Workload] = {}
    workloads: dict[str, Workload] = {}
    settings: dict[str, dict[str, object]] = {}
    for index, scenario in enumerate(study.scenarios or (Scenario(name=study.name),)):
        name = scenario.workload or study.workload
        assert name is not None  # the schema asks for one of them
        where = f"scenarios[{index}].workload" if scenario.workload else "workload"
        if name not in files:
            files[name] = located(loaded, where, partial(load_workload, name))
        workload, on = files[name], base
        for path, value in scenario.set.items():
            place = join(f"scenarios[{index}].set", path)
            on, workload = located(loaded, place, partial(set_value, on, workload, path, value))
        located(loaded, f"scenarios[{index}]", partial(check_on_node, workload, on))
        if scenario.name in workloads:
            raise loaded.error(f"name {scenario.name!r} is given twice", f"scenarios[{index}].name")
        workloads[scenario.name] = workload
        settings[scenario.name] = {
            path: v for path, v in scenario.set.items() if not is_of_workload(path)
        }
    _check_costs(loaded)
    every = list(workloads.values())
    outputs = located(loaded, "", partial(output_names, study.outputs, study.costs, every))
    if not outputs:
        raise loaded.error("no output; name one, such as wall_s or fraction_of_ideal", "outputs")
    setup = Setup(
        node=base, workloads=workloads, settings=settings, outputs=outputs, costs=study.costs
    )
    for name, text in study.costs.items():
        checked_expression(loaded, join("costs", name), text, setup)
    return setup


def _check_names(loaded: LoadedStudy) -> None:
    for index, name in enumerate(loaded.study.strategies):
        if name.partition(":")[0] not in STRATEGIES:
            raise loaded.error(unknown("strategy", name, STRATEGIES), f"strategies[{index}]")
    twice = [name for name in loaded.study.strategies if loaded.study.strategies.count(name) > 1]
    if twice:
        raise loaded.error(f"{twice[0]!r} is given twice", "strategies")


def _check_costs(loaded: LoadedStudy) -> None:
    for name in loaded.study.costs:
        if name in FIELDS or name in _COLUMNS or "." in name:
            message = f"{name!r} is taken, or has a dot; choose another name"
            raise loaded.error(message, join("costs", name))


def located(loaded: LoadedStudy, place: str, call: Callable[[], Found]) -> Found:
    """What *call* returns; an InputError without file gets the line of *place*."""
    try:
        return call()
    except InputError as error:
        if error.file:
            raise
        told = not place or not error.path or error.path in place
        message = error.message if told else f"{error.path}: {error.message}"
        raise loaded.error(message, place or error.path) from None


def checked_expression(loaded: LoadedStudy, place: str, text: str, setup: Setup) -> Expression:
    """The expression *text*, whose every name leads to a value of the first scenario."""

    def check() -> Expression:
        expression = parse_expression(text)
        workload = next(iter(setup.workloads.values()))
        for name in expression.names:
            if name not in ("scenario", "strategy"):
                get_value(setup.node, workload, name)
        return expression

    return located(loaded, place, check)


def checked_constraint(
    loaded: LoadedStudy, place: str, text: str, setup: Setup, values: Mapping[str, Sequence[object]]
) -> Expression:
    """As :func:`checked_expression`; it must also compare like with like. *values*: of names that
    hold words.
    """
    expression = checked_expression(loaded, place, text, setup)
    workload = next(iter(setup.workloads.values()))
    located(
        loaded,
        place,
        partial(check_constraint, expression, partial(kind_of, setup.node, workload), values),
    )
    return expression


def kind_of(node: Node, workload: Workload, name: str) -> str | None:
    """The SI unit of the value at *name*, or what else it holds; None where it holds nothing now,
    or several values.
    """
    if name in ("scenario", "strategy"):
        return WORDS
    value, unit = get_value(node, workload, name), unit_of(node, workload, name)
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, str):
        return WORDS
    return unit if unit or isinstance(value, int | float) else None


def _node(name: str) -> Node:
    return load_hardware(name).node
