"""The one clock at which a loop settles whose power would pass the limit.

A governor looks at an average over tens of milliseconds (``gpu.clock.power_window``), so its clock
changes slower than kernels end: in the middle of a loop it holds one factor f for all of them, at
which the mean power of a turn is the limit L:

    sum_i P_i(g_i) t_i(f) = L sum_i t_i(f)
    t_i(f) = T_i r_i(f_i) / r_i(g_i),    g_i = min(f, peak_i)

    P_i    power of load i by clock factor [W]
    T_i    how long a first turn had it [s], at factor f_i
    r_i    mean rate of its flows by factor, against that at the maximum
    peak_i the largest factor at which its peak is kept (``gpu.clock.peak_power``)

Both sums grow linearly with equal layers, so those of many layers are on the line through those of
two numbers of them (:meth:`Turn.at`). A turn has both sums at a few factors; between these the mean
power is a parabola in logarithms.

(Steps on one H200: docs/decisions/140-one-clock-for-a-step.md.)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from c3sim.models.power import clock_factor
from c3sim.spec.parts import Clock

#: Intervals between the factors at which a turn has its sums.
INTERVALS = 16


class Settled(NamedTuple):
    """A GPU in the middle of a loop: the *average* of its power [W], and the *clock* factor that
    it holds; None: below the limit, where it holds none.
    """

    average: float
    clock: float | None = None


class Sums(NamedTuple):
    """What a turn takes of a GPU at one clock: *energy* [J], *seconds*."""

    energy: float
    seconds: float

    def at(self, other: Sums, share: float) -> Sums:
        """The sums on the line to *other*, at this *share* of the way (1: there)."""
        return Sums(
            self.energy + share * (other.energy - self.energy),
            self.seconds + share * (other.seconds - self.seconds),
        )


class Turn(NamedTuple):
    """A turn of a loop before its clock has settled: what it took of a GPU, and what it would take
    by the factor that is held, from the least one on; nothing where no load passes the limit.
    """

    taken: Sums
    held: Mapping[float, Sums]

    def at(self, other: Turn, here: int, there: int, layers: int) -> Turn:
        """On the line through this one (*here* layers) and *other* (*there*), at *layers*."""
        share = (layers - here) / (there - here)
        both = self.held.keys() & other.held.keys()
        held = {f: self.held[f].at(other.held[f], share) for f in self.held if f in both}
        return Turn(self.taken.at(other.taken, share), held)

    def settled(self, clock: Clock, iterations: int) -> Settled:
        """A GPU after half of so many turns."""

        def behind(turn: Sums) -> float:
            share = 1.0 - math.exp(-(iterations // 2) * self.taken.seconds / clock.power_window)
            return clock.idle_power + (turn.energy / turn.seconds - clock.idle_power) * share

        if self.held and behind(self.held[1.0]) >= clock.power_limit:
            return Settled(clock.power_limit, self._clock(clock))
        return Settled(min(clock.power_limit, behind(self.taken)))

    def _clock(self, clock: Clock) -> float:
        """The factor at which the mean power is the limit."""
        factors = list(self.held)
        places = [math.log(factor) for factor in factors]
        watts = [math.log(turn.energy / turn.seconds) for turn in self.held.values()]

        def drawn(factor: float) -> float:
            first = min(max(bisect_left(factors, factor) - 1, 0), len(factors) - 3)
            three = slice(first, first + 3)
            by = _weights(math.log(factor), places[three])
            return math.exp(sum(w * each for w, each in zip(by, watts[three], strict=True)))

        return clock_factor(clock.power_limit, factors[0], drawn)


def _weights(place: float, three: list[float]) -> tuple[float, float, float]:
    """Parts that the values at *three* places have in the parabola through them, at *place*."""
    (a, b, c), x = three, place
    return (
        (x - b) * (x - c) / ((a - b) * (a - c)),
        (x - a) * (x - c) / ((b - a) * (b - c)),
        (x - a) * (x - b) / ((c - a) * (c - b)),
    )


class ByClock(Protocol):
    """A load by clock factor."""

    def power(self, clock: float) -> float:
        """W."""

    def within(self, limit: float, minimum: float) -> float:
        """The largest factor from *minimum* on at which *limit* [W] is kept."""

    def pace(self, clock: float) -> float:
        """Mean rate of what goes on, against that at the maximum."""


@dataclass(slots=True)
class Loads:
    """The loads of a turn, with the factor and the seconds of each."""

    seconds: dict[tuple[ByClock, float], float] = field(default_factory=dict)
    _last: tuple[ByClock, float, float] | None = None

    def note(self, load: ByClock, factor: float, now: float) -> None:
        """*load* goes on at *factor* from *now* on."""
        self.until(now)
        self._last = load, factor, now

    def until(self, now: float) -> None:
        """Count what went on up to *now*."""
        if self._last is None:
            return
        load, factor, since = self._last
        self.seconds[load, factor] = self.seconds.get((load, factor), 0.0) + now - since
        self._last = load, factor, now

    def held(self, clock: Clock) -> dict[float, Sums]:
        """What the turn would take by the factor that is held; see :class:`Turn`."""
        if all(load.power(1.0) <= clock.power_limit for load, _ in self.seconds):
            return {}
        least = clock.minimum / clock.maximum
        step = (1.0 - least) / INTERVALS
        return {
            factor: self._at(factor, clock.peak_power, least)
            for factor in (*[least + step * i for i in range(INTERVALS)], 1.0)
        }

    def _at(self, factor: float, peak: float | None, least: float) -> Sums:
        energy = time = 0.0
        for (load, was), seconds in self.seconds.items():
            given = factor if peak is None else min(factor, load.within(peak, least))
            lasts = seconds * load.pace(was) / load.pace(given)
            energy, time = energy + load.power(given) * lasts, time + lasts
        return Sums(energy, time)
