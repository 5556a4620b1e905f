"""A study as the ordered list of its points: scenarios, axes (the last one fastest), strategies.

The order never depends on who runs the points. All mistakes of the study are found here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.effort import Effort
from c3sim.experiments.axes import MOST, Axis, axis_groups
from c3sim.experiments.jobs import Workers
from c3sim.experiments.outputs import describe
from c3sim.experiments.points import PointRunner, Settings
from c3sim.experiments.setup import (
    Setup,
    checked_constraints,
    code_hash,
    hash_of,
    located,
    make_setup,
)
from c3sim.iterations.effort import effort_of
from c3sim.spec.hardware import Node
from c3sim.spec.reading.loading import LoadedStudy, open_study
from c3sim.spec.study import Study

FORMAT = 1  # of the metadata of results
# Parts of a study that decide no number, or, as the models, have a hash of their own.
_NOT_HASHED = ("models", "description", "source", "published", "search")


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the order, and what is to be run."""

    number: int
    scenario: str
    strategy: str
    settings: Settings


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The points of a *study*: *indices* of each (scenario, axis groups, strategy).

    *left_out* points break a constraint.
    """

    study: Study
    setup: Setup
    scenarios: tuple[str, ...]
    groups: tuple[tuple[Axis, ...], ...]
    strategies: tuple[str, ...]
    indices: tuple[tuple[int, ...], ...]
    left_out: int

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(axis for group in self.groups for axis in group)

    @property
    def numeric(self) -> dict[str, bool]:
        """Path of each axis -> whether its column holds numbers."""
        return {axis.path: axis.numeric for axis in self.axes}

    def point(self, number: int) -> Point:
        scenario, *places, strategy = self.indices[number]
        settings = _settings(self.groups, places)
        return Point(number, self.scenarios[scenario], self.strategies[strategy], settings)

    def texts(self, number: int) -> dict[str, Any]:
        """Values of the axes of a point as the file has them."""
        _, *places, _ = self.indices[number]
        return {
            axis.written: axis.texts[place]
            for group, place in zip(self.groups, places, strict=True)
            for axis in group
        }

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The study as plain data: values in SI units, ranges written out, models included."""
        labels = {scenario.name: scenario.label for scenario in self.study.scenarios}
        values = [{axis.path: list(axis.values) for axis in group} for group in self.groups]
        return {
            **self.study.model_dump(mode="json", by_alias=True, exclude={"published"}),
            "scenarios": [{"name": name, "label": labels.get(name, "")} for name in self.scenarios],
            "axes": {path: v for group in values if len(group) == 1 for path, v in group.items()},
            "linked": [group for group in values if len(group) > 1],
            "paths": [axis.path for axis in self.axes],
            "outputs": list(self.setup.outputs),
            "models": self.setup.models(),
        }

    def metadata(self) -> dict[str, Any]:
        """The metadata of the file of results."""
        return {
            "version": FORMAT,
            "study": self.resolved,
            "node": self.setup.node.name,
            "axes": {axis.path: {"unit": axis.unit, "label": axis.label} for axis in self.axes},
            "outputs": {name: describe(name) for name in self.setup.outputs},
            "left_out": self.left_out,
            "hash": self.hashes["all"],
        }

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Hashes of ``study``, ``node``, ``workloads`` and ``code``, and of ``all`` of them."""
        models = self.resolved["models"]
        study = {key: value for key, value in self.resolved.items() if key not in _NOT_HASHED}
        parts = {
            "study": hash_of([study, models["settings"]]),
            "node": hash_of(models["node"]),
            "workloads": hash_of(models["workloads"]),
            "code": code_hash(),
        }
        return {**parts, "all": hash_of(parts)}


def make_plan(
    name_or_path: str | Path, node: Node | None = None, workers: Workers | None = None
) -> Plan:
    """The plan of a study; *node* replaces its own; *workers* are asked before the points are made.
    Raises InputError(s) with file and line.
    """
    loaded = open_study(name_or_path)
    return plan_of(loaded, make_setup(loaded, node), workers)


def plan_of(loaded: LoadedStudy, setup: Setup, workers: Workers | None = None) -> Plan:
    """The plan of *loaded*, whose points share *setup*."""
    study = loaded.study
    groups = axis_groups(loaded, setup.node, list(setup.workloads.values()))
    sizes = [len(setup.workloads), *(len(group[0].values) for group in groups)]
    sizes.append(len(study.strategies))
    total = math.prod(sizes)
    if total > MOST:
        raise loaded.error(f"{total} points; must be at most {MOST}", "axes")
    if workers is not None:
        workers.ask(_effort(setup, groups), total)
    indices: Iterable[tuple[int, ...]] = product(*map(range, sizes))
    if study.constraints:
        indices = _allowed(loaded, setup, groups, indices)
    indices = tuple(indices)
    if not indices:
        raise loaded.error(f"no point is left of {total}; loosen the constraints", "constraints")
    return Plan(
        study=study,
        setup=setup,
        scenarios=tuple(setup.workloads),
        groups=groups,
        strategies=study.strategies,
        indices=indices,
        left_out=total - len(indices),
    )


def _effort(setup: Setup, groups: tuple[tuple[Axis, ...], ...]) -> Effort:
    """The effort of one point: the mean between the first and the last values of the axes."""
    runner, found = PointRunner(setup), [setup.effort()]
    for place in (0, -1) if groups else ():
        settings = _settings(groups, [place] * len(groups))
        for scenario in setup.workloads:
            with suppress(InputError, InputErrors):  # values that exclude each other
                found.append(effort_of(*runner.models(scenario, settings)))
    return Effort.mean(found)


def _allowed(
    loaded: LoadedStudy,
    setup: Setup,
    groups: tuple[tuple[Axis, ...], ...],
    every: Iterable[tuple[int, ...]],
) -> Iterable[tuple[int, ...]]:
    """Points out of *every* one that keep all constraints."""
    scenarios, strategies = tuple(setup.workloads), loaded.study.strategies
    words: dict[str, tuple[object, ...]] = {"scenario": scenarios, "strategy": strategies}
    for axis in (axis for group in groups for axis in group if not axis.numeric):
        words |= {axis.path: axis.values, axis.written: axis.values}
    constraints = checked_constraints(loaded, setup, words)
    runner = PointRunner(setup)

    def allowed(indices: tuple[int, ...]) -> bool:
        scenario, *places, strategy = indices
        values = (scenarios[scenario], strategies[strategy], _settings(groups, places))
        for index, constraint in enumerate(constraints):
            with located(loaded, f"constraints[{index}]"):
                if not runner.holds(constraint, *values):
                    return False
        return True

    return filter(allowed, every)


def _settings(groups: tuple[tuple[Axis, ...], ...], places: Sequence[int]) -> Settings:
    """Paths and values of a point, in the order of the axes."""
    return tuple(
        (axis.path, axis.values[place])
        for group, place in zip(groups, places, strict=True)
        for axis in group
    )


def point_row(point: Point, numeric: Mapping[str, bool]) -> dict[str, Any]:
    """The columns that say which point it is. *numeric*: paths whose column holds numbers."""
    values = {path: column_value(value, numeric[path]) for path, value in point.settings}
    return {"point": point.number, **values, "scenario": point.scenario, "strategy": point.strategy}


def column_value(value: Any, numeric: bool) -> Any:
    """*value* as its column holds it: a number, or text; lists are JSON."""
    return value if numeric or value is None or isinstance(value, str) else json.dumps(value)
