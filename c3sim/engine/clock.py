"""SimPy's clock, which also knows the flows between its events: their ends, and rates to be solved.

The end of a flow moves whenever another flow starts or ends. As an event of SimPy it would be
scheduled anew each time, and the old events would stay in the queue, to be popped in vain. So the
clock compares instead: what comes next is the earlier of the first event in the queue and the
earliest end of a flow.

Order of what happens at one instant:

1. the events in the queue, in SimPy's order (priority, then order of scheduling), with all that
   they schedule for now;
2. the ends of flows that are due, all at once; what they schedule for now comes next (1);
3. when neither is left, rates are solved, once for all changes.

So a flow that ends when a timeout does still exists when the timeout is processed, with no work
left. ``run(until=2.0)`` returns before ends at 2.0, as it does before timeouts. Times are compared
exactly: an end that rounding puts before an event comes first.

Most of what comes is a function to be called. It stands in the queue itself, in the order of a
timeout that is scheduled then: an event of SimPy with one callback would cost as much as the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Protocol

import simpy
from simpy.events import NORMAL, Event


class FlowSource(Protocol):
    """Interface of the flows for the clock."""

    due: float  # when the first of them ends [s]; math.inf: none does
    changed: bool  # since rates were solved, so that *due* may be wrong

    def solve(self) -> None: ...

    def end(self) -> None:
        """End the flows that are *due*: the clock stands there."""


class NoFlows:
    """A clock without flows: SimPy's."""

    due, changed = math.inf, False

    def solve(self) -> None: ...

    def end(self) -> None: ...


class Clock(simpy.Environment):
    """A `simpy.Environment` with flows."""

    now: float = 0.0  # a number, where SimPy has a property: it is asked for at each step

    def __init__(self, initial_time: float = 0.0):
        super().__init__(initial_time)
        self.now = initial_time
        self.flows: FlowSource = NoFlows()

    def attach(self, flows: FlowSource) -> None:
        """Order *flows* too from now on. Raises ValueError if the clock has flows already."""
        if not isinstance(self.flows, NoFlows):
            raise ValueError(
                "this clock has flows already; each fluid layer needs a clock of its own"
            )
        self.flows = flows

    def close(self) -> None:
        """The run is over: forget what has not come, so that what waits for it can be freed."""
        self._queue.clear()
        self.flows = NoFlows()

    def call(self, delay: float, then: Callable[[], object]) -> None:
        """Call *then()* in *delay* s. Raises ValueError if that is negative."""
        if delay < 0:
            raise ValueError(f"negative delay {delay}")
        queue: list[Any] = self._queue  # of events, or functions
        heappush(queue, (self.now + delay, NORMAL, next(self._eid), then))

    def peek(self) -> float:
        """Time [s] of the next event: now, if rates have to be solved."""
        return self._now if self.flows.changed else min(super().peek(), self.flows.due)

    def step(self) -> None:
        """Process the next event, or the next ends of flows.

        Raises `simpy.core.EmptySchedule` if nothing is left.
        """
        queue, flows = self._queue, self.flows
        scheduled = queue[0][0] if queue else math.inf
        instant_is_over = flows.changed and scheduled > self.now and flows.due > self.now
        if instant_is_over:
            flows.solve()
            scheduled = queue[0][0] if queue else math.inf  # rules of states may schedule more
        if flows.due < scheduled:
            self.now = self._now = flows.due
            flows.end()
        elif queue and not isinstance(queue[0][3], Event):
            self.now, _, _, then = heappop(queue)
            self._now = self.now
            then()
        elif queue or not instant_is_over:
            self.now = scheduled if queue else self._now
            super().step()
