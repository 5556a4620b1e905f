"""Fluid layer: flows that share capacities, on a SimPy clock.

A *flow* has an amount of work and proceeds at a rate that :func:`c3sim.engine.sharing.solve` decides. Between two
starts, stops or completions nothing changes, so the next event is the earliest completion. Rates are solved once per
instant, after every other event of that instant (a late-priority event), and only for the flows that are connected,
through shared capacities or domains, to something that changed.

A *domain* has a state, a function of the set of active members (a clock, a load), and a member's cap may be a function
of that state. A *capacity* may shrink with the mix of its users, likewise a function of the active set. Both see what flows
declare (``tags``), never solved rates, so one pass suffices.

Completion is exact: the flow whose predicted finish caused the wake-up is complete by definition, and so are those
with the same finish up to rounding (relative). This module knows no GPU word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import simpy
from simpy.events import Event, EventPriority

from c3sim.engine.sharing import Demand, solve

__all__ = ["Flow", "Fluid", "Observer"]

LATE = EventPriority(2)  # after every URGENT (0) and NORMAL (1) event of the same instant
SAME_INSTANT = 1e-12  # relative


class Flow:
    """Work in progress. *cap* is the rate bound, a number or a function of the domain's state."""

    __slots__ = (
        "amounts", "cap", "domain", "done", "finish", "name", "rate", "remaining", "settled", "tags", "uses",
        "weight", "work",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        work: float,
        *,
        cap: float | Callable[[Any], float] = math.inf,
        weight: float = 1.0,
        amounts: Iterable[tuple[str, float]] = (),
        domain: str | None = None,
        tags: Any = None,
    ):
        self.name, self.work, self.remaining = name, work, work
        self.cap, self.weight, self.domain, self.tags = cap, weight, domain, tags
        self.amounts = tuple((capacity, amount) for capacity, amount in amounts if amount > 0)
        self.uses: tuple[tuple[int, float], ...] = ()
        self.rate = 0.0
        self.settled = 0.0
        self.finish = math.inf
        self.done: Callable[[Flow], None] | None = None


class Observer(Protocol):
    """Receives what happened; cannot alter it."""

    def rates(self, time: float, flows: Iterable[Flow], states: dict[str, Any]) -> None: ...

    def ended(self, time: float, flow: Flow) -> None: ...


CapacityRule = Callable[[float, list[Flow]], float]
DomainRule = Callable[[list[Flow]], Any]


class Fluid:
    """Flows, capacities and domains on one clock."""

    def __init__(self, env: simpy.Environment, observers: Iterable[Observer] = ()):
        self.env = env
        self.observers = tuple(observers)
        self.solves = 0
        self.states: dict[str, Any] = {}
        self._index: dict[str, int] = {}
        self._names: list[str] = []
        self._values: list[float] = []
        self._rules: list[CapacityRule | None] = []
        self._users: list[dict[Flow, None]] = []  # dictionaries keep order: runs are deterministic
        self._domains: dict[str, DomainRule] = {}
        self._members: dict[str, dict[Flow, None]] = {}
        self._flows: dict[Flow, None] = {}
        self._touched: dict[Flow, None] = {}
        self._touched_capacities: dict[int, None] = {}
        self._touched_domains: dict[str, None] = {}
        self._pending = False
        self._waking = False
        self._wake_at = math.inf
        self._wake_token = 0

    def capacity(self, name: str, value: float, rule: CapacityRule | None = None) -> None:
        """Declare a capacity; *rule(value, users)* gives what is available to that set of users."""
        self._index[name] = len(self._values)
        self._names.append(name)
        self._values.append(value)
        self._rules.append(rule)
        self._users.append({})

    def has_capacity(self, name: str) -> bool:
        return name in self._index

    def domain(self, name: str, rule: DomainRule) -> None:
        self._domains[name] = rule
        self._members[name] = {}
        self.states[name] = rule([])

    def start(self, flow: Flow, done: Callable[[Flow], None]) -> Flow:
        """Begin *flow*; *done(flow)* is called at the instant its work is finished."""
        flow.done = done
        flow.settled = self.env.now
        flow.uses = tuple((self._index[name], amount) for name, amount in flow.amounts)
        self._flows[flow] = None
        for index, _ in flow.uses:
            self._users[index][flow] = None
        if flow.domain is not None:
            self._members[flow.domain][flow] = None
        self._touch(flow)
        return flow

    def stop(self, flow: Flow) -> float:
        """Take *flow* out unfinished; returns the work that remains."""
        self._settle(flow)
        self._remove(flow)
        return flow.remaining

    def progress(self, flow: Flow) -> float:
        """Work done so far."""
        self._settle(flow)
        return flow.work - flow.remaining

    def shorten(self, flow: Flow, work: float) -> None:
        """Change the total work of a running flow to *work* (not less than what is done)."""
        self._settle(flow)
        flow.remaining -= flow.work - work
        flow.work = work
        self._touch(flow)

    def refresh(self, domain: str, after: float) -> None:
        """Ask for the state of *domain* again in *after* s, though its members may be the same."""

        def ask(_event: Event) -> None:
            self._touched_domains[domain] = None
            self._request()

        self.env.timeout(after).callbacks.append(ask)

    @property
    def flows(self) -> Iterable[Flow]:
        return self._flows

    # -- private ------------------------------------------------------------------------------------------------

    def _settle(self, flow: Flow) -> None:
        now = self.env.now
        if flow.settled != now:
            flow.remaining -= flow.rate * (now - flow.settled)
            flow.settled = now

    def _touch(self, flow: Flow) -> None:
        self._touched[flow] = None
        self._request()

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

    def _remove(self, flow: Flow) -> None:
        del self._flows[flow]
        self._touched.pop(flow, None)
        for index, _ in flow.uses:
            del self._users[index][flow]
            self._touched_capacities[index] = None
        if flow.domain is not None:
            del self._members[flow.domain][flow]
            self._touched_domains[flow.domain] = None
        self._request()

    def _component(self) -> list[Flow]:
        """Flows connected to anything that changed, in order of declaration."""
        found: dict[Flow, None] = {}
        seen_capacities: set[int] = set()
        seen_domains: set[str] = set()
        stack = list(self._touched)
        for index in self._touched_capacities:
            stack.extend(self._users[index])
        for name in self._touched_domains:
            stack.extend(self._members[name])
        while stack:
            flow = stack.pop()
            if flow in found:
                continue
            found[flow] = None
            for index, _ in flow.uses:
                if index not in seen_capacities:
                    seen_capacities.add(index)
                    stack.extend(self._users[index])
            if flow.domain is not None and flow.domain not in seen_domains:
                seen_domains.add(flow.domain)
                stack.extend(self._members[flow.domain])
        if len(found) == len(self._flows):
            return list(self._flows)
        return [flow for flow in self._flows if flow in found]

    def _resolve(self, _event: Event | None = None) -> None:
        self._pending = False
        flows = self._component()
        domains = {flow.domain: None for flow in flows if flow.domain is not None}
        for name in self._touched_domains:
            domains[name] = None
        self._touched.clear()
        self._touched_capacities.clear()
        self._touched_domains.clear()
        for name in domains:
            self.states[name] = self._domains[name](list(self._members[name]))
        if flows:
            self._share(flows)
        for observer in self.observers:
            observer.rates(self.env.now, flows, self.states)
        self._schedule_wake()

    def _share(self, flows: list[Flow]) -> None:
        """Solve one connected set of flows and predict their finishes."""
        self.solves += 1
        local: dict[int, int] = {}
        capacities: list[float] = []
        demands = []
        for flow in flows:
            uses = []
            for index, amount in flow.uses:
                position = local.get(index)
                if position is None:
                    position = local[index] = len(capacities)
                    rule, value = self._rules[index], self._values[index]
                    capacities.append(value if rule is None else rule(value, list(self._users[index])))
                uses.append((position, amount))
            cap = flow.cap
            if callable(cap):
                cap = cap(None if flow.domain is None else self.states[flow.domain])
            demands.append(Demand(flow.weight, cap, tuple(uses)))
        now = self.env.now
        for flow, rate in zip(flows, solve(capacities, demands), strict=True):
            self._settle(flow)
            flow.rate = rate
            if flow.remaining <= 0.0:
                flow.finish = now
            else:
                flow.finish = now + flow.remaining / rate if rate > 0.0 else math.inf

    def _schedule_wake(self) -> None:
        earliest = min((flow.finish for flow in self._flows), default=math.inf)
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
        limit = due * (1.0 + SAME_INSTANT)
        self._waking = True
        finished = [flow for flow in self._flows if flow.finish <= limit]
        for flow in finished:
            flow.remaining = 0.0
            flow.settled = self.env.now
            self._remove(flow)
        for flow in finished:
            for observer in self.observers:
                observer.ended(self.env.now, flow)
            assert flow.done is not None
            flow.done(flow)
        self._waking = False
        if self._pending:
            if self.env.peek() > self.env.now:  # nothing else happens at this instant
                self._resolve()
            else:
                self._schedule_resolve()
