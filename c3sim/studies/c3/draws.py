"""What may have been otherwise: values of parameters within their intervals, and conditions that
nobody published. A draw is one way that all of it may have been at once.

Parameters and assumptions are the columns of one Latin hypercube. An assumption has the usual
condition or one of its alternatives, all with the same chance. Everything is independent.

A yardstick changes no run together, so every draw is measured by all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from c3sim.errors import InputError
from c3sim.experiments.bands import Parameter, latin_hypercube, settings_at
from c3sim.experiments.points import Settings
from c3sim.input.aliases import canonical
from c3sim.input.paths import convert_value
from c3sim.specs.study import Alternative, Assumption
from c3sim.studies.cases import Case


@dataclass(frozen=True, kw_only=True, slots=True)
class Yardstick:
    """Where the ideal is taken from: isolated runs with values *isolated* [SI] over those of the
    draw; *own*: with the collective as the strategy runs it.
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
        """What it sets."""
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
        settings = _in_si(alternative.set, case)
        isolated = _in_si(alternative.isolated, case)
    except InputError as error:
        where = f"assumption {assumption.name!r}, alternative {alternative.name!r}"
        raise InputError(f"{error.message} ({where})", error.path) from None
    yardstick = Yardstick(isolated=isolated, own=alternative.yardstick == "own")
    draw = Draw(settings=settings, yardsticks=(yardstick,))
    return Condition(assumption=assumption.name, alternative=alternative.name, draw=draw)


def _in_si(values: Mapping[str, object], case: Case) -> Settings:
    return tuple(
        (path, convert_value(case.node, case.workload, path, value))
        for path, value in values.items()
    )


def draws_of(
    parameters: Sequence[Parameter],
    of_assumptions: Sequence[Sequence[Condition]],
    count: int,
    seed: int,
) -> list[Draw]:
    """*count* draws of everything; the same seed gives the same draws."""
    if not (parameters or of_assumptions):
        return []
    of_runs = [each for each in of_assumptions if any(one.draw.settings for one in each)]
    of_ideals = [each for each in of_assumptions if each not in of_runs]
    drawn = [*(each.path for each in parameters), *(each[0].assumption for each in of_runs)]
    draws = []
    for row in latin_hypercube(drawn, count, seed):
        draw = Draw(settings=settings_at(parameters, row[: len(parameters)]))
        for alternatives, place in zip(of_runs, row[len(parameters) :], strict=True):
            chosen = int(place * (len(alternatives) + 1))
            if chosen < len(alternatives):
                draw = alternatives[chosen].draw.over(draw)
        for alternatives in of_ideals:
            every = (USUAL, *(one.draw.yardsticks[0] for one in alternatives))
            draw = Draw(yardsticks=every).over(draw)
        draws.append(draw)
    return draws


def _merged(under: Settings, over: Settings) -> Settings:
    return tuple({**dict(under), **dict(over)}.items())
