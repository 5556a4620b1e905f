"""What a search may turn: a path with choices, or with a range, continuous or in steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from c3sim.input.aliases import canonical
from c3sim.input.hints import unknown
from c3sim.input.loading import LoadedStudy
from c3sim.input.paths import is_whole, unit_of
from c3sim.input.yaml_nodes import join
from c3sim.specs.study import Range, Search, Values
from c3sim.strategies.table import STRATEGIES
from c3sim.sweeps.axes import ends_of, make_axis
from c3sim.sweeps.points import Setup
from c3sim.sweeps.setup import located


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One canonical *path* (or ``strategy``): *choices*, or everything between *ends*, in SI
    *unit*.
    """

    path: str
    written: str
    unit: str
    choices: tuple[Any, ...] = ()
    ends: tuple[float, float] = (0.0, 0.0)
    whole: bool = False
    log: bool = False

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return all(
            value is None or (isinstance(value, int | float) and not isinstance(value, bool))
            for value in self.choices
        )

    def suggest(self, trial: Any) -> Any:
        """The value that Optuna's *trial* proposes."""
        if self.choices:
            return (
                self.choices[trial.suggest_int(self.path, 0, len(self.choices) - 1)]
                if self.numeric
                else (self.choices[trial.suggest_categorical(self.path, range(len(self.choices)))])
            )
        low, high = self.ends
        if self.whole:
            return trial.suggest_int(self.path, int(low), int(high), log=self.log)
        return trial.suggest_float(self.path, low, high, log=self.log)


def make_knobs(loaded: LoadedStudy, search: Search, setup: Setup) -> tuple[Knob, ...]:
    """The knobs of a study. The strategy is one more: of those under ``strategy``, or of the
    study's.

    Raises InputError with file and line.
    """
    found = [
        located(loaded, join("search.knobs", path), partial(_knob, path, values, setup))
        for path, values in search.knobs.items()
        if path != "strategy"
    ]
    strategies = search.knobs.get("strategy", loaded.study.strategies)
    place = "search.knobs.strategy" if "strategy" in search.knobs else "strategies"
    if isinstance(strategies, Range) or not strategies:
        raise loaded.error("must be a list of strategies", place)
    for name in strategies:
        if str(name).partition(":")[0] not in STRATEGIES:
            raise loaded.error(unknown("strategy", name, STRATEGIES), place)
    twice = [knob for knob in found if sum(other.path == knob.path for other in found) > 1]
    if twice:
        raise loaded.error(f"two knobs of {twice[0].path}; a path is one knob", "search.knobs")
    return (*found, Knob(path="strategy", written="strategy", unit="", choices=strategies))


def _knob(path: str, values: Values, setup: Setup) -> Knob:
    workloads = list(setup.workloads.values())
    if isinstance(values, Range) and values.steps is None and values.factor is None:
        for workload in workloads:
            unit, whole = unit_of(setup.node, workload, path), is_whole(setup.node, workload, path)
        low, high = sorted(ends_of(values, path, setup.node, workload))
        return Knob(
            path=canonical(path),
            written=path,
            unit=unit,
            ends=(low, high),
            whole=whole,
            log=values.log,
        )
    axis = make_axis(path, values, setup.node, workloads)
    return Knob(path=axis.path, written=path, unit=axis.unit, choices=axis.values)
