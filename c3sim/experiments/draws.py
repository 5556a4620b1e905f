"""Draws of what is unknown: values of parameters within their intervals, and conditions that nobody
published; the mean fractions of ideal of a study's cases under it; and what one thing alone does to
them.

A draw is one way that all of it may have been at once. Parameters and assumptions are the columns
of one Latin hypercube. An assumption has the usual condition or one of its alternatives, all with
the same chance. Everything is independent. A yardstick changes no run together, so every draw is
measured by all of them.

Parameters are many. Each goes alone to the end of its interval that is further from its value, for
a few scenarios. The one that moves a target most, and the one of those that no isolated fact
excludes, go to both ends, for more of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from c3sim.errors import InputError
from c3sim.evaluation.evaluate import Apart, best_of
from c3sim.evaluation.losses import overlap
from c3sim.evaluation.strategies.rewrites import baseline
from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import Parameter, latin_hypercube, settings_at
from c3sim.experiments.cases import Case
from c3sim.experiments.points import node_with, workload_with
from c3sim.experiments.study import Asked
from c3sim.simulation.runs import isolated, of_one_node
from c3sim.spec.hardware import Node
from c3sim.spec.reading.checks.on_node import check_on_node
from c3sim.spec.reading.paths import canonical, convert_value, is_of_workload
from c3sim.spec.schedules import expanded
from c3sim.spec.study import Alternative, Assumption
from c3sim.spec.units import format_si
from c3sim.spec.workload import Workload

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Yardstick:
    """The source of the ideal: isolated runs with values *isolated* [SI] over those of the draw;
    *own*: with the collective as the strategy runs it.
    """

    isolated: Settings = ()
    own: bool = False

    def over(self, other: Yardstick) -> Yardstick:
        """Both at once; where they differ, *self*."""
        return Yardstick(isolated=_merged(other.isolated, self.isolated), own=self.own or other.own)


USUAL = Yardstick()


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """Values [SI] of every run, and the yardsticks by which the runs are measured."""

    settings: Settings = ()
    yardsticks: tuple[Yardstick, ...] = (USUAL,)

    def runs(self) -> AbstractContextManager[None]:
        """Context that remembers runs of the draw: one number alone has no say in many; where all
        have moved, none is as before.
        """
        return nullcontext() if len(self.settings) <= 1 else of_one_node()

    def over(self, other: Draw) -> Draw:
        """Both draws at once; where they differ, *self*. Yardsticks are crossed."""
        return Draw(
            settings=_merged(other.settings, self.settings),
            yardsticks=tuple(
                mine.over(its) for its, mine in product(other.yardsticks, self.yardsticks)
            ),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """The *alternative* of an *assumption*, as a *draw* of its own with one yardstick."""

    assumption: str
    alternative: str
    draw: Draw

    @property
    def paths(self) -> set[str]:
        """The paths that it sets."""
        isolated = (path for each in self.draw.yardsticks for path, _ in each.isolated)
        return {canonical(path) for path in (*dict(self.draw.settings), *isolated)}


def conditions(assumptions: Sequence[Assumption], case: Case) -> list[list[Condition]]:
    """The alternatives of each assumption; values are checked on *case*. Raises InputError."""
    return [
        [_condition(assumption, alternative, case) for alternative in assumption.alternatives]
        for assumption in assumptions
    ]


def _condition(assumption: Assumption, alternative: Alternative, case: Case) -> Condition:
    try:
        settings = in_si(alternative.set, case)
        isolated = in_si(alternative.isolated, case)
    except InputError as error:
        where = f"assumption {assumption.name!r}, alternative {alternative.name!r}"
        raise InputError(f"{error.message} ({where})", error.path) from None
    yardstick = Yardstick(isolated=isolated, own=alternative.yardstick == "own")
    draw = Draw(settings=settings, yardsticks=(yardstick,))
    return Condition(assumption=assumption.name, alternative=alternative.name, draw=draw)


def in_si(values: Mapping[str, object], case: Case) -> Settings:
    """*values* of the workload or the node of *case*, in SI units. Raises InputError."""
    return tuple(
        (path, convert_value(case.node, case.workload, path, value))
        for path, value in values.items()
    )


class Drawing:
    """Everything that may have been otherwise, as a row of places from 0 to 1: of each parameter,
    then of each assumption about the runs. What only moves the ideal is not drawn.
    """

    def __init__(
        self, parameters: Sequence[Parameter], of_assumptions: Sequence[Sequence[Condition]]
    ) -> None:
        self._parameters = parameters
        self._of_runs = [each for each in of_assumptions if any(one.draw.settings for one in each)]
        self._of_ideals = [each for each in of_assumptions if each not in self._of_runs]
        self.names = [each.path for each in parameters]
        self.names += [each[0].assumption for each in self._of_runs]

    def at(self, row: Sequence[float] | np.ndarray) -> Draw:
        """The draw at these places."""
        draw = Draw(settings=settings_at(self._parameters, [*row[: len(self._parameters)]]))
        places = row[len(self._parameters) :]
        for alternatives, place in zip(self._of_runs, places, strict=True):
            chosen = int(place * (len(alternatives) + 1))
            if chosen < len(alternatives):
                draw = alternatives[chosen].draw.over(draw)
        for alternatives in self._of_ideals:
            every = (USUAL, *(one.draw.yardsticks[0] for one in alternatives))
            draw = Draw(yardsticks=every).over(draw)
        return draw

    def rows(self, count: int, seed: int) -> np.ndarray:
        """*count* rows of a Latin hypercube; the same seed gives the same ones."""
        return latin_hypercube(self.names, count, seed)


def draws_of(
    parameters: Sequence[Parameter],
    of_assumptions: Sequence[Sequence[Condition]],
    count: int,
    seed: int,
) -> list[Draw]:
    """*count* draws of everything; the same seed gives the same draws."""
    if not (parameters or of_assumptions):
        return []
    drawing = Drawing(parameters, of_assumptions)
    return [drawing.at(row) for row in drawing.rows(count, seed)]


def _merged(under: Settings, over: Settings) -> Settings:
    return tuple({**dict(under), **dict(over)}.items())


Fractions = Mapping[str, float]  # strategy -> mean fraction of ideal
#: By each yardstick of a draw; none where the values of the draw exclude each other.
Measured = Sequence[Fractions]
#: Runs from which other processes pay: starting them takes about as long.
WORTH_IT = 200


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """A *case*, and for each strategy the one to run: itself, or its best candidate so far."""

    case: Case
    strategies: Mapping[str, str]


def replay(
    reruns: Sequence[Rerun], draws: Sequence[Draw], asked: Asked, *, what: str
) -> list[Measured]:
    """The means over *reruns* of each draw, in order."""
    return replay_each([reruns], [(0, draw) for draw in draws], asked, what=what)


def replay_each(
    parts: Sequence[Sequence[Rerun]], draws: Sequence[tuple[int, Draw]], asked: Asked, *, what: str
) -> list[Measured]:
    """The means of each draw, in order, over the reruns of that of *parts* whose number it has."""
    runs = max(sum(len(each.strategies) for each in reruns) for reruns in parts)
    worth = -(-WORTH_IT // max(runs, 1))
    work = partial(_of_part, tuple(tuple(reruns) for reruns in parts))
    return asked.each(work, draws, what=what, worth=worth)


def _of_part(parts: tuple[tuple[Rerun, ...], ...], numbered: tuple[int, Draw]) -> Measured:
    number, draw = numbered
    return _means(parts[number], draw)


def _means(reruns: Sequence[Rerun], draw: Draw) -> Measured:
    with draw.runs():
        try:
            return means_of(reruns, draw)
        except InputError:
            return ()


def means_of(reruns: Sequence[Rerun], draw: Draw) -> list[Fractions]:
    """The means over *reruns* under *draw*, by each of its yardsticks. Raises InputError: values
    that exclude each other.
    """
    values: list[dict[str, list[float]]] = [{} for _ in draw.yardsticks]
    nodes = Nodes()
    for each in reruns:
        workload, node = nodes.models(each.case, draw.settings)
        workload = expanded(workload, node)
        bests = {
            strategy: best_of(workload, node, candidate, energy=False)
            for strategy, candidate in each.strategies.items()
        }
        apart = Apart(workload, node)
        for yardstick, of_strategy in zip(draw.yardsticks, values, strict=True):
            alone = _alone(each.case, draw, yardstick, nodes)
            for strategy, best in bests.items():
                beside = overlap(alone, best.run.end) if alone else None
                fraction = (beside or apart.overlap(best, own=yardstick.own)).fraction
                if fraction is not None:
                    of_strategy.setdefault(strategy, []).append(fraction)
    return [
        {strategy: fmean(known) for strategy, known in of_strategy.items()}
        for of_strategy in values
    ]


def _alone(case: Case, draw: Draw, yardstick: Yardstick, nodes: Nodes) -> list[float]:
    """Isolated times under the conditions of *yardstick*; none where they are those of the runs."""
    if not yardstick.isolated:
        return []
    workload, node = nodes.models(case, (*draw.settings, *yardstick.isolated))
    base = baseline(workload, node)
    return [isolated(node, base, name).end for name in base.tasks]


class Nodes:
    """Nodes with values set; cases that share a node share them."""

    def __init__(self) -> None:
        self._known: list[tuple[Node, Settings, Node]] = []

    def models(self, case: Case, settings: Settings) -> tuple[Workload, Node]:
        """Workload and node of *case* with *settings*. Raises InputError."""
        of_node = tuple(pair for pair in settings if not is_of_workload(pair[0]))
        node = next((n for old, of, n in self._known if old == case.node and of == of_node), None)
        if node is None:
            node = node_with(case.node, case.workload, of_node)
            self._known.append((case.node, of_node, node))
        of_workload = tuple(pair for pair in settings if is_of_workload(pair[0]))
        workload = workload_with(node, case.workload, of_workload)
        check_on_node(workload, node)
        return workload, node


#: A linear combination of means: a strategy's mean, or one less another.
Target = Mapping[str, float]
NEGLIGIBLE = 1e-6  # of a fraction of ideal
MOST = 4  # parameters that facts are asked about, for each target


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """The effect of *name* alone when it is *value*, set by *settings*: on the mean fraction of
    each strategy.
    """

    kind: Literal["assumption", "parameter", "pairs"]
    name: str
    value: str
    by: Mapping[str, float]
    settings: Settings = ()
    excluded_by: tuple[str, ...] = ()  # names of isolated facts

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
        by=difference(found, usual),
        settings=condition.draw.settings,
    )


def _far_ends(parameters: Sequence[Parameter], few: Sequence[Rerun], asked: Asked) -> list[Change]:
    """The effect of each parameter alone at the further end of its interval."""
    ends = [Draw(settings=((each.path, each.at(_far(each))),)) for each in parameters]
    base, *found = replay(few, [Draw(), *ends], asked, what="parameters")
    return [
        Change(
            kind="parameter",
            name=each.path,
            value="",
            by=difference(means, base[0]),
            settings=end.settings,
        )
        for each, end, measured in zip(parameters, ends, found, strict=True)
        for means in measured
    ]


#: Names of the isolated facts that exclude each of some draws.
Excluding = Callable[[Sequence[Draw]], Sequence[tuple[str, ...]]]


def of_parameters(
    parameters: Sequence[Parameter],
    few: Sequence[Rerun],
    reruns: Sequence[Rerun],
    usual: Fractions,
    targets: Sequence[Target],
    asked: Asked,
    excluding: Excluding | None = None,
) -> list[Change]:
    """For each target the parameter that moves it most, at both ends, and the one that moves it
    most of those that no fact excludes. *few* of the *reruns* find it; *usual*: the means of all.
    """
    if not parameters:
        return []
    screened = _far_ends(parameters, few, asked)
    names = _winners([_movers(screened, target) for target in targets], excluding)
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
            by=difference(means, usual),
            settings=((parameter.path, value),),
        )
        for (parameter, _), value, measured in zip(
            moved, values, replay(reruns, both, asked, what="both ends"), strict=True
        )
        for means in measured
        if value != parameter.value
    ]


def _movers(changes: Sequence[Change], target: Target) -> list[Change]:
    """The MOST things that move *target* most, the first one most."""
    ranked = sorted(changes, key=lambda change: -abs(change.on(target)))
    return [each for each in ranked[:MOST] if abs(each.on(target)) >= NEGLIGIBLE]


def _winners(ranked: Sequence[Sequence[Change]], excluding: Excluding | None) -> dict[str, None]:
    """Names of what comes first in each of *ranked*, and first of what no fact excludes."""
    if excluding is None:
        return dict.fromkeys(each[0].name for each in ranked if each)
    every = {change.name: Draw(settings=change.settings) for each in ranked for change in each}
    excluded = dict(zip(every, excluding([*every.values()]), strict=True))
    names = dict[str, None]()
    for each in ranked:
        allowed = [change for change in each if not excluded[change.name]]
        names.update(dict.fromkeys(first.name for first in (*each[:1], *allowed[:1])))
    return names


def _far(parameter: Parameter) -> float:
    """The place of the end that is further from the value."""
    low, value, high = parameter.low, parameter.value, parameter.high
    if parameter.log and value > 0:
        low, value, high = math.log(low), math.log(value), math.log(high)
    return 1.0 if high - value >= value - low else 0.0


def difference(found: Fractions, usual: Fractions) -> dict[str, float]:
    """The change of each mean from *usual* to *found*."""
    return {name: mean - usual[name] for name, mean in found.items() if name in usual}
