"""One point: values set in a node and a workload, simulated under a strategy, reduced to a row of
outputs.

Models are built once per combination of values and kept, so that the strategies of a point, and points that share a
node, share what :mod:`c3sim.simulation.runs` remembers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from c3sim.errors import C3simError, InputError
from c3sim.evaluation.evaluate import evaluate_run
from c3sim.input.aliases import canonical
from c3sim.input.checks.on_node import check_on_node
from c3sim.input.expressions import Expression, Lookup, parse_expression
from c3sim.input.hints import unknown
from c3sim.input.paths import get_value, is_of_workload, is_whole, set_si, set_value
from c3sim.result import Result
from c3sim.specs.hardware import Node
from c3sim.specs.workload import Workload
from c3sim.sweeps.outputs import read_output

Settings = tuple[tuple[str, Any], ...]  # (path, value in SI units)
Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made")
_MANY = 8  # settings from which on it pays to make them all at once
_KEPT = 512  # nodes, workloads, pairs of them


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What all points share: the *node*, the *workload* of each scenario with its settings made,
    what is asked of a run.

    *settings*: those of each scenario that concern the node. Plain data: it is sent to other
    processes.
    """

    node: Node
    workloads: Mapping[str, Workload]
    settings: Mapping[str, Mapping[str, Any]]
    outputs: tuple[str, ...]
    costs: Mapping[str, str] = field(default_factory=dict)


class Cases:
    """Builds and runs points of a *setup*."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.costs = {name: parse_expression(text) for name, text in setup.costs.items()}
        self._nodes: dict[tuple[str, Settings], Node] = {}
        self._workloads: dict[tuple[str, Settings], Workload] = {}
        self._checked: dict[
            tuple[int, int], tuple[Workload, Node]
        ] = {}  # kept alive: an id stays its own

    def models(self, scenario: str, settings: Settings) -> tuple[Workload, Node]:
        """Workload and node of *scenario* with *settings*, checked against each other. Raises
        InputError.
        """
        of_node = tuple(pair for pair in settings if not is_of_workload(pair[0]))
        of_workload = tuple(pair for pair in settings if is_of_workload(pair[0]))
        before = self.setup.workloads[scenario]
        workload: Workload = _kept(
            self._workloads,
            (scenario, of_workload),
            lambda: _set(self.setup.node, before, of_workload)[1],
        )
        shared = (
            "" if not self.setup.settings[scenario] else scenario
        )  # most scenarios leave the node alone
        node: Node = _kept(self._nodes, (shared, of_node), lambda: self._node(scenario, of_node))

        def checked() -> tuple[Workload, Node]:
            check_on_node(workload, node)
            return workload, node

        return _kept(self._checked, (id(workload), id(node)), checked)

    def _node(self, scenario: str, settings: Settings) -> Node:
        node, workload = self.setup.node, self.setup.workloads[scenario]
        for path, value in self.setup.settings[scenario].items():
            node, _ = set_value(node, workload, path, value)
        if len(settings) > _MANY:
            with suppress(KeyError, TypeError, ValidationError):  # told below, in words
                return _all_at_once(node, settings)
        return _set(node, workload, settings)[0]

    def lookup(self, scenario: str, strategy: str, settings: Settings) -> Lookup:
        """Values that an expression may ask for: ``scenario``, ``strategy``, and any path at that
        point.
        """
        given = dict(settings)

        def value(name: str) -> Any:
            if name in ("scenario", "strategy"):
                return scenario if name == "scenario" else strategy
            if canonical(name) in given:
                return given[canonical(name)]
            workload, node = self.models(scenario, settings)
            return get_value(node, workload, name)

        return value

    def holds(
        self, constraint: Expression, scenario: str, strategy: str, settings: Settings
    ) -> bool:
        """Whether a constraint is kept. Raises InputError."""
        return bool(constraint.value(self.lookup(scenario, strategy, settings)))

    def result(self, scenario: str, strategy: str, settings: Settings) -> Result:
        """The run of one point. Raises InputError for values that cannot be together."""
        workload, node = self.models(scenario, settings)
        return evaluate_run(workload, node, strategy, noted=False)

    def row(self, scenario: str, strategy: str, settings: Settings) -> dict[str, Any]:
        """Every output of one point, and ``error``: its one line where the point has none, else
        None.
        """
        found: dict[str, Any] = dict.fromkeys(self.setup.outputs)
        try:
            lookup = self.lookup(scenario, strategy, settings)
            costs = {
                name: cost.number(lookup) for name, cost in self.costs.items() if name in found
            }
            result = self.result(scenario, strategy, settings)
        except Exception as error:  # of this point alone: the others go on
            kind = "" if isinstance(error, C3simError) else f"{type(error).__name__}: "
            lines = (str(error) or "no message").splitlines()
            return {**found, "error": kind + "; ".join(" ".join(line.split()) for line in lines)}
        read = {name: read_output(result, name) for name in found if name not in costs}
        return {**found, **costs, **read, "error": None}


def _kept(memory: dict[Key, Made], key: Key, make: Callable[[], Made]) -> Made:
    """What *make* gave for *key*; only the latest are kept."""
    found = memory.get(key)
    if found is None:
        found = make()
        if len(memory) >= _KEPT:
            del memory[next(iter(memory))]
        memory[key] = found
    return found


def _set(
    node: Node, workload: Workload, settings: Sequence[tuple[str, Any]]
) -> tuple[Node, Workload]:
    for path, value in settings:
        node, workload = set_si(node, workload, path, value)
    return node, workload


def _all_at_once(node: Node, settings: Settings) -> Node:
    """*node* with plain SI values, validated once. Raises what it likes for those that are none, or
    cannot be.
    """
    data = node.model_dump()
    for path, value in settings:
        if isinstance(value, str):
            raise TypeError(value)
        *steps, last = path.split(".")
        inner = data
        for step in steps:
            inner = inner[step]
        if last not in inner:
            raise KeyError(path)
        inner[last] = value
    return Node.model_validate(data)


def models_of(setup: Setup) -> dict[str, Any]:
    """The models of *setup* as plain data, for the file of results: what a point needs to be run
    again.
    """
    return {
        "node": setup.node.model_dump(mode="json", by_alias=True),
        "workloads": {
            name: w.model_dump(mode="json", by_alias=True) for name, w in setup.workloads.items()
        },
        "settings": {name: dict(values) for name, values in setup.settings.items()},
    }


def workload_and_node(
    study: Mapping[str, Any], row: Mapping[str, Any]
) -> tuple[Workload, Node, str]:
    """Workload, node and strategy of one *row* of results: what ``evaluate_run`` takes, to simulate
    the point again.

    *study* is the resolved study of the file's metadata
    (``json.loads(schema.metadata[b"c3sim"])["study"]``), *row* a mapping of its columns; values of
    axes are in SI units. Raises InputError when the point cannot be built.
    """
    scenario, strategy = str(row["scenario"]), str(row["strategy"])
    models = study["models"]
    if scenario not in models["workloads"]:
        raise InputError(unknown("scenario", scenario, models["workloads"]))
    workload = Workload.model_validate(models["workloads"][scenario])
    setup = Setup(
        node=Node.model_validate(models["node"]),
        workloads={scenario: workload},
        settings={scenario: models["settings"].get(scenario, {})},
        outputs=(),
    )
    settings = tuple(
        (path, _exact(setup.node, workload, path, row[path]))
        for path in study["paths"]
        if path in row
    )
    return *Cases(setup).models(scenario, settings), strategy


def _exact(node: Node, workload: Workload, path: str, value: Any) -> Any:
    """A value as it stands in a column of floats or texts, as the model wants it: whole numbers
    whole, gaps None.
    """
    if hasattr(value, "item"):
        value = value.item()  # NumPy's
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and value.is_integer() and is_whole(node, workload, path):
        return int(value)
    return value
