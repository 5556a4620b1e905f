"""The answer of a study as a band, and what it says about published means.

With the mean m of a strategy over the study's own pairs, its mean d_i in draw i by one of its
yardsticks less the usual one, and its mean t_j over the other table j of pairs less the own one,
the band is that of all

    m + d_i + t_j

Draws and tables are independent. A published mean is inside the band or not. The published order
holds in so many of these sums, in which all strategies share i and j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from statistics import fmean
from typing import TYPE_CHECKING

from c3sim.studies.c3.effects import Change, Target, largest
from c3sim.studies.c3.replay import Fractions
from c3sim.studies.plain import IF_KNOWN

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """The change that moves something most, and *by* how much."""

    name: str
    value: str
    by: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanBand:
    """The mean fraction of a strategy: as the study has it, 5th percentile, median and 95th.

    *pairs*: the 5th and 95th percentile over other tables of pairs alone. *inside*: whether the
    *published* mean lies between *low* and *high*.
    """

    usual: float
    low: float
    median: float
    high: float
    pairs: tuple[float, float] | None = field(default=None, metadata=IF_KNOWN)
    published: float | None = None
    inside: bool | None = None
    most: Moved | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Margin:
    """The mean of *higher* less that of *lower*, which published means say is positive: *usual*,
    *low* to *high* (5th and 95th percentile), and the share of sums in which it *holds*. *best*:
    the change that raises it most.
    """

    lower: str
    higher: str
    usual: float
    low: float
    high: float
    holds: float
    most: Moved | None = None
    best: Moved | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """*groups* of strategies, each published below the next one; no order is published inside a
    group. *holds*: the share of sums in which all *margins* are positive.
    """

    groups: Sequence[Sequence[str]]
    holds: float
    margins: Sequence[Margin]

    @property
    def weakest(self) -> Margin:
        """The margin that holds least often."""
        return min(self.margins, key=lambda margin: (margin.holds, margin.usual))


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """An assumption for readers: its usual condition, the alternatives, why it is not known."""

    name: str
    usual: str
    alternatives: Sequence[str]
    unknown: str
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """What the draws were of. *failed*: draws whose values exclude each other; *yardsticks*: by
    which each is measured; *tables*: other tables of pairs; *skipped*: scenarios that no draw
    simulates.
    """

    draws: int
    failed: int
    yardsticks: int
    seed: int
    parameters: int
    tables: int
    skipped: Sequence[str]
    assumptions: Sequence[Condition]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """*changes*: one thing at a time, those of parameters as far as they matter most."""

    drawn: Drawn
    strategies: Mapping[str, MeanBand]
    changes: Sequence[Change]
    order: Order | None = field(default=None, metadata=IF_KNOWN)


class Sums:
    """All sums m + d_i + t_j of a strategy or a target.

    *own*: the means m; *draws*: means in draws over the scenarios whose usual means are *usual*;
    *tables*: strategy -> means over other tables.
    """

    def __init__(
        self,
        own: Fractions,
        usual: Fractions,
        draws: Sequence[Fractions],
        tables: Mapping[str, Sequence[float]],
    ) -> None:
        self.own, self.usual, self.draws, self.tables = own, usual, draws, tables

    def of(self, target: Target) -> np.ndarray:
        """Draws one after the other, each with all tables."""
        import numpy as np

        total = np.zeros(1)
        for name, weight in target.items():
            shifts = [means[name] - self.usual[name] for means in self.draws] or [0.0]
            others = [mean - self.own[name] for mean in self.tables.get(name, ())] or [0.0]
            sums = self.own[name] + np.add.outer(np.array(shifts), np.array(others))
            total = total + weight * sums.ravel()
        return total

    def pair_changes(self, targets: Mapping[str, Target]) -> list[Change]:
        """What other tables alone do to each of *targets*, by the name of a strategy: the 5th and
        the 95th percentile.
        """
        import numpy as np

        if not self.tables:
            return []
        of_tables = Sums(self.own, self.usual, (), self.tables)
        moves = {
            name: of_tables.of(target) - sum(w * self.own[each] for each, w in target.items())
            for name, target in targets.items()
        }
        return [
            Change(
                kind="pairs",
                name="choice of pairs",
                value=f"{100 * share:.0f} % of tables below",
                by={name: float(np.quantile(values, share)) for name, values in moves.items()},
            )
            for share in (0.05, 0.95)
        ]


def mean_band(
    name: str, sums: Sums, published: float | None, changes: Sequence[Change]
) -> MeanBand:
    import numpy as np

    low, middle, high = (float(end) for end in np.quantile(sums.of({name: 1.0}), (0.05, 0.5, 0.95)))
    tables = sums.tables.get(name)
    ends = np.quantile(np.array(tables), (0.05, 0.95)) if tables else None
    return MeanBand(
        usual=sums.own[name],
        low=low,
        median=middle,
        high=high,
        pairs=None if ends is None else (float(ends[0]), float(ends[1])),
        published=published,
        inside=None if published is None else low <= published <= high,
        most=moved(changes, {name: 1.0}),
    )


def moved(changes: Sequence[Change], target: Target) -> Moved | None:
    """The change that moves *target* most."""
    change = largest(changes, target)
    if change is None:
        return None
    return Moved(name=change.name, value=change.value, by=change.on(target))


def order_of(
    groups: Sequence[Sequence[str]], sums: Sums, changes: Sequence[Change]
) -> Order | None:
    """How often *groups* come in this order; None where fewer than two are left."""
    known = [[name for name in group if name in sums.own] for group in groups]
    known = [group for group in known if group]
    if len(known) < 2:
        return None
    margins, held = [], []
    for below, above in pairwise(known):
        for lower, higher in product(below, above):
            target = {higher: 1.0, lower: -1.0}
            values = sums.of(target)
            held.append(values > 0)
            margins.append(_margin(lower, higher, values, sums, changes))
    holds = fmean(float(all(each)) for each in zip(*held, strict=True))
    return Order(groups=known, holds=holds, margins=margins)


def _margin(
    lower: str, higher: str, values: np.ndarray, sums: Sums, changes: Sequence[Change]
) -> Margin:
    import numpy as np

    low, high = (float(end) for end in np.quantile(values, (0.05, 0.95)))
    target = {higher: 1.0, lower: -1.0}
    # a table that is low for one strategy need not be low for the other
    alone = [change for change in changes if change.kind != "pairs"]
    raising = [change for change in alone if change.on(target) > 0]
    return Margin(
        lower=lower,
        higher=higher,
        usual=sums.own[higher] - sums.own[lower],
        low=low,
        high=high,
        holds=float(np.mean(values > 0)),
        most=moved(alone, target),
        best=moved(raising, target),
    )
