"""A study as the list of its points, in an order that never depends on who runs them: scenarios,
axes (the last one fastest), strategies; less those that a constraint leaves out. Everything that
can be wrong is found here, before the work.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

from c3sim.input.loading import LoadedStudy, open_study
from c3sim.specs.hardware import Node
from c3sim.specs.study import Study
from c3sim.sweeps.axes import MOST, Axis, axis_groups
from c3sim.sweeps.identity import code_hash, hash_of
from c3sim.sweeps.outputs import describe
from c3sim.sweeps.points import Cases, Settings, Setup, models_of
from c3sim.sweeps.setup import checked_constraint, located, make_setup

FORMAT = 1  # of the metadata of results
_NO_NUMBERS = (
    "models",
    "description",
    "source",
    "published",
    "search",
)  # words, and what is hashed apart


@dataclass(frozen=True, slots=True)
class Point:
    """Place in the order, and what is to be run."""

    number: int
    scenario: str
    strategy: str
    settings: Settings


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A *study* ready to be run: *indices* of each point (scenario, axis groups, strategy) and how
    many were *left_out*.
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

    def point(self, number: int) -> Point:
        """The point at *number*."""
        scenario, *places, strategy = self.indices[number]
        return Point(
            number,
            self.scenarios[scenario],
            self.strategies[strategy],
            _settings(self.groups, places),
        )

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The study as plain data, nothing left to look up: values counted out in SI units, models
        included.
        """
        given = self.study.model_dump(mode="json", by_alias=True, exclude={"published"})
        return {
            **given,
            "scenarios": [{"name": name, "label": label} for name, label in self._labels()],
            "axes": {
                axis.path: list(axis.values)
                for group in self.groups
                if len(group) == 1
                for axis in group
            },
            "linked": [
                {axis.path: list(axis.values) for axis in group}
                for group in self.groups
                if len(group) > 1
            ],
            "paths": [axis.path for axis in self.axes],
            "outputs": list(self.setup.outputs),
            "models": models_of(self.setup),
        }

    def _labels(self) -> Iterator[tuple[str, str]]:
        labels = {scenario.name: scenario.label for scenario in self.study.scenarios}
        return ((name, labels.get(name, "")) for name in self.scenarios)

    def metadata(self) -> dict[str, Any]:
        """What the file of results says about itself."""
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
        """Of what decides the numbers: ``study``, ``node``, ``workloads``, ``code``; and of ``all``
        of it.
        """
        models = self.resolved["models"]
        study = {key: value for key, value in self.resolved.items() if key not in _NO_NUMBERS}
        parts = {
            "study": hash_of([study, models["settings"]]),
            "node": hash_of(models["node"]),
            "workloads": hash_of(models["workloads"]),
            "code": code_hash(),
        }
        return {**parts, "all": hash_of(parts)}


def make_plan(name_or_path: str | Path, node: Node | None = None) -> Plan:
    """The plan of a study; *node* replaces its own. Raises InputError or InputErrors, with file and
    line.
    """
    loaded = open_study(name_or_path)
    study = loaded.study
    setup = make_setup(loaded, node)
    workloads = list(setup.workloads.values())
    groups = axis_groups(loaded, setup.node, workloads)
    total = math.prod(
        [len(workloads), *(len(group[0].values) for group in groups), len(study.strategies)]
    )
    if total > MOST:
        raise loaded.error(f"{total} points; must be at most {MOST}", "axes")
    scenarios = tuple(setup.workloads)
    every = product(
        range(len(scenarios)),
        *(range(len(group[0].values)) for group in groups),
        range(len(study.strategies)),
    )
    indices = (
        tuple(every) if not study.constraints else _kept(loaded, setup, groups, scenarios, every)
    )
    if not indices:
        raise loaded.error(f"no point is left of {total}; loosen the constraints", "constraints")
    return Plan(
        study=study,
        setup=setup,
        scenarios=scenarios,
        groups=groups,
        strategies=study.strategies,
        indices=indices,
        left_out=total - len(indices),
    )


def _kept(
    loaded: LoadedStudy,
    setup: Setup,
    groups: tuple[tuple[Axis, ...], ...],
    scenarios: tuple[str, ...],
    every: Iterator[tuple[int, ...]],
) -> tuple[tuple[int, ...], ...]:
    """The points of *every* that keep all constraints."""
    cases = Cases(setup)
    values: dict[str, tuple[object, ...]] = {
        "scenario": scenarios,
        "strategy": loaded.study.strategies,
    }
    for axis in (axis for group in groups for axis in group if not axis.numeric):
        values |= {axis.path: axis.values, axis.written: axis.values}
    tests = [
        (
            f"constraints[{index}]",
            checked_constraint(loaded, f"constraints[{index}]", text, setup, values),
        )
        for index, text in enumerate(loaded.study.constraints)
    ]
    strategies = loaded.study.strategies

    def keeps(indices: tuple[int, ...]) -> bool:
        scenario, *places, strategy = indices
        settings = _settings(groups, places)
        return all(
            located(
                loaded,
                place,
                partial(cases.holds, test, scenarios[scenario], strategies[strategy], settings),
            )
            for place, test in tests
        )

    return tuple(indices for indices in every if keeps(indices))


def _settings(groups: tuple[tuple[Axis, ...], ...], places: Any) -> Settings:
    """Paths and values of a point, in the order of the axes."""
    return tuple(
        (axis.path, axis.values[place])
        for group, place in zip(groups, places, strict=True)
        for axis in group
    )


def point_row(point: Point, axes: Mapping[str, bool]) -> dict[str, Any]:
    """The columns that say which point it is; *axes*: path -> whether its column holds numbers."""
    values = {
        path: value if axes[path] or value is None else _text(value)
        for path, value in point.settings
    }
    return {"point": point.number, **values, "scenario": point.scenario, "strategy": point.strategy}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
