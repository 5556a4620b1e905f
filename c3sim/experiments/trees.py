"""A heuristic that names a schedule from static sizes alone.

Of a GEMM of M x K and K x N numbers it knows

    intensity   2 M N K / (2 B (M K + K N + M N))    FLOP per byte
    footprint   M K + K N + M N                      numbers
    aspect      M / K

It is a decision tree of at most two levels: a threshold on one of them, behind each side another.
Of all such trees the fit takes the one whose schedules lose the least over what it was given, the
first of them on a tie. How many levels pay is found by leaving out one GEMM after the other: more
only where that loses less on those left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean
from typing import NamedTuple

from c3sim.experiments.study import Row

FEATURES = ("intensity", "footprint", "aspect")
LEVELS = 2


class Sizes(NamedTuple):
    """Static sizes of one GEMM."""

    intensity: float
    footprint: float
    aspect: float

    @classmethod
    def of(cls, m: int, n: int, k: int) -> Sizes:
        numbers = m * k + k * n + m * n
        return cls(m * n * k / numbers, float(numbers), m / k)


class Seen(NamedTuple):
    """A scenario of *gemm*: its sizes, and the time [s] of each schedule."""

    gemm: str
    sizes: Sizes
    times: Mapping[str, float]

    def loss(self, name: str) -> float:
        """The loss of the schedule *name*; infinite where it does not apply."""
        return self.times.get(name, float("inf")) / min(self.times.values()) - 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """*below* where the *feature* is less than *threshold*, else *above*; a name is a leaf."""

    feature: str
    threshold: float
    below: Tree | str
    above: Tree | str

    def choose(self, sizes: Sizes) -> str:
        side = self.below if getattr(sizes, self.feature) < self.threshold else self.above
        return side if isinstance(side, str) else side.choose(sizes)

    @property
    def text(self) -> str:
        """In words, on one line."""
        below, above = (
            side if isinstance(side, str) else f"({side.text})" for side in (self.below, self.above)
        )
        return f"{self.feature} < {self.threshold:.3g} ? {below} : {above}"


def fit(seen: Sequence[Seen], names: Sequence[str]) -> Tree | str:
    """The tree, or the one schedule, that loses least over *seen*."""

    def lost(levels: int) -> float:
        """On each GEMM in turn, fitted on the others."""
        total = 0.0
        for gemm in dict.fromkeys(each.gemm for each in seen):
            tree = _fit([each for each in seen if each.gemm != gemm], names, levels)[0]
            out = (each for each in seen if each.gemm == gemm)
            total += sum(each.loss(choice(tree, each.sizes)) for each in out)
        return total

    levels = min(range(LEVELS + 1), key=lost) if len({each.gemm for each in seen}) > 1 else 0
    return _fit(seen, names, levels)[0]


def _fit(seen: Sequence[Seen], names: Sequence[str], levels: int) -> tuple[Tree | str, float]:
    """The best tree of *levels*, and what it loses over *seen*."""
    if levels == 0:
        return _leaf(seen, names)
    return _split(seen, lambda part: _fit(part, names, levels - 1))


def _leaf(seen: Sequence[Seen], names: Sequence[str]) -> tuple[Tree | str, float]:
    losses = {name: sum(each.loss(name) for each in seen) for name in names}
    best = min(losses, key=losses.__getitem__)
    return best, losses[best]


def _split(
    seen: Sequence[Seen], below_it: Callable[[Sequence[Seen]], tuple[Tree | str, float]]
) -> tuple[Tree | str, float]:
    """The best threshold on one feature, each side as *below_it* makes it, or none."""
    best, least = below_it(seen)
    for feature in FEATURES:
        values = sorted({getattr(each.sizes, feature) for each in seen})
        for low, high in pairwise(values):
            threshold = sqrt(low * high)
            sides: tuple[list[Seen], list[Seen]] = ([], [])
            for each in seen:
                sides[getattr(each.sizes, feature) >= threshold].append(each)
            (below, lost), (above, more) = (below_it(side) for side in sides)
            if lost + more < least - 1e-12 and below != above:
                least = lost + more
                best = Tree(feature=feature, threshold=threshold, below=below, above=above)
    return best, least


def choice(tree: Tree | str, sizes: Sizes) -> str:
    return tree if isinstance(tree, str) else tree.choose(sizes)


def scored(rows: Sequence[Row], fitted: set[str], names: Sequence[str]) -> Row | None:
    """The score of a heuristic fitted on the GEMMs *fitted* of *rows*, which get its choices: how
    often it names the best of *names* for the other GEMMs, and the mean loss where it does not
    (None: always right). *swapped*: the same with the halves swapped; *fixed*: the one schedule
    that loses least on what it was fitted on, taken always. Rows that not all of them can split are
    left out.
    """
    full = [row for row in rows if set(names) <= set(row.schedules)]
    known = [_seen(row, names) for row in full if row.gemm in fitted]
    unseen = [_seen(row, names) for row in full if row.gemm not in fitted]
    if not known or not unseen:
        return None
    tree = fit(known, names)
    fixed = min(names, key=lambda name: sum(each.loss(name) for each in known))
    for row in full:
        name = choice(tree, _seen(row, names).sizes)
        row.update(heuristic=name, loss=_seen(row, names).loss(name), fitted=row.gemm in fitted)
    hits, loss = _score(unseen, tree)
    swapped_hits, swapped_loss = _score(known, fit(unseen, names))
    fixed_hits, fixed_loss = _score(unseen, fixed)
    return Row(
        hit_rate=hits,
        mean_loss=loss,
        scenarios=len(unseen),
        rule=tree if isinstance(tree, str) else tree.text,
        swapped_hit_rate=swapped_hits,
        swapped_mean_loss=swapped_loss,
        fixed=fixed,
        fixed_hit_rate=fixed_hits,
        fixed_mean_loss=fixed_loss,
    )


GemmBy = tuple[str, str]  # a GEMM, and what moves its bytes
Times = Mapping[GemmBy, Mapping[str, float]]  # of each schedule


def regrets(
    predicted: Times, measured: Times, sizes: Mapping[str, Sizes]
) -> dict[str, list[float]]:
    """Regret of each chooser, GEMM by GEMM: the *measured* time of its schedule over that of the
    best, less 1. Constant and rule are made from all other GEMMs: the constant from what was
    measured of them, the rule from what was *predicted*.
    """
    found: dict[str, list[float]] = {"simulator": [], "constant": [], "rule": []}
    for (gemm, by), times in measured.items():
        others = [(g, b) for g, b in measured if b == by and g != gemm]
        if gemm not in sizes or not others:
            continue
        names = [name for name in times if all(name in measured[other] for other in others)]
        here, there = predicted[gemm, by], [Seen(g, sizes[g], measured[g, b]) for g, b in others]
        known = [Seen(g, sizes[g], predicted[g, b]) for g, b in others]
        chosen = {
            "simulator": min(names, key=here.__getitem__),
            "constant": min(names, key=lambda name: sum(each.loss(name) for each in there)),
            "rule": choice(fit(known, names), sizes[gemm]),
        }
        best = min(times[name] for name in names)
        for who, name in chosen.items():
            found[who].append(times[name] / best - 1)
    return found


def _seen(row: Row, names: Sequence[str]) -> Seen:
    times = {name: row.schedules[name].time_s for name in names}
    return Seen(row.gemm, Sizes.of(row.m, row.n, row.k), times)


def _score(seen: Sequence[Seen], tree: Tree | str) -> tuple[float, float | None]:
    """Share of hits; mean loss over the misses."""
    losses = [each.loss(choice(tree, each.sizes)) for each in seen]
    misses = [loss for loss in losses if loss > 0]
    return 1.0 - len(misses) / len(losses), fmean(misses) if misses else None
