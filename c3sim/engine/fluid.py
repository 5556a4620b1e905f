"""Fluid layer: flows that share capacities, on a clock.

- A *flow* has an amount of work and proceeds at a rate that :func:`c3sim.engine.sharing.solve`
  decides. Between two starts, stops or completions nothing changes, so what comes next is the
  earliest completion, unless an event comes before (:mod:`c3sim.engine.clock`).
- Rates are solved once per instant, after everything else that happens at it, and only for flows
  connected to a change (:mod:`c3sim.engine.progress`).
- A *domain* has a state, a function of the set of its active members (a clock, a load). A member's
  cap may be a function of that state. A *capacity* may shrink with the mix of its users, also a
  function of the active set. Both functions read what flows declare (``tags``), never solved
  rates, so one pass suffices.
- Completion is exact: the flow whose predicted end the clock has reached is complete by
  definition, and so are those with the same end up to rounding (relative).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from c3sim.engine.clock import Clock
from c3sim.engine.flow import CapacityRule, DomainRule, Flow, Observer
from c3sim.engine.progress import SAME_INSTANT, Progress


class Fluid:
    """Flows, capacities and domains on one clock."""

    def __init__(
        self, env: Clock, observers: Iterable[Observer] = (), progress: Progress | None = None
    ):
        """*progress*: :class:`c3sim.engine.compiled.progress.CompiledProgress` suits many flows.

        Raises ValueError if *env* has a fluid layer already.
        """
        self.env = env
        self.observers = tuple(observers)
        self.due, self.changed = math.inf, False
        self._progress = Progress() if progress is None else progress
        env.attach(self)

    def capacity(self, name: Hashable, value: float, rule: CapacityRule | None = None) -> None:
        """Declare a capacity; *rule(value, users)* gives what is available to that set of users."""
        self._progress.capacity(name, value, rule)

    def domain(self, name: Hashable, rule: DomainRule) -> None:
        """Declare a domain; *rule(members)* gives its state."""
        self._progress.domain(name, rule)

    def start(self, flow: Flow, done: Callable[[Flow], None]) -> Flow:
        """Begin *flow*; *done(flow)* is called at the instant its work is finished."""
        flow.done = done
        self._progress.start(flow, self.env.now)
        self.changed = True
        return flow

    def stop(self, flow: Flow) -> float:
        """Remove *flow* unfinished; returns the work that remains."""
        self._progress.settle(flow, self.env.now)
        self._progress.remove(flow)
        self.changed = True
        return flow.remaining

    def progress(self, flow: Flow) -> float:
        """Work done so far."""
        self._progress.settle(flow, self.env.now)
        return flow.work - flow.remaining

    def shorten(self, flow: Flow, work: float) -> None:
        """Change the total work of a running flow to *work* (not less than what is done)."""
        self._progress.shorten(flow, work, self.env.now)
        self.changed = True

    def refresh(self, domain: Hashable, after: float) -> None:
        """Evaluate the state of *domain* again in *after* s, even with the same members."""

        def evaluate() -> None:
            self._progress.refresh(domain)
            self.changed = True

        self.env.call(after, evaluate)

    @property
    def flows(self) -> Iterable[Flow]:
        """Flows in progress, in order of their starts."""
        return self._progress.flows

    @property
    def solves(self) -> int:
        """The number of times that rates were solved."""
        return self._progress.solves

    @property
    def states(self) -> dict[Hashable, Any]:
        """State of every domain."""
        return self._progress.states

    def close(self) -> None:
        """The run is over: hold nobody any more, so that what observers and rules hold is freed."""
        self.observers, self._progress = (), Progress()
        self.env.close()

    def solve(self) -> None:
        """For the clock: solve rates after the changes of this instant."""
        self.changed = False
        now = self.env.now
        flows = self._progress.solve(now, report=bool(self.observers))
        for observer in self.observers:
            observer.rates(now, flows, self.states)
        self.due = self._progress.earliest()

    def end(self) -> None:
        """For the clock, when it is *due*: report the flows that are complete."""
        now = self.env.now
        self.due, self.changed = math.inf, True
        for flow in self._progress.take_due(now * (1.0 + SAME_INSTANT), now):
            for observer in self.observers:
                observer.ended(now, flow)
            done = flow.done
            del flow.done  # it may refer to the flow: no circle is left for the garbage collector
            done(flow)
