"""Remaining work, rates and ends of flows. It is told the time and keeps no clock.

- A capacity is *scarce* if its users at their caps would leave nothing of it. The others have no
  say, and connect nobody: what is solved (:func:`c3sim.engine.sharing.fill`) are flows that share
  scarce capacities with something that changed. All others that something changed for are at their
  caps.
- States are evaluated where members came or went, caps where the state is another one, capacities
  where users or their caps are. The cost follows what changed, not the number of flows.
- Ends wait in a heap. The entry of a flow whose end has moved is dropped when it comes up.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any

from c3sim.engine.flow import CapacityRule, DomainRule, Flow
from c3sim.engine.sharing import LEFT_OVER, Demand, alone, fill

SAME_INSTANT = 1e-12  # relative

in_order = attrgetter("serial")


class Progress:
    """Flows with the capacities and domains they share."""

    def __init__(self) -> None:
        self.flows: dict[Flow, None] = {}  # dictionaries keep order: runs are deterministic
        self.solves = 0
        self.states: dict[Hashable, Any] = {}
        self.index: dict[Hashable, int] = {}
        self._values: list[float] = []
        self._given: list[float] = []  # the values, after their rules
        self._rules: dict[int, CapacityRule] = {}
        self._domains: dict[Hashable, DomainRule] = {}
        # users of a capacity, each with the amount it draws; members of a domain
        self._sharing: dict[Hashable, dict[Flow, float]] = {}
        self._scarce: set[int] = set()
        self._started = 0
        self._finishes: list[tuple[float, int, Flow]] = []
        # since the last solve
        self._touched: dict[Flow, None] = {}  # started or changed
        self._left: dict[int, None] = {}  # capacities that a flow has left
        self._stale: dict[Hashable, None] = {}  # domains whose state may be another one

    def capacity(self, name: Hashable, value: float, rule: CapacityRule | None) -> None:
        if name in self.index:
            raise ValueError(f"capacity {name} is declared already")
        index = self.index[name] = len(self._values)
        self._values.append(value)
        self._given.append(value)
        self._sharing[index] = {}
        if rule is not None:
            self._rules[index] = rule

    def domain(self, name: Hashable, rule: DomainRule) -> None:
        self._domains[name] = rule
        self._sharing[name] = {}
        self.states[name] = rule([])

    def start(self, flow: Flow, now: float) -> None:
        flow.settled = now
        flow.serial = self._started
        self._started += 1
        flow.uses = self._uses(flow.amounts)
        for index, amount in flow.uses:  # a flow may draw on a capacity twice
            users = self._sharing[index]
            users[flow] = users.get(flow, 0.0) + amount
        if flow.domain is not None:
            self._sharing[flow.domain][flow] = 0.0
        self.flows[flow] = None
        self._touched[flow] = None

    def remove(self, flow: Flow) -> None:
        del self.flows[flow]
        flow.finish = math.inf
        self._touched.pop(flow, None)
        for index, _ in flow.uses:
            self._sharing[index].pop(flow, None)
            self._left[index] = None
        if flow.domain is not None:
            del self._sharing[flow.domain][flow]
            self._stale[flow.domain] = None

    def settle(self, flow: Flow, now: float) -> None:
        """Bring the remaining work of *flow* up to *now*."""
        if flow.settled != now:
            flow.remaining -= flow.rate * (now - flow.settled)
            flow.settled = now

    def shorten(self, flow: Flow, work: float, now: float) -> None:
        self.settle(flow, now)
        flow.remaining -= flow.work - work
        flow.work = work
        self._touched[flow] = None

    def refresh(self, domain: Hashable) -> None:
        """The state of *domain* may have changed, though its members have not."""
        self._stale[domain] = None

    def solve(self, now: float, report: bool = True) -> list[Flow]:
        """Solve the rates that changes may have moved; returns the flows whose rate, or the state
        of whose domain, is another one, in order of starts.

        Without *report* the list may be left empty.
        """
        touched, changed, stale = self._touched, self._left, self._stale
        self._touched, self._left, self._stale = {}, {}, {}
        for flow in touched:
            for index, _ in flow.uses:
                changed[index] = None
            if flow.domain is not None:
                stale[flow.domain] = None
        told = self._follow_states(stale)
        capped = self._follow_caps({**touched, **told} if told else touched)
        flows = self._follow_values(changed, capped)
        flows.update(touched)
        flows.update(capped)
        if flows:
            self.solves += 1
            told.update(self._go_on(self._rates(flows), touched, now))
        return sorted(told, key=in_order) if report else []

    def earliest(self) -> float:
        """Time at which the next flow ends."""
        heap = self._finishes
        while heap and heap[0][0] != heap[0][2].finish:
            heappop(heap)
        return heap[0][0] if heap else math.inf

    def take_due(self, limit: float, now: float) -> list[Flow]:
        """Remove and return the flows that end by *limit*, in order of starts."""
        due = dict[Flow, None]()
        heap = self._finishes
        while heap and heap[0][0] <= limit:
            finish, _, flow = heappop(heap)
            if finish == flow.finish:
                due[flow] = None
        flows = sorted(due, key=in_order) if len(due) > 1 else [*due]
        for flow in flows:
            flow.remaining = 0.0
            flow.settled = now
            self.remove(flow)
        return flows

    def _uses(self, amounts: tuple[tuple[Hashable, float], ...]) -> tuple[tuple[int, float], ...]:
        """*amounts* by index of the capacity."""
        return tuple([(self.index[name], amount) for name, amount in amounts])

    def _follow_states(self, stale: Iterable[Hashable]) -> dict[Flow, Any]:
        """Evaluate the state of each of the *stale* domains; returns the members of those that have
        another one now.
        """
        told: dict[Flow, Any] = {}
        for name in stale:
            members = self._sharing[name]
            state = self._domains[name]([*members])
            if state != self.states[name]:
                self.states[name] = state
                told.update(members)
        return told

    def _follow_caps(self, flows: Iterable[Flow]) -> dict[Flow, bool]:
        """Evaluate the caps of *flows*; returns those that have another one in the state that their
        domain has now, and whether it is a higher one.
        """
        found: dict[Flow, bool] = {}
        domain, state = None, self.states.get(None)
        for flow in flows:
            if flow.rule is not None:
                if flow.domain is not domain:
                    domain, state = flow.domain, self.states.get(flow.domain)
                cap = flow.rule(state)
                if cap != flow.most:
                    found[flow] = cap > flow.most
                    flow.most = cap
        return found

    def _follow_values(
        self, changed: dict[int, None], capped: Mapping[Flow, bool]
    ) -> dict[Flow, Any]:
        """Evaluate each capacity that *changed*, or whose users are *capped* otherwise; returns the
        users of those that are scarce, or were. None becomes so by lower caps.
        """
        for index in changed:
            users, rule = self._sharing[index], self._rules.get(index)
            if users and rule is not None:
                self._given[index] = rule(self._values[index], [*users])
        for flow, higher in capped.items():
            if higher or self._scarce:
                for index, _ in flow.uses:
                    changed[index] = None
        found: dict[Flow, Any] = {}
        for index in changed:
            users, drawn = self._sharing[index], 0.0
            for flow, amount in users.items():
                drawn += amount * flow.most
            if not drawn < (1.0 - LEFT_OVER) * self._given[index]:
                self._scarce.add(index)
            elif index in self._scarce:
                self._scarce.remove(index)
            else:
                continue
            found.update(users)
        return found

    def _connected(self, flows: Iterable[Flow]) -> list[Flow]:
        """*flows* and those that share scarce capacities with them, in order of starts."""
        found, places, scarce, sharing = {*flows}, set[int](), self._scarce, self._sharing
        pending = [
            index
            for flow in flows
            for index, _ in flow.uses
            if index in scarce and len(sharing[index]) > 1
        ]
        while pending:
            index = pending.pop()
            if index not in places:
                places.add(index)
                for flow in sharing[index].keys() - found:
                    found.add(flow)
                    pending += [place for place, _ in flow.uses if place in scarce]
        return sorted(found, key=in_order)

    def _rates(self, flows: Iterable[Flow]) -> list[tuple[Flow, float]]:
        """The rate of each of *flows*, and of those that share scarce capacities with them."""
        free, sharing, demands, scarce = [], [], [], self._scarce
        for flow in self._connected(flows) if scarce else flows:
            cap, weight, rate = flow.most, flow.weight, None
            bound = [use for use in flow.uses if use[0] in scarce] if scarce else []
            if 0.0 <= cap < math.inf and 0.0 < weight < math.inf:
                rate = self._alone(flow, bound) if bound else cap
            if rate is None:
                sharing.append(flow)
                demands.append(Demand(weight, cap, tuple(bound)))
            else:
                free.append((flow, rate))
        if sharing:
            free += zip(sharing, fill(self._given, demands), strict=True)
        return free

    def _alone(self, flow: Flow, bound: Sequence[tuple[int, float]]) -> float | None:
        """Rate of *flow*, *bound* by scarce capacities; None: it shares one of them."""
        for index, _ in bound:
            if len(self._sharing[index]) > 1:
                return None
        return alone(self._given, Demand(flow.weight, flow.most, tuple(bound)))

    def _go_on(
        self, rates: Iterable[tuple[Flow, float]], touched: Container[Flow], now: float
    ) -> dict[Flow, Any]:
        """Let flows whose rate is another one, or that were *touched*, go on, and predict their
        finishes; returns them.
        """
        moved: dict[Flow, Any] = {}
        for flow, rate in rates:
            if rate == flow.rate and flow not in touched:
                continue
            moved[flow] = None
            if flow.settled != now:  # as settle(), without a call
                flow.remaining -= flow.rate * (now - flow.settled)
                flow.settled = now
            flow.rate = rate
            finish = math.inf
            if flow.remaining <= 0.0:
                finish = now
            elif rate > 0.0:
                finish = now + flow.remaining / rate
            if finish != flow.finish:
                flow.finish = finish
                if finish < math.inf:
                    heappush(self._finishes, (finish, flow.serial, flow))
        if len(self._finishes) > 2 * len(self.flows) + 64:
            # one entry per flow, so that the heap does not grow with the number of solves
            ends = [(flow.finish, flow.serial, flow) for flow in self.flows]
            self._finishes = [entry for entry in ends if entry[0] < math.inf]
            heapify(self._finishes)
        return moved
