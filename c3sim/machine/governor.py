"""Lowers the clock at the power limit: once power, averaged over a while, has reached it.

A GPU may draw more than its limit for a moment. The average A follows the declared power P with one
time constant w (``gpu.clock.power_window``), from idle power on:

    dA/dt = (P - A) / w,    A(0) = P_idle

While the average is below the limit the clock stays at its maximum; from then on it is what
models/power.py gives. With w = 0 the limit acts at once. In the middle of a loop whose mean power
would pass the limit one clock is held for all of it (settling.py).

A GPU may also have a peak (``gpu.clock.peak_power``) that it never exceeds: the clock gives way to
it at once, whatever the average.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from c3sim.machine.settling import ByClock, Loads, Settled
from c3sim.models.power import clock_factor
from c3sim.spec.parts import Clock

# Part of the limit that rounding may leave when the average was foreseen to reach it.
REACHED = 1.0 - 1e-9


class Governor:
    """The clock of one GPU.

    *now()*: the time [s]; *again(s)*: ask for the factor again in s. *settled*: in the middle of a
    loop; None: the average is that of an idle GPU. *loads*: where it notes what goes on.
    """

    def __init__(
        self,
        clock: Clock,
        now: Callable[[], float],
        again: Callable[[float], None],
        settled: Settled | None = None,
        loads: Loads | None = None,
    ):
        self.clock, self.now, self.again = clock, now, again
        self.drawn = clock.idle_power  # W
        self.average = clock.idle_power if settled is None else settled.average
        self.held = None if settled is None else settled.clock
        self.loads = loads
        self._settled = now()

    def factor(
        self,
        power: Callable[[float], float],
        within: Callable[[float, float], float] | None = None,
        load: ByClock | None = None,
    ) -> float:
        """The clock factor from now on; *power(f)*: W at factor f of what goes on; *within(limit,
        minimum)*: :func:`clock_factor` of it, from who remembers that; *load*: both.
        """
        factor = self._factor(power, within or partial(clock_factor, drawn=power))
        if self.loads is not None and load is not None:
            self.loads.note(load, factor, self.now())
        return factor

    def _factor(
        self, power: Callable[[float], float], within: Callable[[float, float], float]
    ) -> float:
        clock, least = self.clock, self.clock.minimum / self.clock.maximum
        if clock.power_window == 0:
            return within(clock.power_limit, least)
        self._settle()
        if self.held is not None:
            peak = 1.0 if clock.peak_power is None else within(clock.peak_power, least)
            self.drawn = power(min(self.held, peak))
            return min(self.held, peak)
        if self.average >= clock.power_limit * REACHED:
            factor = within(clock.power_limit, least)
            self.drawn = power(factor)
            return factor
        factor = 1.0 if clock.peak_power is None else within(clock.peak_power, least)
        self.drawn = power(factor)
        above = self.drawn - clock.power_limit
        if above > 0.0 and factor > least:
            self.again(clock.power_window * math.log((self.drawn - self.average) / above))
        return factor

    def _settle(self) -> None:
        """Bring the average up to now."""
        left = math.exp((self._settled - self.now()) / self.clock.power_window)
        self.average = self.drawn + (self.average - self.drawn) * left
        self._settled = self.now()
