"""How far flows are, how fast they go and when they will end. Told the time; keeps no clock.

Rates are solved (:func:`c3sim.engine.sharing.solve`) only for the flows that are connected, through shared capacities
or domains, to something that changed. What that costs follows the size of the connected set, not the number of flows:
finishes wait in a heap, and the entry of a flow whose finish has moved is dropped when it comes up.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any

from c3sim.engine.flow import CapacityRule, DomainRule, Flow
from c3sim.engine.sharing import Demand, solve

__all__ = ["SAME_INSTANT", "Progress"]

SAME_INSTANT = 1e-12  # relative

in_order = attrgetter("serial")


class Progress:
    """Flows with the capacities and domains they share."""

    def __init__(self) -> None:
        self.flows: dict[Flow, None] = {}  # dictionaries keep order: runs are deterministic
        self.solves = 0
        self.states: dict[str, Any] = {}
        self.index: dict[str, int] = {}
        self._values: list[float] = []
        self._given: list[float] = []  # the values, after their rules
        self._rules: dict[int, CapacityRule] = {}
        self._users: list[dict[Flow, None]] = []
        self._domains: dict[str, DomainRule] = {}
        self._members: dict[str, dict[Flow, None]] = {}
        self._started = 0
        self._finishes: list[tuple[float, int, Flow]] = []
        self._touched: dict[Flow, None] = {}
        self._touched_capacities: dict[int, None] = {}
        self._touched_domains: dict[str, None] = {}

    def capacity(self, name: str, value: float, rule: CapacityRule | None) -> None:
        index = self.index[name] = len(self._values)
        self._values.append(value)
        self._given.append(value)
        self._users.append({})
        if rule is not None:
            self._rules[index] = rule

    def domain(self, name: str, rule: DomainRule) -> None:
        self._domains[name] = rule
        self._members[name] = {}
        self.states[name] = rule([])

    def start(self, flow: Flow, now: float) -> None:
        flow.settled = now
        flow.serial = self._started
        self._started += 1
        flow.uses = tuple((self.index[name], amount) for name, amount in flow.amounts)
        self.flows[flow] = None
        for index, _ in flow.uses:
            self._users[index][flow] = None
        if flow.domain is not None:
            self._members[flow.domain][flow] = None
        self._touched[flow] = None

    def remove(self, flow: Flow) -> None:
        del self.flows[flow]
        flow.finish = math.inf
        self._touched.pop(flow, None)
        for index, _ in flow.uses:
            del self._users[index][flow]
            self._touched_capacities[index] = None
        if flow.domain is not None:
            del self._members[flow.domain][flow]
            self._touched_domains[flow.domain] = None

    def settle(self, flow: Flow, now: float) -> None:
        """Make what remains of *flow* true."""
        if flow.settled != now:
            flow.remaining -= flow.rate * (now - flow.settled)
            flow.settled = now

    def shorten(self, flow: Flow, work: float, now: float) -> None:
        self.settle(flow, now)
        flow.remaining -= flow.work - work
        flow.work = work
        self._touched[flow] = None

    def solve(self, now: float, report: bool = True) -> list[Flow]:
        """New rates for whoever is connected to what changed: these flows, in order of their starts.

        Without *report* nobody is going to look at them, and the list may be left empty.
        """
        flows, capacities = self._connected()
        domains = {flow.domain: None for flow in flows if flow.domain is not None}
        domains.update(self._touched_domains)
        self._touched.clear()
        self._touched_capacities.clear()
        self._touched_domains.clear()
        for name in domains:
            self.states[name] = self._domains[name](list(self._members[name]))
        if not flows:
            return flows
        for index, rule in self._rules.items():
            if index in capacities:
                self._given[index] = rule(self._values[index], list(self._users[index]))
        self._share(flows, now)
        return flows

    def earliest(self) -> float:
        """When the next flow ends."""
        heap = self._finishes
        while heap and heap[0][0] != heap[0][2].finish:
            heappop(heap)
        return heap[0][0] if heap else math.inf

    def take_due(self, limit: float, now: float) -> list[Flow]:
        """Take out the flows that end by *limit*, in order of their starts: they are complete."""
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

    # -- private ------------------------------------------------------------------------------------------------

    def _connected(self) -> tuple[list[Flow], set[int]]:
        """Flows connected to anything that changed, in order of their starts, and the capacities they use."""
        found: set[Flow] = set()
        capacities: set[int] = set()
        domains: set[str] = set()
        stack = list(self._touched)
        for index in self._touched_capacities:
            stack.extend(self._users[index])
        for name in self._touched_domains:
            stack.extend(self._members[name])
        while stack:
            flow = stack.pop()
            if flow in found:
                continue
            found.add(flow)
            for index, _ in flow.uses:
                if index not in capacities:
                    capacities.add(index)
                    stack.extend(self._users[index])
            if flow.domain is not None and flow.domain not in domains:
                domains.add(flow.domain)
                stack.extend(self._members[flow.domain])
        if len(found) == len(self.flows):
            return list(self.flows), capacities
        return sorted(found, key=in_order), capacities

    def _cap(self, flow: Flow) -> float:
        if callable(flow.cap):
            return flow.cap(None if flow.domain is None else self.states[flow.domain])
        return flow.cap

    def _share(self, flows: list[Flow], now: float) -> None:
        """Solve one connected set of flows and predict their finishes."""
        self.solves += 1
        demands = [Demand(flow.weight, self._cap(flow), flow.uses) for flow in flows]
        for flow, rate in zip(flows, solve(self._given, demands), strict=True):
            self.settle(flow, now)
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
            self._forget_moved()

    def _forget_moved(self) -> None:
        """Keep one entry per flow: the heap stays as long as there are flows, whatever the number of solves."""
        self._finishes = [(flow.finish, flow.serial, flow) for flow in self.flows if flow.finish < math.inf]
        heapify(self._finishes)
