"""The setup that all points of a study share: node, workloads, settings, outputs and costs, checked
once; and the hashes that tell one sweep from another, of its data and of the code that it runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from c3sim.errors import InputError
from c3sim.evaluation.effort import Effort
from c3sim.evaluation.strategies.table import unknown_strategy
from c3sim.experiments.outputs import FIELDS, ITERATION_FIELDS, WALL, output_names
from c3sim.iterations.described import subject
from c3sim.iterations.effort import effort_of
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.documents import join
from c3sim.spec.reading.expressions import (
    TRUTH,
    WORDS,
    Expression,
    check_constraint,
    parse_expression,
)
from c3sim.spec.reading.loading import LoadedStudy, load_node
from c3sim.spec.reading.paths import get_value, is_of_workload, set_value, unit_of
from c3sim.spec.study import WITH_POINTS, Scenario
from c3sim.spec.workload import Workload

# packages that show results and compute none; and the data folders, which a wheel has inside the
# package and a checkout beside it (data that a result depends on have hashes of their own)
_NO_PART = ("cli", "output", "hwmodels", "validation", "workloads")


def hash_of(data: Any) -> str:
    """The hash of plain data, whatever the order of its mappings."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


@cache
def code_hash() -> str:
    """The hash of every Python file of the package that a result can depend on."""
    return hash_of_code(Path(__file__).parent.parent)


def hash_of_code(root: Path) -> str:
    """The same of the package in the folder *root*, whether a wheel or a checkout."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root)
        if inner.parts[0] not in _NO_PART:
            digest.update(inner.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


OF_WALL = 2 / 3  # of the time of an iteration that finds nothing but its wall time, at most
OF_LOOK = 0.45  # of that: a first look simulates half of the layers
_COLUMNS = ("point", "scenario", "strategy", "error")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The *node*, and each scenario's workload, changed already, and *settings* of the node.

    *outputs* are the columns of a row, *costs* expressions by name; *looks*: the wall time of an
    iteration is that of a first look at it (:mod:`c3sim.iterations.glance`). Plain data, because it
    is sent to other processes.
    """

    node: Node
    workloads: Mapping[str, Workload]
    settings: Mapping[str, Mapping[str, Any]]
    outputs: tuple[str, ...]
    costs: Mapping[str, str] = field(default_factory=dict)
    looks: bool = False

    def effort(self, strategy: str = "as_written") -> Effort:
        """The effort of one point under *strategy*, as the mean over the scenarios."""
        several = self.workloads.values()
        whole = Effort.mean(effort_of(each, self.node, strategy) for each in several)
        steps = any(isinstance(each, Described) for each in self.workloads.values())
        share = OF_WALL if steps and self.wall_only else 1.0
        share *= OF_LOOK if self.looks else 1.0
        return replace(whole, seconds=share * whole.seconds)

    @property
    def wall_only(self) -> bool:
        """True if nothing but the wall time of a point is asked for."""
        return set(self.outputs) == {WALL}

    @property
    def identity(self) -> str:
        """A hash of all of it: batches of one setup may share what a process keeps."""
        return hash_of([self.models(), self.outputs, dict(self.costs), self.looks])

    def models(self) -> dict[str, Any]:
        """The models as plain data for a file of results: what a point needs to be run again."""
        return {
            "node": self.node.model_dump(mode="json", by_alias=True),
            "workloads": {
                name: workload.model_dump(mode="json", by_alias=True)
                for name, workload in self.workloads.items()
            },
            "settings": {name: dict(values) for name, values in self.settings.items()},
        }


def make_setup(loaded: LoadedStudy, node: Node | None = None, *, of_points: bool = True) -> Setup:
    """The setup of a study; *node* replaces its own; *of_points*: it has points of its own, with
    outputs. Raises InputError(s) with file and line.
    """
    study = loaded.study
    if study.serving is not None:
        message = "a study of serving has no points of a workload; 'c3sim study' runs it"
        raise loaded.error(message, "serving")
    if of_points and study.kind not in WITH_POINTS:
        message = f"a study of kind {study.kind!r} has no points of its own; 'c3sim study' runs it"
        raise loaded.error(message, "kind")
    _check_strategies(loaded)
    if node is None:
        with located(loaded, "node"):
            node = load_node(study.node)
    workloads, settings = _scenarios(loaded, node)
    for name in study.costs:
        if name in FIELDS or name in ITERATION_FIELDS or name in _COLUMNS or "." in name:
            message = f"{name!r} is taken, or has a dot; choose another name"
            raise loaded.error(message, join("costs", name))
    with located(loaded, ""):
        outputs = output_names(study.outputs, study.costs, list(workloads.values()))
    if not outputs:
        raise loaded.error("no output; name one, such as wall_s or fraction_of_ideal", "outputs")
    setup = Setup(
        node=node, workloads=workloads, settings=settings, outputs=outputs, costs=study.costs
    )
    for name, text in study.costs.items():
        checked_expression(loaded, join("costs", name), text, setup)
    return setup


def _check_strategies(loaded: LoadedStudy) -> None:
    strategies = loaded.study.strategies
    for index, name in enumerate(strategies):
        if mistake := unknown_strategy(name):
            raise loaded.error(mistake, f"strategies[{index}]")
    repeated = [name for name in strategies if strategies.count(name) > 1]
    if repeated:
        raise loaded.error(f"{repeated[0]!r} is given twice", "strategies")


def _scenarios(
    loaded: LoadedStudy, base: Node
) -> tuple[dict[str, Workload], dict[str, dict[str, object]]]:
    """The workload of each scenario with its changes, and its settings of the node."""
    study = loaded.study
    files: dict[str, Workload] = {}
    workloads: dict[str, Workload] = {}
    settings: dict[str, dict[str, object]] = {}
    for index, scenario in enumerate(study.scenarios or (Scenario(name=study.name),)):
        name = scenario.workload or study.workload
        assert name is not None  # the schema asks for one of them
        if name not in files:
            place = f"scenarios[{index}].workload" if scenario.workload else "workload"
            with located(loaded, place):
                files[name] = subject(name, base)
        workload, node = files[name], base
        for path, value in scenario.set.items():
            with located(loaded, join(f"scenarios[{index}].set", path)):
                node, workload = set_value(node, workload, path, value)
        with located(loaded, f"scenarios[{index}]"):
            check_on_node(workload, node)
        if scenario.name in workloads:
            raise loaded.error(f"name {scenario.name!r} is given twice", f"scenarios[{index}].name")
        workloads[scenario.name] = workload
        settings[scenario.name] = {
            path: value for path, value in scenario.set.items() if not is_of_workload(path)
        }
    return workloads, settings


@contextmanager
def located(loaded: LoadedStudy, place: str) -> Iterator[None]:
    """Within it, an InputError without a file gets the file, and the line of *place*."""
    try:
        yield
    except InputError as error:
        if error.file:
            raise
        named = not place or not error.path or error.path in place
        message = error.message if named else f"{error.path}: {error.message}"
        raise loaded.error(message, place or error.path) from None


def checked_expression(loaded: LoadedStudy, place: str, text: str, setup: Setup) -> Expression:
    """The expression *text*; its names are values of the first scenario. Raises InputError."""
    workload = next(iter(setup.workloads.values()))
    with located(loaded, place):
        expression = parse_expression(text)
        for name in expression.names:
            if name not in ("scenario", "strategy"):
                get_value(setup.node, workload, name)
    return expression


def checked_constraints(
    loaded: LoadedStudy, setup: Setup, words: Mapping[str, Sequence[object]]
) -> list[Expression]:
    """The constraints of a study, each of which compares values of one unit. Raises InputError.

    *words*: values of the names that hold words.
    """
    workload = next(iter(setup.workloads.values()))
    constraints = []
    for index, text in enumerate(loaded.study.constraints):
        place = f"constraints[{index}]"
        constraint = checked_expression(loaded, place, text, setup)
        with located(loaded, place):
            check_constraint(constraint, partial(kind_of, setup.node, workload), words)
        constraints.append(constraint)
    return constraints


def kind_of(node: Node, workload: Workload, name: str) -> str | None:
    """The SI unit of the value at *name*, or WORDS, or TRUTH; None for no value or several."""
    if name in ("scenario", "strategy"):
        return WORDS
    value, unit = get_value(node, workload, name), unit_of(node, workload, name)
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, str):
        return WORDS
    return unit if unit or isinstance(value, int | float) else None
