"""A study as the ordered list of its points: scenarios, axes (the last one fastest), strategies.

The order never depends on who runs the points. All mistakes of the study are found here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from c3sim.errors import InputError, InputErrors
from c3sim.evaluation.effort import Effort
from c3sim.experiments.axes import MOST, Grid, Settings, axis_groups
from c3sim.experiments.jobs import Workers
from c3sim.experiments.outputs import describe
from c3sim.experiments.points import PointRunner
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
class Plan(Grid):
    """The points of a *study*: *indices* are those of its places that keep all constraints.

    *left_out* of them do not.
    """

    study: Study
    setup: Setup
    indices: tuple[tuple[int, ...], ...]
    left_out: int

    @property
    def numeric(self) -> dict[str, bool]:
        """Path of each axis -> whether its column holds numbers."""
        return {axis.path: axis.numeric for axis in self.axes}

    def point(self, number: int) -> Point:
        return Point(number, *_named(self, self.indices[number]))

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
    grid = Grid(
        scenarios=tuple(setup.workloads),
        groups=axis_groups(loaded, setup.node, list(setup.workloads.values())),
        strategies=study.strategies,
    )
    total = grid.size
    if total > MOST:
        raise loaded.error(f"{total} points; must be at most {MOST}", "axes")
    if workers is not None:
        workers.ask(_effort(setup, grid), total)
    indices = tuple(_allowed(loaded, setup, grid) if study.constraints else grid.places())
    if not indices:
        raise loaded.error(f"no point is left of {total}; loosen the constraints", "constraints")
    left_out = total - len(indices)
    return Plan(**vars(grid), study=study, setup=setup, indices=indices, left_out=left_out)


def _effort(setup: Setup, grid: Grid) -> Effort:
    """The effort of one point: the mean between the first and the last values of the axes."""
    runner, found = PointRunner(setup), [setup.effort()]
    for place in (0, -1) if grid.groups else ():
        settings = grid.settings([0, *(place for _ in grid.groups), 0])
        for scenario in grid.scenarios:
            with suppress(InputError, InputErrors):  # values that exclude each other
                found.append(effort_of(*runner.models(scenario, settings)))
    return Effort.mean(found)


def _allowed(loaded: LoadedStudy, setup: Setup, grid: Grid) -> Iterator[tuple[int, ...]]:
    """Places of *grid* that keep all constraints."""
    words: dict[str, tuple[object, ...]] = {"scenario": grid.scenarios, "strategy": grid.strategies}
    for axis in grid.axes:
        if not axis.numeric:
            words |= {axis.path: axis.values, axis.written: axis.values}
    constraints = checked_constraints(loaded, setup, words)
    runner = PointRunner(setup)

    def allowed(place: tuple[int, ...]) -> bool:
        for index, constraint in enumerate(constraints):
            with located(loaded, f"constraints[{index}]"):
                if not runner.holds(constraint, *_named(grid, place)):
                    return False
        return True

    return filter(allowed, grid.places())


def _named(grid: Grid, place: tuple[int, ...]) -> tuple[str, str, Settings]:
    """Scenario, strategy and settings at *place*."""
    return grid.scenarios[place[0]], grid.strategies[place[-1]], grid.settings(place)


def point_row(point: Point, numeric: Mapping[str, bool]) -> dict[str, Any]:
    """The columns that say which point it is. *numeric*: paths whose column holds numbers."""
    values = {path: column_value(value, numeric[path]) for path, value in point.settings}
    return {"point": point.number, **values, "scenario": point.scenario, "strategy": point.strategy}


def column_value(value: Any, numeric: bool) -> Any:
    """*value* as its column holds it: a number, or text; lists are JSON."""
    return value if numeric or value is None or isinstance(value, str) else json.dumps(value)
