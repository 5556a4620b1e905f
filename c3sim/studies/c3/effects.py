"""What one thing alone does to the means: every alternative of an assumption, and the parameters
that matter most.

Parameters are many. Each goes alone to the end of its interval that is further from its value, for
a few scenarios. The one that moves a target most goes to both ends, for all scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from c3sim.experiments.bands import Parameter
from c3sim.input.units import format_si
from c3sim.studies.c3.draws import Condition, Draw
from c3sim.studies.c3.replay import Fractions, Rerun, replay
from c3sim.studies.kind import Options

#: A linear combination of means: a strategy's mean, or one less another.
Target = Mapping[str, float]
NEGLIGIBLE = 1e-6  # of a fraction of ideal


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What *name* alone does when it is *value*: to the mean fraction of each strategy."""

    kind: Literal["assumption", "parameter", "pairs"]
    name: str
    value: str
    by: Mapping[str, float]

    def on(self, target: Target) -> float:
        """By how much it moves *target*."""
        return sum(weight * self.by.get(name, 0.0) for name, weight in target.items())


def largest(changes: Iterable[Change], target: Target) -> Change | None:
    """The change that moves *target* most; None where nothing moves it."""
    best = max(changes, key=lambda change: abs(change.on(target)), default=None)
    return None if best is None or abs(best.on(target)) < NEGLIGIBLE else best


def of_condition(condition: Condition, found: Fractions, usual: Fractions) -> Change:
    return Change(
        kind="assumption",
        name=condition.assumption,
        value=condition.alternative,
        by=_difference(found, usual),
    )


def of_parameters(
    parameters: Sequence[Parameter],
    few: Sequence[Rerun],
    reruns: Sequence[Rerun],
    usual: Fractions,
    targets: Sequence[Target],
    options: Options,
) -> list[Change]:
    """For each target the parameter that moves it most, at both ends. *few* of the *reruns* find
    it; *usual*: the means of all.
    """
    if not parameters:
        return []
    ends = [Draw(), *(Draw(settings=((each.path, each.at(_far(each))),)) for each in parameters)]
    base, *found = replay(few, ends, options, what="parameters")
    screened = [
        Change(kind="parameter", name=each.path, value="", by=_difference(means, base[0]))
        for each, measured in zip(parameters, found, strict=True)
        for means in measured
    ]
    winners = [largest(screened, target) for target in targets]
    names = dict.fromkeys(each.name for each in winners if each is not None)
    of_path = {each.path: each for each in parameters}
    moved = [(of_path[name], place) for name in names for place in (0.0, 1.0)]
    values = [parameter.at(place) for parameter, place in moved]
    both = [
        Draw(settings=((parameter.path, value),))
        for (parameter, _), value in zip(moved, values, strict=True)
    ]
    return [
        Change(
            kind="parameter",
            name=parameter.path,
            value=format_si(value, parameter.unit),
            by=_difference(means, usual),
        )
        for (parameter, _), value, measured in zip(
            moved, values, replay(reruns, both, options, what="both ends"), strict=True
        )
        for means in measured
        if value != parameter.value
    ]


def _far(parameter: Parameter) -> float:
    """The place of the end that is further from the value."""
    low, value, high = parameter.low, parameter.value, parameter.high
    if parameter.log and value > 0:
        low, value, high = math.log(low), math.log(value), math.log(high)
    return 1.0 if high - value >= value - low else 0.0


def _difference(found: Fractions, usual: Fractions) -> dict[str, float]:
    return {name: mean - usual[name] for name, mean in found.items() if name in usual}
