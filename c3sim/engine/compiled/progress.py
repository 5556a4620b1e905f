"""Progress of thousands of flows: what :class:`c3sim.engine.progress.Progress` does, in compiled
loops over a table.

Optional: needs numba (``pip install c3sim[fast]``). Rates agree with the pure version up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import lru_cache

import numpy as np

from c3sim.engine.compiled import connect as loops
from c3sim.engine.compiled import fill as filling
from c3sim.engine.compiled.table import (
    CAP,
    DUE,
    FOUND,
    LISTED,
    NONE,
    RATE,
    REMAINING,
    ROOM,
    SETTLED,
    VALUE,
    Array,
    enlarged,
    new_table,
    opened,
)
from c3sim.engine.flow import CapacityRule, DomainRule, Flow
from c3sim.engine.progress import SAME_INSTANT, Progress, in_order

SIZE, WIDTH = 64, 4  # of a new table; it grows
REMEMBERED = 1024  # ways of flows; many take the same


class CompiledProgress(Progress):
    """As :class:`Progress`. The numbers of a flow are true when it is reported, settled or taken
    out.
    """

    def __init__(self) -> None:
        super().__init__()
        self._arrays = new_table(SIZE, WIDTH, SIZE)
        self._table = opened(*self._arrays)
        self._at: list[Flow | None] = [None] * SIZE  # row -> flow
        self._free = list(reversed(range(SIZE)))
        self._domain_at: dict[int, Hashable] = {}
        self._earliest = math.inf
        self._width = WIDTH
        self._asks = False  # whether there are domains or rules
        self._drawn = lru_cache(REMEMBERED)(self._looked_up)
        self._moving = 0  # flows whose cap is a function

    def capacity(self, name: Hashable, value: float, rule: CapacityRule | None) -> None:
        super().capacity(name, value, rule)
        if not value >= 0.0:
            raise ValueError(f"capacity {name} is {value}; a capacity is >= 0")
        self._make_room(capacities=len(self._values))
        self._table.capacities[VALUE, self.index[name]] = value
        self._table.capacities[ROOM, self.index[name]] = value
        self._asks |= rule is not None

    def domain(self, name: Hashable, rule: DomainRule) -> None:
        super().domain(name, rule)
        self.capacity(f"domain {name}", math.inf, None)
        self._asks = True
        self._domain_at[self.index[f"domain {name}"]] = name

    def start(self, flow: Flow, now: float) -> None:
        weight, cap, domain = flow.weight, flow.cap, flow.domain
        if not 0.0 < weight < math.inf:
            raise ValueError(f"flow {flow.name}: weight {weight}; weight > 0 and finite")
        if callable(cap):
            self._moving += 1
            cap = math.inf  # until the next solve
        elif not cap >= 0.0:
            raise ValueError(f"flow {flow.name}: cap {cap}; cap >= 0")
        try:
            drawn = self._drawn(flow.amounts, domain)
        except ValueError as error:
            raise ValueError(f"flow {flow.name}: {error}") from None
        if len(drawn) > self._width or not self._free:
            self._make_room(width=len(drawn))
        flow.places = self._ruled_places(flow) if self._asks else ()
        for place in flow.places:
            self._sharing[place][flow] = None
        flow.settled, flow.serial, flow.slot = now, self._started, self._free.pop()
        self._started += 1
        self.flows[flow] = None
        self._at[flow.slot] = flow
        # whole numbers would need a function of their own
        loops.insert(
            *self._arrays, flow.slot, drawn, float(weight), float(cap), float(flow.remaining), now
        )

    def remove(self, flow: Flow) -> None:
        loops.remove(*self._arrays, flow.slot)
        self._forget(flow)

    def settle(self, flow: Flow, now: float) -> None:
        filling.settle(*self._arrays, flow.slot, now)
        self._read(flow)

    def shorten(self, flow: Flow, work: float, now: float) -> None:
        self.settle(flow, now)
        self._table.flows[REMAINING, flow.slot] -= flow.work - work
        flow.work = work
        loops.touch(*self._arrays, flow.slot)

    def refresh(self, domain: Hashable) -> None:
        for flow in self._sharing[domain]:
            loops.touch(*self._arrays, flow.slot)
            break  # who shares the domain is connected to it

    def solve(self, now: float, report: bool = True) -> list[Flow]:
        flows: list[Flow] = []
        if report or self._asks or self._moving:
            flows = self._prepare()
            count, unlimited, self._earliest = filling.share(*self._arrays, now)
        else:
            count, unlimited, self._earliest = filling.connect_and_share(*self._arrays, now)
        self._limited(unlimited)
        self.solves += count > 0
        if report:
            for flow in flows:
                self._read(flow)
        return flows

    def earliest(self) -> float:
        return self._earliest

    def take_due(self, limit: float, now: float) -> list[Flow]:
        count, first = loops.take_due(*self._arrays, limit, now)
        flows = self._flows_at([first] if count == 1 else self._table.rows[DUE, :count].tolist())
        for flow in flows:
            flow.remaining, flow.settled = 0.0, now
            self._forget(flow)
        return flows

    def drain(self, now: float) -> list[tuple[float, Flow]]:
        """Run all flows to their ends, with nothing else happening: when each ends, in order.

        Raises ValueError where caps, domains, or rules of capacities, would have to be asked on the
        way.
        """
        if self._asks or self._moving:
            raise ValueError("flows with domains or ruled capacities need a clock: use Fluid")
        order, times = np.zeros(len(self.flows), np.int64), np.zeros(len(self.flows))
        count, unlimited = filling.drain(*self._arrays, now, SAME_INSTANT, order, times)
        self._limited(unlimited)
        ends = []
        for row, time in zip(order[:count].tolist(), times[:count].tolist(), strict=True):
            flow = self._at[row]
            assert flow is not None
            flow.remaining, flow.settled = 0.0, time
            self._forget(flow)
            ends.append((time, flow))
        return ends

    # -- private -----------------------------------------------------------------------------------
    # -------------

    def _looked_up(
        self, amounts: tuple[tuple[Hashable, float], ...], domain: Hashable | None
    ) -> Array:
        """What flows with these *amounts* in this *domain* use, shape (uses, 2): index of a
        capacity, amount.
        """
        uses = [*self._uses(amounts)]
        for index, amount in uses:
            if not amount < math.inf:
                raise ValueError(f"amount {amount} of capacity {index}; amount > 0 and finite")
        if domain is not None:
            uses.append((self.index[f"domain {domain}"], 1.0))
        return np.array(uses, float).reshape(len(uses), 2)

    def _ruled_places(self, flow: Flow) -> tuple[Hashable, ...]:
        """Where rules ask who is there."""
        ruled = tuple([index for index, _ in self._uses(flow.amounts) if index in self._rules])
        return ruled if flow.domain is None else (*ruled, flow.domain)

    def _prepare(self) -> list[Flow]:
        """The connected set, with all that its rules say now."""
        loops.connect(*self._arrays)
        count, capacities, _ = self._table.connected.tolist()
        self._follow_rules(self._table.indices[FOUND, :capacities].tolist())
        flows = self._flows_at(self._table.rows[LISTED, :count].tolist())
        if self._moving:
            for flow in flows:
                self._table.flows[CAP, flow.slot] = self._checked(flow, self._cap(flow))
        return flows

    def _flows_at(self, rows: list[int]) -> list[Flow]:
        """In order of their starts."""
        flows = [flow for row in rows if (flow := self._at[row]) is not None]
        return sorted(flows, key=in_order) if len(flows) > 1 else flows

    def _read(self, flow: Flow) -> None:
        """The numbers of *flow* out of its row."""
        numbers, row = self._table.flows, flow.slot
        flow.rate, flow.remaining = float(numbers[RATE, row]), float(numbers[REMAINING, row])
        flow.settled = float(numbers[SETTLED, row])
        flow.finish = float(self._table.finish[len(self._at) + row])

    def _limited(self, unlimited: int) -> None:
        if unlimited != NONE:
            flow = self._at[unlimited]
            raise ValueError(
                f"flow {flow and flow.name}: nothing limits it, neither a cap nor a capacity"
            )

    def _checked(self, flow: Flow, cap: float) -> float:
        if not cap >= 0.0:
            raise ValueError(f"flow {flow.name}: cap {cap}; cap >= 0")
        return cap

    def _forget(self, flow: Flow) -> None:
        """*flow* is no longer in the table."""
        del self.flows[flow]
        self._at[flow.slot] = None
        self._free.append(flow.slot)
        if self._moving:
            self._moving -= callable(flow.cap)
        for place in flow.places:
            self._sharing[place].pop(flow, None)

    def _follow_rules(self, capacities: list[int]) -> None:
        """States of the domains, and what is available of the capacities, among *capacities*."""
        for index in capacities:
            name = self._domain_at.get(index)
            if name is not None:
                self.states[name] = self._domains[name](list(self._sharing[name]))
        for index in capacities:
            if index in self._rules and self._sharing[index]:
                given = self._rules[index](self._values[index], list(self._sharing[index]))
                if not given >= 0.0:
                    raise ValueError(f"capacity {index} is {given}; a capacity is >= 0")
                self._table.capacities[VALUE, index] = given

    def _make_room(self, *, width: int = 0, capacities: int = 0) -> None:
        """For one more flow of *width* uses, and so many *capacities*."""
        table = self._table
        rows, room = len(self._at), table.capacities.shape[1]
        if self._free and width <= self._width and capacities <= room:
            return
        more = rows if self._free else 2 * rows
        while capacities > room:
            room *= 2
        self._width = max(width, self._width)
        self._arrays = enlarged(table, more, self._width, room)
        self._table = opened(*self._arrays)
        self._free += reversed(range(rows, more))
        self._at += [None] * (more - rows)
