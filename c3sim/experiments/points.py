"""One point: values set in a node and a workload, simulated, reduced to a row of outputs.

Models are built once for each combination of values and kept, so that points that share a node or a
workload share what :mod:`c3sim.simulation.runs` remembers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import ValidationError

from c3sim.errors import C3simError, InputError
from c3sim.evaluation.evaluate import best_of
from c3sim.experiments.axes import Settings
from c3sim.experiments.outputs import WALL, read_output
from c3sim.experiments.setup import Setup, code_hash
from c3sim.iterations.described import evaluate
from c3sim.iterations.glance import glance
from c3sim.result import Result
from c3sim.spec.hardware import Node
from c3sim.spec.iteration import Described
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.expressions import Expression, Lookup, parse_expression
from c3sim.spec.reading.paths import (
    canonical,
    get_value,
    is_of_workload,
    is_whole,
    set_si,
    set_value,
    still_tuned,
)
from c3sim.spec.words import unknown
from c3sim.spec.workload import Workload

Row = dict[str, Any]
Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)
Model = TypeVar("Model")
_MANY = 8  # settings from which on it pays to validate them together
_REMEMBERED = 512  # nodes, workloads, pairs of them


class PointRunner:
    """Builds and runs points of a *setup*."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._costs = {name: parse_expression(text) for name, text in setup.costs.items()}
        self._nodes: dict[tuple[str, Settings], Node] = {}
        self._workloads: dict[tuple[str, Settings], Workload] = {}
        self._pairs: dict[Hashable, tuple[Workload, Node]] = {}

    def models(self, scenario: str, settings: Settings) -> tuple[Workload, Node]:
        """Workload and node of *scenario* with *settings*, checked together. Raises InputError."""
        of_workload = tuple(pair for pair in settings if is_of_workload(pair[0]))
        of_node = tuple(pair for pair in settings if not is_of_workload(pair[0]))
        workload_key = (scenario, of_workload)
        node_key = self._node_key(scenario, of_node)

        def checked_pair() -> tuple[Workload, Node]:
            base = self.setup.workloads[scenario]
            workload = _remembered(
                self._workloads, workload_key, lambda: _set(self.setup.node, base, of_workload)[1]
            )
            node = self._node(scenario, of_node)
            check_on_node(workload, node)
            return workload, node

        return _remembered(self._pairs, (workload_key, node_key), checked_pair)

    def _node_key(self, scenario: str, settings: Settings) -> tuple[str, Settings]:
        """Most scenarios leave the node alone and share it."""
        return (scenario if self.setup.settings[scenario] else "", settings)

    def _node(self, scenario: str, settings: Settings) -> Node:
        """The node with *settings*. Points that follow each other differ in the last of them, so
        the node with those before is remembered as well.
        """
        workload = self.setup.workloads[scenario]

        def build() -> Node:
            if 0 < len(settings) <= _MANY:
                before = self._node(scenario, settings[:-1])
                return node_with(before, workload, settings[-1:])
            node = self.setup.node
            for path, value in self.setup.settings[scenario].items():
                node, _ = set_value(node, workload, path, value)
            return node_with(node, workload, settings)

        return _remembered(self._nodes, self._node_key(scenario, settings), build)

    def _lookup(self, scenario: str, strategy: str, settings: Settings) -> Lookup:
        """Values that an expression may name: ``scenario``, ``strategy``, any path."""
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
        """True if a point keeps *constraint*. Raises InputError."""
        return bool(constraint.value(self._lookup(scenario, strategy, settings)))

    def result(self, scenario: str, strategy: str, settings: Settings) -> Result:
        """The run of one point. Raises InputError for values that exclude each other."""
        workload, node = self.models(scenario, settings)
        stretched = "stretched_s" in self.setup.outputs
        return evaluate(
            workload,
            node,
            strategy,
            noted=False,
            stretched=stretched,
            wall_only=self.setup.wall_only,
        )

    def _wall(self, scenario: str, strategy: str, settings: Settings) -> float:
        """Wall time [s] of one point, without the runs of each task alone."""
        workload, node = self.models(scenario, settings)
        if isinstance(workload, Described):
            if self.setup.looks:
                return glance(workload, node, strategy).wall_s
            return self.result(scenario, strategy, settings).wall_s
        return best_of(workload, node, strategy, energy=False).run.end

    def row(self, scenario: str, strategy: str, settings: Settings) -> Row:
        """Every output of one point, and ``error``: None, or one line where the point has none."""
        row: Row = dict.fromkeys(self.setup.outputs)
        try:
            lookup = self._lookup(scenario, strategy, settings)
            costs = {name: cost.number(lookup) for name, cost in self._costs.items() if name in row}
            if self.setup.wall_only and not costs:
                return {WALL: self._wall(scenario, strategy, settings), "error": None}
            result = self.result(scenario, strategy, settings)
            values = {name: read_output(result, name) for name in row if name not in costs}
        except Exception as error:  # of this point alone: the others go on
            kind = "" if isinstance(error, C3simError) else f"{type(error).__name__}: "
            lines = (str(error) or "no message").splitlines()
            return {**row, "error": kind + "; ".join(" ".join(line.split()) for line in lines)}
        return {**row, **costs, **values, "error": None}

    def mean_row(self, strategy: str, settings: Settings) -> Row:
        """The mean of every output over the scenarios that have it; the first error ends it."""
        rows = []
        for scenario in self.setup.workloads:
            row = self.row(scenario, strategy, settings)
            if row["error"] is not None:
                return row
            rows.append(row)
        return {**{name: _mean(rows, name) for name in self.setup.outputs}, "error": None}


def _mean(rows: Sequence[Row], name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return sum(known) / len(known) if known else None


_runners: dict[str, PointRunner] = {}  # of what this process works on: one at a time


def run_batch(
    setup: Setup,
    name: str,
    code: str,
    row: Callable[[PointRunner, Item], Row],
    items: Sequence[tuple[int, Item]],
) -> list[tuple[int, Row]]:
    """*row(runner, item)* of each of *items*, by number.

    Batches of the work called *name* share a runner, and so its models, in this process. *code* is
    the hash of the caller's code. Raises InputError where this process has other code.
    """
    if code != code_hash():
        raise InputError(
            f"a worker has another version of the code of c3sim ({code_hash()} there, {code} here);"
            " install the same"
        )
    if name not in _runners:
        _runners.clear()
        _runners[name] = PointRunner(setup)
    return [(number, row(_runners[name], item)) for number, item in items]


def node_with(node: Node, workload: Workload, settings: Settings) -> Node:
    """*node* with SI values *settings*; *workload* is any that runs on it. Raises InputError."""
    if len(settings) > _MANY:
        # where this fails, the way value by value says which value is wrong
        with suppress(KeyError, TypeError, ValidationError):
            return _validated_once(node, settings)
    return _set(node, workload, settings)[0]


#: By number of the workload, which stands beside it so that no other one gets the number.
_changed: dict[tuple[int, Settings], tuple[Workload, Workload]] = {}


def workload_with(node: Node, workload: Workload, settings: Settings) -> Workload:
    """*workload* with SI values *settings*, which do not depend on *node*. Raises InputError."""
    key = id(workload), settings

    def changed() -> tuple[Workload, Workload]:
        return workload, _set(node, workload, settings)[1]

    return _remembered(_changed, key, changed)[1]


def _remembered(memory: dict[Key, Model], key: Key, build: Callable[[], Model]) -> Model:
    """The model for *key*, built where it is not remembered; only the latest are kept."""
    model = memory.get(key)
    if model is None:
        model = build()
        if len(memory) >= _REMEMBERED:
            del memory[next(iter(memory))]
        memory[key] = model
    return model


def _set(
    node: Node, workload: Workload, settings: Sequence[tuple[str, Any]]
) -> tuple[Node, Workload]:
    for path, value in settings:
        node, workload = set_si(node, workload, path, value)
    return node, workload


def _validated_once(node: Node, settings: Settings) -> Node:
    """*node* with plain SI values, validated once.

    Raises KeyError, TypeError or ValidationError for what only :func:`set_si` can set or explain.
    """
    data = node.model_dump(exclude_unset=True)
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
    return still_tuned(node, Node.model_validate(data))


def workload_and_node(
    study: Mapping[str, Any], row: Mapping[str, Any]
) -> tuple[Workload, Node, str]:
    """Workload, node and strategy of one *row* of results, as ``evaluate_run`` takes them.

    *study* is the resolved study of the file's metadata
    (``json.loads(schema.metadata[b"c3sim"])["study"]``), *row* a mapping of its columns; values of
    axes are in SI units. Raises InputError when the point cannot be built.
    """
    scenario, strategy = str(row["scenario"]), str(row["strategy"])
    models = study["models"]
    if scenario not in models["workloads"]:
        raise InputError(unknown("scenario", scenario, models["workloads"]))
    try:
        kept = models["workloads"][scenario]
        workload = (Described if "iteration" in kept else Workload).model_validate(kept)
        node = Node.model_validate(models["node"])
    except ValidationError:
        raise InputError("these results hold models of another version of c3sim") from None
    setup = Setup(
        node=node,
        workloads={scenario: workload},
        settings={scenario: models["settings"].get(scenario, {})},
        outputs=(),
    )
    settings = tuple(
        (path, _exact(setup.node, workload, path, row[path]))
        for path in study["paths"]
        if path in row
    )
    return *PointRunner(setup).models(scenario, settings), strategy


def _exact(node: Node, workload: Workload, path: str, value: Any) -> Any:
    """A value of a column as the model wants it: whole numbers whole, gaps None."""
    if hasattr(value, "item"):
        value = value.item()  # NumPy's
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and value.is_integer() and is_whole(node, workload, path):
        return int(value)
    return value
