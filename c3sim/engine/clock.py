"""SimPy's clock, which also knows what proceeds between its events: flows that end, and rates that
must be solved first.

A flow's end moves whenever another comes or goes. As an event of SimPy it would be scheduled anew each time, and what was
scheduled before would stay in the queue, to be popped in vain. So the clock asks instead: what comes next is the earlier of
the first event in the queue and the earliest end of a flow.

Order of what happens at one instant:

1. the events in the queue, in SimPy's order (priority, then who was scheduled first), with all that
they schedule for now;
2. the ends of flows that are due, all at once, whatever they schedule for now coming next (1);
3. when nothing of either is left, rates are solved, once for all that came and went.

So a flow that ends when a timeout does is still there when that is processed, and has nothing left to do;
``run(until=2.0)`` returns before ends at 2.0, as it does before timeouts. Times are compared as they are: an end that
rounding puts before an event comes first.
"""

from __future__ import annotations

import math
from typing import Protocol

import simpy


class Proceeding(Protocol):
    """What the clock asks of those that proceed between events."""

    due: float  # when the first of them ends [s]; math.inf: none does
    changed: bool  # since rates were solved, so that *due* may be wrong

    def solve(self) -> None: ...

    def end(self) -> None:
        """It is *due*: the clock stands there."""


class Nothing:
    """Nothing proceeds: a clock as SimPy made it."""

    due, changed = math.inf, False

    def solve(self) -> None: ...

    def end(self) -> None: ...


class Clock(simpy.Environment):
    """A `simpy.Environment` with flows: everything that SimPy does with an environment it does with
    this.
    """

    def __init__(self, initial_time: float = 0.0):
        super().__init__(initial_time)
        self.proceeding: Proceeding = Nothing()

    def attach(self, proceeding: Proceeding) -> None:
        """Ask *proceeding* from now on. Raises ValueError where somebody is asked already."""
        if not isinstance(self.proceeding, Nothing):
            raise ValueError(
                "this clock has flows already; each fluid layer needs a clock of its own"
            )
        self.proceeding = proceeding

    def peek(self) -> float:
        """When something happens next [s]: now, if rates have to be solved."""
        proceeding = self.proceeding
        return self._now if proceeding.changed else min(super().peek(), proceeding.due)

    def step(self) -> None:
        """Process the next event, or the next ends of flows. Raises `simpy.core.EmptySchedule` if
        nothing is left.
        """
        queue, proceeding = self._queue, self.proceeding
        scheduled = queue[0][0] if queue else math.inf
        over = proceeding.changed and scheduled > self._now and proceeding.due > self._now
        if over:  # nothing else is left to happen now
            proceeding.solve()
            scheduled = (
                queue[0][0] if queue else math.inf
            )  # whoever is asked for a state may schedule more
        if proceeding.due < scheduled:
            self._now = proceeding.due
            proceeding.end()
        elif queue or not over:
            super().step()
