"""Remaining work, rates and ends of flows. It is told the time and keeps no clock.

- Rates are solved (:func:`c3sim.engine.sharing.solve`) only for flows that are connected, through
  shared capacities or domains, to something that changed. The cost follows the size of the
  connected set, not the number of flows.
- Ends wait in a heap. The entry of a flow whose end has moved is dropped when it comes up.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any

from c3sim.engine.flow import CapacityRule, DomainRule, Flow
from c3sim.engine.sharing import Demand, solve

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
        # users of a capacity, members of a domain
        self._sharing: dict[Hashable, dict[Flow, None]] = {}
        self._started = 0
        self._finishes: list[tuple[float, int, Flow]] = []
        self._touched: dict[Flow, None] = {}  # started or changed since the last solve
        self._left: dict[Hashable, None] = {}  # places that a flow has left since then

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
        uses = self._uses(flow.amounts)
        flow.demand = Demand(flow.weight, math.inf if callable(flow.cap) else flow.cap, uses)
        flow.places = tuple(index for index, _ in uses)
        if flow.domain is not None:
            flow.places += (flow.domain,)
        self.flows[flow] = None
        for place in flow.places:
            self._sharing[place][flow] = None
        self._touched[flow] = None

    def remove(self, flow: Flow) -> None:
        del self.flows[flow]
        flow.finish = math.inf
        self._touched.pop(flow, None)
        for place in flow.places:
            self._sharing[place].pop(flow, None)  # a flow may draw on a capacity twice
            self._left[place] = None

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
        self._left[domain] = None

    def solve(self, now: float, report: bool = True) -> list[Flow]:
        """Solve the rates of all flows connected to a change; returns these, in order of starts.

        Without *report* the list may be left empty.
        """
        flows, places = self._connected()
        left, self._left = self._left, {}
        self._touched.clear()
        for name, state in self._domains.items():
            if name in places and (self._sharing[name] or name in left):
                self.states[name] = state(list(self._sharing[name]))
        for index, rule in self._rules.items():
            if index in places and self._sharing[index]:
                self._given[index] = rule(self._values[index], list(self._sharing[index]))
        if flows:
            self._share(flows, now)
        return flows

    def earliest(self) -> float:
        """When the next flow ends."""
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
        flows = sorted(due, key=in_order)
        for flow in flows:
            flow.remaining = 0.0
            flow.settled = now
            self.remove(flow)
        return flows

    def _uses(self, amounts: tuple[tuple[Hashable, float], ...]) -> tuple[tuple[int, float], ...]:
        """*amounts* by index of the capacity."""
        return tuple([(self.index[name], amount) for name, amount in amounts])

    def _connected(self) -> tuple[list[Flow], Collection[Hashable]]:
        """Flows connected to a change, in order of starts, and the places that they share; all
        places where all flows are of one domain.
        """
        for domain in self._domains:
            changed = self._touched or domain in self._left
            if changed and len(self._sharing[domain]) == len(self.flows):
                return list(self.flows), self._sharing.keys()
        flows, places = set(self._touched), set(self._left)
        for flow in self._touched:
            places.update(flow.places)
        pending = list(places)
        while pending and len(flows) < len(self.flows):
            for flow in self._sharing[pending.pop()].keys() - flows:
                flows.add(flow)
                for place in flow.places:
                    if place not in places:
                        places.add(place)
                        pending.append(place)
        if len(flows) == len(self.flows):
            return list(self.flows), places
        return sorted(flows, key=in_order), places

    def _share(self, flows: list[Flow], now: float) -> None:
        """Solve one connected set of flows and predict their finishes."""
        self.solves += 1
        states = {name: self.states.get(name) for name in {flow.domain for flow in flows}}
        demands = [
            Demand(flow.weight, flow.cap(states[flow.domain]), flow.demand.uses)
            if callable(flow.cap)
            else flow.demand
            for flow in flows
        ]
        for flow, rate in zip(flows, solve(self._given, demands), strict=True):
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
