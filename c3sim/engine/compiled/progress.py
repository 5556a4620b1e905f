"""Progress of thousands of flows: :class:`c3sim.engine.progress.Progress` in compiled connect.

Optional: needs numba (``pip install c3sim[fast]``). Rates agree with the
pure version up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import lru_cache

import numpy as np

from c3sim.engine.compiled import connect, fill, line
from c3sim.engine.compiled.table import Array, enlarged, new_table, views
from c3sim.engine.flow import CapacityRule, DomainRule, Flow
from c3sim.engine.progress import SAME_INSTANT, Progress, in_order

SIZE, WIDTH = 64, 4  # of a new table; it grows
REMEMBERED = 1024  # sets of uses; many flows have the same


class CompiledProgress(Progress):
    """:class:`Progress`, compiled. A flow's numbers are right when it is reported, settled or
    removed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._arrays = new_table(SIZE, WIDTH, SIZE)
        self._table = views(*self._arrays)
        self._flow_of_row: list[Flow | None] = [None] * SIZE  # row -> flow
        self._free = list(reversed(range(SIZE)))
        self._domain_of: dict[int, Hashable] = {}
        self._earliest = math.inf
        self._width = WIDTH
        self._has_rules = False  # there are domains, or capacities with rules
        self._use_array = lru_cache(REMEMBERED)(self._new_use_array)
        self._variable_caps = 0  # flows whose cap is a function

    def capacity(self, name: Hashable, value: float, rule: CapacityRule | None) -> None:
        super().capacity(name, value, rule)
        if not value >= 0.0:
            raise ValueError(f"capacity {name} is {value}; a capacity is >= 0")
        self._make_room(capacities=len(self._values))
        self._table.capacities[line.VALUE, self.index[name]] = value
        self._table.capacities[line.LEFT_AT_LEVEL, self.index[name]] = value
        self._has_rules |= rule is not None

    def domain(self, name: Hashable, rule: DomainRule) -> None:
        super().domain(name, rule)
        self.capacity(f"domain {name}", math.inf, None)
        self._has_rules = True
        self._domain_of[self.index[f"domain {name}"]] = name

    def start(self, flow: Flow, now: float) -> None:
        weight, cap, domain = flow.weight, flow.cap, flow.domain
        if not 0.0 < weight < math.inf:
            raise ValueError(f"flow {flow.name}: weight {weight}; weight > 0 and finite")
        if callable(cap):
            self._variable_caps += 1
            cap = math.inf  # until the next solve
        elif not cap >= 0.0:
            raise ValueError(f"flow {flow.name}: cap {cap}; cap >= 0")
        try:
            uses = self._use_array(flow.amounts, domain)
        except ValueError as error:
            raise ValueError(f"flow {flow.name}: {error}") from None
        if len(uses) > self._width or not self._free:
            self._make_room(width=len(uses))
        flow.places = self._ruled_places(flow) if self._has_rules else ()
        for place in flow.places:
            self._sharing[place][flow] = 0.0  # amounts stand in the table
        flow.settled, flow.serial, flow.slot = now, self._started, self._free.pop()
        self._started += 1
        self.flows[flow] = None
        self._flow_of_row[flow.slot] = flow
        # integers would need a compiled function of their own
        numbers = float(weight), float(cap), float(flow.remaining)
        connect.insert(*self._arrays, flow.slot, uses, *numbers, now)

    def remove(self, flow: Flow) -> None:
        connect.remove(*self._arrays, flow.slot)
        self._forget(flow)

    def settle(self, flow: Flow, now: float) -> None:
        fill.settle(*self._arrays, flow.slot, now)
        self._update(flow)

    def shorten(self, flow: Flow, work: float, now: float) -> None:
        self.settle(flow, now)
        self._table.flows[line.REMAINING, flow.slot] -= flow.work - work
        flow.work = work
        connect.touch(*self._arrays, flow.slot)

    def refresh(self, domain: Hashable) -> None:
        for flow in self._sharing[domain]:
            connect.touch(*self._arrays, flow.slot)
            break  # the other members are connected to it

    def solve(self, now: float, report: bool = True) -> list[Flow]:
        flows: list[Flow] = []
        if report or self._has_rules or self._variable_caps:
            flows = self._prepare()
            count, unlimited, self._earliest = fill.share(*self._arrays, now)
        else:
            count, unlimited, self._earliest = fill.connect_and_share(*self._arrays, now)
        self._check_limited(unlimited)
        self.solves += count > 0
        if report:
            for flow in flows:
                self._update(flow)
        return flows

    def earliest(self) -> float:
        return self._earliest

    def take_due(self, limit: float, now: float) -> list[Flow]:
        count, first = connect.take_due(*self._arrays, limit, now)
        flows = self._flows_of(
            [first] if count == 1 else self._table.rows[line.DUE, :count].tolist()
        )
        for flow in flows:
            flow.remaining, flow.settled = 0.0, now
            self._forget(flow)
        return flows

    def drain(self, now: float) -> list[tuple[float, Flow]]:
        """Run all flows to their ends: the time of each end, in order.

        Raises ValueError where there are domains, or rules of caps or capacities.
        """
        if self._has_rules or self._variable_caps:
            raise ValueError("flows with domains or ruled capacities need a clock: use Fluid")
        order, times = np.zeros(len(self.flows), np.int64), np.zeros(len(self.flows))
        count, unlimited = fill.drain(*self._arrays, now, SAME_INSTANT, order, times)
        self._check_limited(unlimited)
        ends = []
        for row, time in zip(order[:count].tolist(), times[:count].tolist(), strict=True):
            flow = self._flow_of_row[row]
            assert flow is not None
            flow.remaining, flow.settled = 0.0, time
            self._forget(flow)
            ends.append((time, flow))
        return ends

    def _new_use_array(
        self, amounts: tuple[tuple[Hashable, float], ...], domain: Hashable | None
    ) -> Array:
        """Uses of flows with these *amounts* in *domain*, shape (uses, 2): capacity, amount."""
        uses = [*self._uses(amounts)]
        for index, amount in uses:
            if not amount < math.inf:
                raise ValueError(f"amount {amount} of capacity {index}; amount > 0 and finite")
        if domain is not None:
            uses.append((self.index[f"domain {domain}"], 1.0))
        return np.array(uses, float).reshape(len(uses), 2)

    def _ruled_places(self, flow: Flow) -> tuple[Hashable, ...]:
        """Places whose rules depend on their users."""
        ruled = tuple([index for index, _ in self._uses(flow.amounts) if index in self._rules])
        return ruled if flow.domain is None else (*ruled, flow.domain)

    def _prepare(self) -> list[Flow]:
        """Flows of the connected set, after its rules are evaluated."""
        connect.connect(*self._arrays)
        count, capacities, _ = self._table.connected.tolist()
        self._follow_rules(self._table.indices[line.CONNECTED_CAPACITIES, :capacities].tolist())
        flows = self._flows_of(self._table.rows[line.CONNECTED_ROWS, :count].tolist())
        if self._variable_caps:
            for flow in flows:
                self._table.flows[line.CAP, flow.slot] = self._checked_cap(flow, self._cap(flow))
        return flows

    def _cap(self, flow: Flow) -> float:
        """The rate bound of *flow* in the present state of its domain."""
        return flow.cap(self.states.get(flow.domain)) if callable(flow.cap) else flow.cap

    def _flows_of(self, rows: list[int]) -> list[Flow]:
        """In order of their starts."""
        flows = [flow for row in rows if (flow := self._flow_of_row[row]) is not None]
        return sorted(flows, key=in_order) if len(flows) > 1 else flows

    def _update(self, flow: Flow) -> None:
        """Copy the numbers of *flow* from its row."""
        numbers, row = self._table.flows, flow.slot
        flow.rate, flow.remaining = (
            float(numbers[line.RATE, row]),
            float(numbers[line.REMAINING, row]),
        )
        flow.settled = float(numbers[line.SETTLED, row])
        flow.finish = float(self._table.finish[len(self._flow_of_row) + row])

    def _check_limited(self, unlimited: int) -> None:
        if unlimited != line.NONE:
            flow = self._flow_of_row[unlimited]
            raise ValueError(
                f"flow {flow and flow.name}: nothing limits it, neither a cap nor a capacity"
            )

    def _checked_cap(self, flow: Flow, cap: float) -> float:
        if not cap >= 0.0:
            raise ValueError(f"flow {flow.name}: cap {cap}; cap >= 0")
        return cap

    def _forget(self, flow: Flow) -> None:
        """*flow* is no longer in the table."""
        del self.flows[flow]
        self._flow_of_row[flow.slot] = None
        self._free.append(flow.slot)
        if self._variable_caps:
            self._variable_caps -= callable(flow.cap)
        for place in flow.places:
            self._sharing[place].pop(flow, None)

    def _follow_rules(self, capacities: list[int]) -> None:
        """Set states and values of those domains and capacities among *capacities* with rules."""
        for index in capacities:
            name = self._domain_of.get(index)
            if name is not None:
                self.states[name] = self._domains[name](list(self._sharing[name]))
        for index in capacities:
            if index in self._rules and self._sharing[index]:
                given = self._rules[index](self._values[index], list(self._sharing[index]))
                if not given >= 0.0:
                    raise ValueError(f"capacity {index} is {given}; a capacity is >= 0")
                self._table.capacities[line.VALUE, index] = given

    def _make_room(self, *, width: int = 0, capacities: int = 0) -> None:
        """Enlarge the table for one more flow of *width* uses, and so many *capacities*."""
        table = self._table
        rows, columns = len(self._flow_of_row), table.capacities.shape[1]
        if self._free and width <= self._width and capacities <= columns:
            return
        more = rows if self._free else 2 * rows
        while capacities > columns:
            columns *= 2
        self._width = max(width, self._width)
        self._arrays = enlarged(table, more, self._width, columns)
        self._table = views(*self._arrays)
        self._free += reversed(range(rows, more))
        self._flow_of_row += [None] * (more - rows)
