"""When the power limit lowers the clock: once power, averaged over a while, has come up to it.

A GPU may draw more than its limit for a moment. The average follows what the flows declare, P, with one time constant w
(``gpu.clock.power_window``), from idle power on:

    dA/dt = (P - A) / w,    A(0) = P_idle

As long as A is below the limit the clock stays at its maximum; from then on it is what models/power.py gives. With
w = 0 the limit acts at once: the steady state of a loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import simpy

from c3sim.models.power import Load, clock_factor, power
from c3sim.specs.hardware import Clock

__all__ = ["Governor"]


class Governor:
    """The clock of one GPU. *again* is called when the clock changes although no flow began or ended."""

    def __init__(self, clock: Clock, env: simpy.Environment, again: Callable[[], None]):
        self.clock, self.env, self.again = clock, env, again
        self.average = self.drawn = clock.idle_power  # W
        self._settled = env.now
        self._token = 0

    def factor(self, loads: tuple[Load, ...]) -> float:
        """The clock factor from now on, with *loads* going on."""
        clock = self.clock
        minimum = clock.minimum / clock.maximum
        held = clock_factor(clock.power_limit, clock.idle_power, clock.voltage_exponent, minimum, loads)
        if clock.power_window == 0:
            return held
        self._settle()
        self._token += 1  # what was foreseen no longer holds
        factor = held if self.average >= clock.power_limit else 1.0
        self.drawn = power(factor, clock.idle_power, clock.voltage_exponent, loads)
        if held < 1.0 and factor == 1.0:
            self._call_at_limit()
        return factor

    def _settle(self) -> None:
        """Bring the average up to now."""
        left = math.exp((self._settled - self.env.now) / self.clock.power_window)
        self.average = self.drawn + (self.average - self.drawn) * left
        self._settled = self.env.now

    def _call_at_limit(self) -> None:
        above = self.drawn - self.clock.power_limit
        wait = self.clock.power_window * math.log((self.drawn - self.average) / above)
        token = self._token

        def reached(_event: simpy.Event) -> None:
            if token == self._token:
                self._settle()
                self.average = max(self.average, self.clock.power_limit)
                self.again()

        self.env.timeout(wait).callbacks.append(reached)
