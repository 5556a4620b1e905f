"""Knobs of a search: a path with choices, or with a range, continuous or in steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from c3sim.input.aliases import canonical
from c3sim.input.loading import LoadedStudy
from c3sim.input.paths import is_whole, unit_of
from c3sim.input.yaml_nodes import join
from c3sim.specs.study import Range, Search, Values
from c3sim.strategies.table import unknown_strategy
from c3sim.sweeps.axes import are_numbers, ends_of, make_axis
from c3sim.sweeps.setup import Setup, located


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A canonical *path* (or ``strategy``): *choices*, or a range between *ends*, in SI *unit*."""

    path: str
    written: str
    unit: str
    choices: tuple[Any, ...] = ()
    ends: tuple[float, float] = (0.0, 0.0)
    whole: bool = False
    log: bool = False

    @property
    def numeric(self) -> bool:
        return are_numbers(self.choices)

    def suggest(self, trial: Any) -> Any:
        """The value that Optuna's *trial* proposes."""
        if self.choices and self.numeric:
            return self.choices[trial.suggest_int(self.path, 0, len(self.choices) - 1)]
        if self.choices:
            return self.choices[trial.suggest_categorical(self.path, range(len(self.choices)))]
        low, high = self.ends
        if self.whole:
            return trial.suggest_int(self.path, int(low), int(high), log=self.log)
        return trial.suggest_float(self.path, low, high, log=self.log)


def make_knobs(loaded: LoadedStudy, search: Search, setup: Setup) -> tuple[Knob, ...]:
    """The knobs of a search, and last the strategy: of its own list, or of the study's.

    Raises InputError with file and line.
    """
    knobs = []
    for path, values in search.knobs.items():
        if path != "strategy":
            with located(loaded, join("search.knobs", path)):
                knobs.append(_knob(path, values, setup))
    strategies = search.knobs.get("strategy", loaded.study.strategies)
    place = "search.knobs.strategy" if "strategy" in search.knobs else "strategies"
    if isinstance(strategies, Range) or not strategies:
        raise loaded.error("must be a list of strategies", place)
    for name in strategies:
        if mistake := unknown_strategy(str(name)):
            raise loaded.error(mistake, place)
    paths = [knob.path for knob in knobs]
    repeated = [path for path in paths if paths.count(path) > 1]
    if repeated:
        raise loaded.error(f"two knobs of {repeated[0]}; a path is one knob", "search.knobs")
    return (*knobs, Knob(path="strategy", written="strategy", unit="", choices=strategies))


def _knob(path: str, values: Values, setup: Setup) -> Knob:
    workloads = list(setup.workloads.values())
    if not isinstance(values, Range) or values.steps is not None or values.factor is not None:
        axis = make_axis(path, values, setup.node, workloads)
        return Knob(path=axis.path, written=path, unit=axis.unit, choices=axis.values)
    for workload in workloads:
        unit, whole = unit_of(setup.node, workload, path), is_whole(setup.node, workload, path)
    low, high = sorted(ends_of(values, path, setup.node, workload))
    return Knob(
        path=canonical(path), written=path, unit=unit, ends=(low, high), whole=whole, log=values.log
    )
