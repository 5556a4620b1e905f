"""Shares of kinds of sharing in figures of a run: what each adds, averaged over all orders in which
they can be added (Shapley values, see explanation.py), and what taking one away saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import Any, TypeVar

Kinds = frozenset[str]
NONE: Kinds = frozenset()
SAME = 1e-9  # relative; figures that differ by less are the same
SEVERAL = "three_or_more"  # what no kind has a share in by its first and last contribution
Of = TypeVar("Of")
#: Called with what is being done, how many of it are done, and of how many.
Progress = Callable[[str, int, int], None]
#: Gives a function of each item, in order, as ``map`` does: here, or in several processes.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One figure of a run [s]: *unshared_s* + the sum of *causes_s* = *time_s*. *removal_s*: what
    it gains where one kind of sharing alone is taken away.
    """

    time_s: float
    unshared_s: float
    causes_s: Mapping[str, float]
    removal_s: Mapping[str, float]

    @property
    def shared_s(self) -> float:
        """Time [s] that all kinds of sharing add."""
        return self.time_s - self.unshared_s

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "time_s": self.time_s,
            "unshared_s": self.unshared_s,
            "causes_s": dict(self.causes_s),
            "removal_s": dict(self.removal_s),
        }


def parts_of(
    figures: Mapping[Kinds, Mapping[str, float]], kinds: Sequence[str], matter: Sequence[str]
) -> dict[str, Part]:
    """Every figure of the run that shares all *kinds*, split; *figures* of each run, by the kinds
    that it shares: as :func:`runs_of_kinds` gives them. A figure that a run lacks is 0 there. Where
    not all orders of *matter* were run, by first and last contributions, and SEVERAL has the rest.
    """
    every = all(each in figures for each in _subsets(matter))
    whole = frozenset(kinds)

    def part(name: str) -> Part:
        def at(shared: Kinds) -> float:
            return figures[shared].get(name, 0.0)

        causes = shapley(matter, at) if every else first_and_last(matter, kinds, at)
        return Part(
            time_s=at(whole),
            unshared_s=at(whole) - sum(causes.values()),
            causes_s=causes,
            removal_s={kind: at(whole) - at(whole - {kind}) for kind in kinds},
        )

    return {name: part(name) for name in figures[whole]}


def runs_of_kinds(
    run: Callable[[Kinds], Of],
    figures: Callable[[Of], Mapping[str, float]],
    kinds: Sequence[str],
    progress: Progress | None = None,
    *,
    orders: bool = True,
    each: Each = map,
) -> tuple[dict[Kinds, Of], tuple[str, ...]]:
    """The runs that a split needs, by the kinds that they share, and the kinds that matter to some
    figure: all kinds shared, none, each alone, all but one; for all *orders* every subset of those
    that matter. *progress* hears of each; how many there are is known once the kinds that matter
    are. *each*: how they are gone through.
    """
    whole = frozenset(kinds)
    runs: dict[Kinds, Of] = {}

    def run_each(wanted: Sequence[Kinds]) -> None:
        missing = [shared for shared in dict.fromkeys(wanted) if shared not in runs]
        for shared, found in zip(missing, each(run, missing), strict=True):
            runs[shared] = found
            if progress is not None:
                progress("causes", len(runs), len({*runs, *missing}))

    single = [(whole - {kind}, frozenset({kind})) for kind in kinds]
    run_each([whole, NONE, *(each for pair in single for each in pair)])
    known = {shared: figures(each) for shared, each in runs.items()}

    def differ(one: Kinds, other: Kinds) -> bool:
        return any(
            abs(value - known[other].get(name, 0.0)) > SAME * abs(value)
            for name, value in known[one].items()
        )

    matter = tuple(
        kind for kind in kinds if differ(whole, whole - {kind}) or differ(NONE, frozenset({kind}))
    )
    if orders:
        run_each(list(_subsets(matter)))
    return runs, matter


def shapley(kinds: Sequence[str], time: Callable[[Kinds], float]) -> dict[str, float]:
    """The share of each of *kinds* in *time* of all of them, less that of none."""
    shares = dict.fromkeys(kinds, 0.0)
    for kind in kinds:
        for before in _subsets([each for each in kinds if each != kind]):
            weight = _weight(len(before), len(kinds))
            shares[kind] += weight * (time(before | {kind}) - time(before))
    return shares


def first_and_last(
    matter: Sequence[str], kinds: Sequence[str], time: Callable[[Kinds], float]
) -> dict[str, float]:
    """The mean of what each of *matter* adds as the first and as the last of *kinds*: that over all
    orders, where no three of them act together; SEVERAL has what they do not add up to.
    """
    whole = frozenset(kinds)
    none, all_of_them = time(NONE), time(whole)
    shares = {
        kind: (time(frozenset({kind})) - none + all_of_them - time(whole - {kind})) / 2
        for kind in matter
    }
    return shares | {SEVERAL: all_of_them - none - sum(shares.values())}


def _subsets(kinds: Sequence[str]) -> Iterator[Kinds]:
    for count in range(len(kinds) + 1):
        yield from map(frozenset, combinations(kinds, count))


def _weight(before: int, kinds: int) -> float:
    """The share of all orders of *kinds* in which a given set of *before* comes first, and then a
    given other kind.
    """
    return factorial(before) * factorial(kinds - before - 1) / factorial(kinds)
