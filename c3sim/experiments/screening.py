"""The parameters that move an output most, found in few runs: groups first, then halves of them.

A group of parameters is moved to ends of their intervals that are drawn, and to the opposite ends.
With swing s_i of parameter i alone, and effects that add, a mirrored pair of runs y, y' gives

    ( y - y' )^2 = ( sum of +- s_i )^2,    whose mean over the draws is the sum of s_i^2

so effects of any sign show, though one draw may show less of a group than it has: equal effects may
cancel. The groups that move the output most are halved
(bisection after Bettonvil and Kleijnen 1997, doi:10.1016/S0377-2217(96)00156-7, with drawn signs in
place of known ones), until a group is one parameter, whose pair is its two ends, or the runs are
used up; where they are few, the first group alone. What is left are groups, each with what it moves
the output by. Groups begin as the parts of a machine have them: gpu.hbm, host, links. First looks
(:class:`Setup`) may tell them apart: the ends of the largest single parameter are whole runs, and
where there is no room for all RUNS, that it is known is enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from c3sim.errors import InputError
from c3sim.experiments.axes import Settings
from c3sim.experiments.bands import Parameter, Sampler
from c3sim.experiments.jobs import Watcher
from c3sim.result.shown import Told

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

RUNS = 96  # where nothing else is asked for
ROOM_S = 55.0  # estimated, for all of them on one core: where runs take long, fewer are made
ROUND = 4  # groups that are halved at once: four pairs for each worker of a small machine
NEGLIGIBLE = 1e-6  # of the output: a group that moves it less has none that matters


@dataclass(frozen=True, kw_only=True)
class Group:
    """*parameters* moved together: the output at the drawn ends and at the opposite ones; of a
    single parameter at its low and its high end. None where a run failed.
    """

    parameters: tuple[Parameter, ...]
    ends: tuple[float | None, float | None]

    @property
    def swing(self) -> float:
        """By how much it moves the output; infinite where a run failed: nothing is known."""
        low, high = self.ends
        return math.inf if low is None or high is None else abs(high - low)

    @property
    def name(self) -> str:
        """The path, or what paths begin with and how many they are."""
        paths = [each.path for each in self.parameters]
        if len(paths) == 1:
            return paths[0]
        parts = [path.split(".") for path in paths]
        same = 0
        while len({tuple(each[: same + 1]) for each in parts}) == 1:
            same += 1
        return ".".join([*parts[0][:same], f"* ({len(paths)})"])


@dataclass(frozen=True, kw_only=True, repr=False)
class Screening(Told):
    """*single*: parameters with their effects, the largest first; *groups*: those that were not
    told apart; *idle*: parameters in groups that do not move the output; *runs*: so many it took,
    by first looks if *looks*; *about*: the question; *measured*: path -> the suites of records that
    would see it.
    """

    output: str
    strategy: str
    base: float
    single: Sequence[Group]
    groups: Sequence[Group]
    idle: int
    runs: int
    looks: bool = False
    about: str = ""
    measured: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Parameters that were asked about."""
        return self.idle + sum(len(each.parameters) for each in (*self.single, *self.groups))

    @property
    def spread(self) -> float:
        """Standard deviation of the output, were effects to add and parameters uniform in their
        intervals: ``sqrt(sum of swing^2 / 12)``.
        """
        known = [each.swing for each in (*self.single, *self.groups)]
        return math.sqrt(sum(each**2 for each in known if each != math.inf) / 12)

    def share(self, group: Group) -> float:
        """The part of the output's variance that *group* causes, were effects to add."""
        return group.swing**2 / 12 / self.spread**2 if self.spread else 0.0

    def row(self, each: Group) -> dict[str, Any]:
        """Interval of a parameter that was told apart, output at both ends, swing, share of the
        variance, the suites that would see it.
        """
        parameter, (at_low, at_high) = each.parameters[0], each.ends
        return {
            "low": parameter.low,
            "high": parameter.high,
            "unit": parameter.unit,
            "at_low": at_low,
            "at_high": at_high,
            "swing": each.swing,
            "share": self.share(each),
            "suites": list(self.measured.get(each.name, ())),
        }

    def to_frame(self) -> pd.DataFrame:
        """A row (:meth:`row`) for each parameter that was told apart, the largest swing first."""
        import pandas as pd

        names = pd.Index([each.name for each in self.single], name="parameter")
        return pd.DataFrame([self.row(each) for each in self.single], index=names)


def screen(
    sampler: Sampler,
    parameters: Sequence[Parameter],
    output: str,
    *,
    runs: int = RUNS,
    seed: int = 1,
    watcher: Watcher | None = None,
) -> Screening:
    """Effects on *output* from at most *runs* runs, but one pair for each group of the beginning.

    Raises InputError: no parameter, an output without a value.
    """
    import numpy as np

    if not parameters:
        raise InputError(
            f"no parameter of {sampler.setup.node.name} has an interval: there is nothing to vary",
            "--node",
        )
    beginning = _beginning(parameters)
    sampler.ask(max(runs, 1 + 2 * len(beginning)))
    whole = replace(sampler, setup=replace(sampler.setup, looks=False))
    base = _base(whole, output)
    random = np.random.default_rng(seed)
    done = _Done(sampler, output, random, runs, watcher)
    open_ = done.moved(beginning)
    floor = NEGLIGIBLE * abs(base)
    short = sampler.setup.looks and runs < RUNS
    while True:
        several = [each for each in open_ if len(each.parameters) > 1 and each.swing > floor]
        several.sort(key=lambda each: -each.swing)
        left = max(0, runs - done.count) // 4
        known = short and len(max(open_, key=lambda each: each.swing).parameters) == 1
        if not several or not left or known:
            break
        # the first may need so many; others are halved beside it where more are left
        levels = math.ceil(math.log2(len(several[0].parameters)))
        chosen = several[: 1 if short else min(ROUND, left, max(1, left // levels))]
        halves = [half for each in chosen for half in _halves(each.parameters)]
        open_ = [each for each in open_ if each not in chosen] + done.moved(halves)
    if sampler.setup.looks:
        open_ = _checked(open_, floor, replace(done, sampler=whole))
    return _result(sampler, output, base, open_, floor, done.count)


def _result(
    sampler: Sampler, output: str, base: float, found: list[Group], floor: float, runs: int
) -> Screening:
    moving = sorted((e for e in found if e.swing > floor), key=lambda each: -each.swing)
    return Screening(
        output=output,
        strategy=sampler.strategy,
        base=base,
        single=[each for each in moving if len(each.parameters) == 1],
        groups=[each for each in moving if len(each.parameters) > 1],
        idle=sum(len(each.parameters) for each in found if each.swing <= floor),
        runs=runs,
        looks=sampler.setup.looks,
    )


@dataclass
class _Done:
    """Pairs of runs, and how many runs there were."""

    sampler: Sampler
    output: str
    random: np.random.Generator
    runs: int
    watcher: Watcher | None
    count: int = 1  # the run with every parameter at its value

    def moved(self, groups: Sequence[Sequence[Parameter]]) -> list[Group]:
        """The change of the output by each of *groups*."""
        samples: list[Settings] = []
        for group in groups:
            drawn = self.random.integers(0, 2, len(group))
            places = [0.0] if len(group) == 1 else [float(place) for place in drawn]
            for ends in (places, [1.0 - place for place in places]):
                samples.append(tuple((e.path, e.at(p)) for e, p in zip(group, ends, strict=True)))
        rows = self.sampler.rows(samples)
        self.count += len(rows)
        if self.watcher is not None:
            self.watcher(min(self.count, self.runs), self.runs, 0)
        values = [row[self.output] for row in rows]
        pairs = zip(groups, values[::2], values[1::2], strict=True)
        return [Group(parameters=tuple(group), ends=(low, high)) for group, low, high in pairs]


def _base(sampler: Sampler, output: str) -> float:
    """*output* with every parameter at its value."""
    (first,) = sampler.rows([()])
    base: float | None = first[output]
    if base is None:
        reason = first["error"] or f"{output} has no value here; choose another one"
        raise InputError(str(reason), "--output")
    return base


def _checked(found: list[Group], floor: float, done: _Done) -> list[Group]:
    """*found*, the largest single parameter in whole runs."""
    single = [each for each in found if len(each.parameters) == 1 and each.swing > floor]
    if not single:
        return found
    largest = max(single, key=lambda each: each.swing)
    others = [each for each in found if each is not largest]
    return others + done.moved([largest.parameters])


def _beginning(parameters: Sequence[Parameter]) -> list[list[Parameter]]:
    """Groups by the part of the machine: the first part of a path, of longer ones the first two."""
    found: dict[tuple[str, ...], list[Parameter]] = {}
    for each in parameters:
        parts = each.path.split(".")
        found.setdefault(tuple(parts[: 1 if len(parts) < 3 else 2]), []).append(each)
    return list(found.values())


def _halves(parameters: Sequence[Parameter]) -> tuple[Sequence[Parameter], Sequence[Parameter]]:
    middle = len(parameters) // 2
    return parameters[:middle], parameters[middle:]
