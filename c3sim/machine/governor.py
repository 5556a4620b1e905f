"""When the power limit lowers the clock: once power, averaged over a while, has reached it.

A GPU may draw more than its limit for a moment. The average A follows the declared power P with one
time constant w (``gpu.clock.power_window``), from idle power on:

    dA/dt = (P - A) / w,    A(0) = P_idle

While the average is below the limit the clock stays at its maximum; from then on it is what
models/power.py gives. With w = 0 the limit acts at once: the steady state of a loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from c3sim.models.power import Load, clock_factor, power
from c3sim.specs.energies import Clock

# Of the limit: what rounding may leave when the average was foreseen to reach it.
REACHED = 1.0 - 1e-9


class Governor:
    """The clock of one GPU. *now()*: the time [s]; *again(s)*: ask for the factor again in s."""

    def __init__(self, clock: Clock, now: Callable[[], float], again: Callable[[float], None]):
        self.clock, self.now, self.again = clock, now, again
        self.average = self.drawn = clock.idle_power  # W
        self._settled = now()

    def factor(self, loads: tuple[Load, ...]) -> float:
        """The clock factor from now on, with *loads* going on."""
        clock = self.clock
        minimum = clock.minimum / clock.maximum
        held = clock_factor(
            clock.power_limit, clock.idle_power, clock.voltage_exponent, minimum, loads
        )
        if clock.power_window == 0:
            return held
        self._settle()
        factor = held if self.average >= clock.power_limit * REACHED else 1.0
        self.drawn = power(factor, clock.idle_power, clock.voltage_exponent, loads)
        if held < factor:
            above = self.drawn - clock.power_limit
            self.again(clock.power_window * math.log((self.drawn - self.average) / above))
        return factor

    def _settle(self) -> None:
        """Bring the average up to now."""
        left = math.exp((self._settled - self.now()) / self.clock.power_window)
        self.average = self.drawn + (self.average - self.drawn) * left
        self._settled = self.now()
