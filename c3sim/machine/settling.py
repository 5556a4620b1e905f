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

(Steps on one H200: docs/decisions/140-one-clock-for-a-step.md.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from c3sim.models.power import clock_factor
from c3sim.spec.parts import Clock


class Settled(NamedTuple):
    """A GPU in the middle of a loop: the *average* of its power [W], and the *clock* factor that
    it holds; None: below the limit, where it holds none.
    """

    average: float
    clock: float | None = None


class Turn(NamedTuple):
    """What a turn would draw at full clock [W], and the factor at which it keeps to the limit."""

    drawn: float
    clock: float


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

    def turn(self, clock: Clock) -> Turn | None:
        """What the turn would draw; None: nothing went on."""
        least = clock.minimum / clock.maximum
        if not sum(self.seconds.values()):
            return None

        def drawn(factor: float) -> float:
            energy = time = 0.0
            for (load, was), seconds in self.seconds.items():
                peak = clock.peak_power
                given = factor if peak is None else min(factor, load.within(peak, least))
                lasts = seconds * load.pace(was) / load.pace(given)
                energy, time = energy + load.power(given) * lasts, time + lasts
            return energy / time

        return Turn(drawn(1.0), clock_factor(clock.power_limit, least, drawn))
