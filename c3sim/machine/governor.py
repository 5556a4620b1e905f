"""When the power limit lowers the clock: once power, averaged over a while, has reached it.

A GPU may draw more than its limit for a moment. The average A follows the declared power P with one
time constant w (``gpu.clock.power_window``), from idle power on:

    dA/dt = (P - A) / w,    A(0) = P_idle

While the average is below the limit the clock stays at its maximum; from then on it is what
models/power.py gives. With w = 0 the limit acts at once: the steady state of a loop.

A GPU may also have a peak (``gpu.clock.peak_power``) that it never exceeds: the clock gives way to
it at once, whatever the average.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from c3sim.models.power import clock_factor
from c3sim.specs.energies import Clock

# Of the limit: what rounding may leave when the average was foreseen to reach it.
REACHED = 1.0 - 1e-9


class Governor:
    """The clock of one GPU.

    *now()*: the time [s]; *again(s)*: ask for the factor again in s. *average*: of the power [W] so
    far; None: that of an idle GPU.
    """

    def __init__(
        self,
        clock: Clock,
        now: Callable[[], float],
        again: Callable[[float], None],
        average: float | None = None,
    ):
        self.clock, self.now, self.again = clock, now, again
        self.drawn = clock.idle_power  # W
        self.average = clock.idle_power if average is None else average
        self._settled = now()

    def factor(self, power: Callable[[float], float]) -> float:
        """The clock factor from now on; *power(f)*: W at factor f of what goes on."""
        clock = self.clock
        if clock.power_window == 0:
            return self._within(clock.power_limit, power)
        self._settle()
        most = 1.0 if clock.peak_power is None else self._within(clock.peak_power, power)
        reached = self.average >= clock.power_limit * REACHED
        if most == 1.0 and not reached and clock.minimum < clock.maximum:
            # whether the limit would hold the clock down is enough to know
            held = 1.0 if power(1.0) <= clock.power_limit else clock.minimum / clock.maximum
        else:
            held = self._within(clock.power_limit, power)
        factor = held if reached else most
        self.drawn = power(factor)
        if held < factor:
            above = self.drawn - clock.power_limit
            self.again(clock.power_window * math.log((self.drawn - self.average) / above))
        return factor

    def _within(self, watts: float, power: Callable[[float], float]) -> float:
        """The largest clock factor at which no more than *watts* are drawn."""
        return clock_factor(watts, self.clock.minimum / self.clock.maximum, power)

    def _settle(self) -> None:
        """Bring the average up to now."""
        left = math.exp((self._settled - self.now()) / self.clock.power_window)
        self.average = self.drawn + (self.average - self.drawn) * left
        self._settled = self.now()
