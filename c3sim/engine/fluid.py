"""Fluid layer: flows that share capacities, on a SimPy clock.

A *flow* has an amount of work and proceeds at a rate that :func:`c3sim.engine.sharing.solve` decides. Between two
starts, stops or completions nothing changes, so the next event is the earliest completion. Rates are solved once per
instant, after every other event of that instant (a late-priority event), and only for the flows that are connected,
through shared capacities or domains, to something that changed (:mod:`c3sim.engine.progress`).

A *domain* has a state, a function of the set of active members (a clock, a load), and a member's cap may be a function
of that state. A *capacity* may shrink with the mix of its users, likewise a function of the active set. Both see what flows
declare (``tags``), never solved rates, so one pass suffices.

Completion is exact: the flow whose predicted finish caused the wake-up is complete by definition, and so are those
with the same finish up to rounding (relative). This module knows no GPU word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import simpy
from simpy.events import Event, EventPriority

from c3sim.engine.flow import CapacityRule, DomainRule, Flow, Observer
from c3sim.engine.progress import SAME_INSTANT, Progress

__all__ = ["Flow", "Fluid", "Observer"]

LATE = EventPriority(2)  # after every URGENT (0) and NORMAL (1) event of the same instant


class Fluid:
    """Flows, capacities and domains on one clock."""

    def __init__(
        self,
        env: simpy.Environment,
        observers: Iterable[Observer] = (),
        progress: Progress | None = None,
    ):
        """*progress*: who reckons the rates; :class:`c3sim.engine.compiled.CompiledProgress` for thousands of flows."""
        self.env = env
        self.observers = tuple(observers)
        self._progress = Progress() if progress is None else progress
        self._pending = False
        self._waking = False
        self._wake_at = math.inf
        self._wake_token = 0

    def capacity(self, name: str, value: float, rule: CapacityRule | None = None) -> None:
        """Declare a capacity; *rule(value, users)* gives what is available to that set of users."""
        self._progress.capacity(name, value, rule)

    def has_capacity(self, name: str) -> bool:
        return name in self._progress.index

    def domain(self, name: str, rule: DomainRule) -> None:
        """Declare a domain; *rule(members)* gives its state."""
        self._progress.domain(name, rule)

    def start(self, flow: Flow, done: Callable[[Flow], None]) -> Flow:
        """Begin *flow*; *done(flow)* is called at the instant its work is finished."""
        flow.done = done
        self._progress.start(flow, self.env.now)
        self._request()
        return flow

    def stop(self, flow: Flow) -> float:
        """Take *flow* out unfinished; returns the work that remains."""
        self._progress.settle(flow, self.env.now)
        self._progress.remove(flow)
        self._request()
        return flow.remaining

    def progress(self, flow: Flow) -> float:
        """Work done so far."""
        self._progress.settle(flow, self.env.now)
        return flow.work - flow.remaining

    def shorten(self, flow: Flow, work: float) -> None:
        """Change the total work of a running flow to *work* (not less than what is done)."""
        self._progress.shorten(flow, work, self.env.now)
        self._request()

    def refresh(self, domain: str, after: float) -> None:
        """Ask for the state of *domain* again in *after* s, though its members may be the same."""

        def ask(_event: Event) -> None:
            self._progress.refresh(domain)
            self._request()

        self.env.timeout(after).callbacks.append(ask)

    @property
    def flows(self) -> Iterable[Flow]:
        """Flows in progress, in order of their starts."""
        return self._progress.flows

    @property
    def solves(self) -> int:
        """How often rates were solved."""
        return self._progress.solves

    @property
    def states(self) -> dict[str, Any]:
        """State of every domain."""
        return self._progress.states

    # -- private ------------------------------------------------------------------------------------------------

    def _request(self) -> None:
        if not self._pending:
            self._pending = True
            if not self._waking:
                self._schedule_resolve()

    def _schedule_resolve(self) -> None:
        event = Event(self.env)
        event._ok, event._value = True, None
        event.callbacks = [self._resolve]
        self.env.schedule(event, LATE)

    def _resolve(self, _event: Event | None = None) -> None:
        self._pending = False
        now = self.env.now
        flows = self._progress.solve(now, report=bool(self.observers))
        for observer in self.observers:
            observer.rates(now, flows, self.states)
        self._schedule_wake()

    def _schedule_wake(self) -> None:
        earliest = self._progress.earliest()
        if earliest == self._wake_at and earliest > self.env.now:
            return
        self._wake_at = earliest
        self._wake_token += 1
        if earliest < math.inf:
            token = self._wake_token
            timeout = self.env.timeout(max(0.0, earliest - self.env.now))
            timeout.callbacks.append(lambda _event: self._wake(token, earliest))

    def _wake(self, token: int, due: float) -> None:
        if token != self._wake_token:
            return  # superseded
        self._wake_at = math.inf
        self._waking = self._pending = True
        now = self.env.now
        finished = self._progress.take_due(due * (1.0 + SAME_INSTANT), now)
        for flow in finished:
            for observer in self.observers:
                observer.ended(now, flow)
            assert flow.done is not None
            flow.done(flow)
        self._waking = False
        if self.env.peek() > now:  # nothing else happens at this instant
            self._resolve()
        else:
            self._schedule_resolve()
