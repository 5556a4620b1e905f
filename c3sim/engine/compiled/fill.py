"""Rates and ends of a connected set of rows: loops for numba to compile.

They do what :mod:`c3sim.engine.sharing` does, which explains it, and are tested against it. Which
flows rise at all: :mod:`c3sim.engine.compiled.connect`.
"""

from __future__ import annotations

import math

from c3sim.engine.compiled import line
from c3sim.engine.compiled.connect import BELOW, connect_rows, take_due_rows
from c3sim.engine.compiled.table import (
    Array,
    Table,
    compiled,
    compiled_views,
    enter,
    heapify,
    inline,
    pop,
    sift_down,
)

RISING = -1.0  # stands for the rate of a flow that is not frozen yet
SHRUNK = 1 / 16  # a slope below this share of the last full sum has lost too many digits
FEW = 1 / 8  # of all rows: so few finishes are entered into the tree one by one


@compiled
def settle(numbers: Array, integers: Array, row: int, now: float) -> None:
    """Make what remains of *row* true."""
    _settle(compiled_views(numbers, integers).flows, row, now)


@inline
def _settle(flows: Array, row: int, now: float) -> None:
    if flows[line.SETTLED, row] != now:
        flows[line.REMAINING, row] -= flows[line.RATE, row] * (now - flows[line.SETTLED, row])
        flows[line.SETTLED, row] = now


@compiled
def share(numbers: Array, integers: Array, now: float) -> tuple[int, int, float]:
    """Rates and finishes of the connected set, which is empty afterwards.

    Returns how many rows were solved, one that nothing limits (or NONE), and the earliest finish.
    """
    table = compiled_views(numbers, integers)
    count = table.connected[line.ROW_COUNT]
    return count, _share(table, now), table.finish[1]


@compiled
def connect_and_share(numbers: Array, integers: Array, now: float) -> tuple[int, int, float]:
    """Both, where no rule has to be evaluated in between. Returns what :func:`share` does."""
    table = compiled_views(numbers, integers)
    connect_rows(table)
    count = table.connected[line.ROW_COUNT]
    return count, _share(table, now), table.finish[1]


@compiled
def _share(table: Table, now: float) -> int:
    flows, listed = table.flows, table.rows[line.CONNECTED_ROWS]
    finish, connected = table.finish, table.connected
    leaves = flows.shape[1]
    few = connected[line.ROW_COUNT] < FEW * leaves
    for k in range(connected[line.ROW_COUNT]):
        _settle(flows, listed[k], now)
    unlimited = _fill(table)
    for k in range(connected[line.ROW_COUNT]):
        row = listed[k]
        ends = math.inf
        if flows[line.REMAINING, row] <= 0.0:
            ends = now
        elif flows[line.RATE, row] > 0.0:
            ends = now + flows[line.REMAINING, row] / flows[line.RATE, row]
        if few:
            enter(finish, row, ends)
        else:
            finish[leaves + row] = ends
    if not few:
        for node in range(leaves - 1, 0, -1):
            finish[node] = min(finish[2 * node], finish[2 * node + 1])
    connected[line.ROW_COUNT], connected[line.CAPACITY_COUNT], table.lowest[0] = 0, 0, math.inf
    connected[line.MARK] += 1
    return unlimited


@inline
def _heap_caps(table: Table) -> int:
    """Let all connected rows rise; the number on the heap of caps."""
    flows, listed = table.flows, table.rows[line.CONNECTED_ROWS]
    cap, cap_level, cap_heap = flows[line.CAP], flows[line.CAP_LEVEL], table.rows[line.CAP_HEAP]
    capped = 0
    for k in range(table.connected[line.ROW_COUNT]):
        row = listed[k]
        flows[line.RATE, row] = RISING
        if cap[row] < math.inf:
            cap_level[row] = cap[row] / flows[line.WEIGHT, row]
            cap_heap[capped] = row
            capped += 1
    heapify(cap_level, cap_heap, capped)
    return capped


@inline
def _heap_levels(table: Table) -> int:
    """Note what is left of all connected capacities; the number on the heap of levels."""
    capacities, indices = table.capacities, table.indices
    left, slope, level = capacities[line.LEFT], capacities[line.SLOPE], capacities[line.LEVEL]
    level_heap, filling, lowest = indices[line.LEVEL_HEAP], 0, table.lowest[0] * BELOW
    for k in range(table.connected[line.CAPACITY_COUNT]):
        index = indices[line.CONNECTED_CAPACITIES, k]
        left[index] += capacities[line.VALUE, index]
        capacities[line.LEFT_AT_LEVEL, index] = left[index]
        capacities[line.SLOPE_AT_LEVEL, index] = 0.0
        if left[index] < math.inf and indices[line.RISING_USERS, index]:
            capacities[line.FULL, index] = slope[index]
            level[index] = max(left[index] / slope[index], lowest)
            level_heap[filling] = index
            filling += 1
    heapify(level, level_heap, filling)
    return filling


@compiled
def _fill(table: Table) -> int:
    """Progressive filling of the connected set, see :mod:`c3sim.engine.sharing`."""
    flows, capacities, indices = table.flows, table.capacities, table.indices
    cap, rate, cap_level = flows[line.CAP], flows[line.RATE], flows[line.CAP_LEVEL]
    cap_heap = table.rows[line.CAP_HEAP]
    left, slope, full = capacities[line.LEFT], capacities[line.SLOPE], capacities[line.FULL]
    level, level_heap = capacities[line.LEVEL], indices[line.LEVEL_HEAP]
    left_at_level = capacities[line.LEFT_AT_LEVEL]
    capped, filling = _heap_caps(table), _heap_levels(table)
    rising = table.connected[line.ROW_COUNT]
    while rising:
        if capped and rate[cap_heap[0]] != RISING:
            capped = pop(cap_level, cap_heap, capped)
        elif capped and (not filling or cap_level[cap_heap[0]] <= level[level_heap[0]]):
            # next, a flow meets its cap
            row = cap_heap[0]
            capped = pop(cap_level, cap_heap, capped)
            _freeze(table, row, line.NONE, cap_level[row], cap[row])
            rising -= 1
        elif filling:
            # next, a capacity is exhausted, unless flows that froze meanwhile have left it more
            index = level_heap[0]
            if not indices[line.RISING_USERS, index]:
                left_at_level[index] = left[index]
                filling = pop(level, level_heap, filling)
                continue
            if slope[index] < SHRUNK * full[index]:
                slope[index] = full[index] = _rising(table, index)
            if slope[index] != 0.0 and left[index] / slope[index] > level[index]:
                level[index] = left[index] / slope[index]
                sift_down(level, level_heap, filling, 0)
                continue
            filling = pop(level, level_heap, filling)
            rising -= _freeze_users(table, index)
        else:
            return _first_rising(table)
    for k in range(filling):
        left_at_level[level_heap[k]] = left[level_heap[k]]
    return line.NONE


@inline
def _rising(table: Table, index: int) -> float:
    """Demand of the users that still rise on capacity *index*, per unit of level."""
    flows, uses, total = table.flows, table.uses, 0.0
    use = table.indices[line.FIRST, index]
    while use != line.NONE:
        row = uses[line.ROW, use]
        if flows[line.RATE, row] == RISING:
            total += table.amounts[use] * flows[line.WEIGHT, row]
        use = uses[line.NEXT, use]
    return total


@inline
def _first_rising(table: Table) -> int:
    """The first connected row that still rises, or NONE."""
    listed = table.rows[line.CONNECTED_ROWS]
    for k in range(table.connected[line.ROW_COUNT]):
        if table.flows[line.RATE, listed[k]] == RISING:
            return int(listed[k])
    return line.NONE


@inline
def _freeze_users(table: Table, index: int) -> int:
    """Users that still rise stay at the level of capacity *index*; the number of them."""
    flows, uses, capacities = table.flows, table.uses, table.capacities
    level, frozen = capacities[line.LEVEL, index], 0
    capacities[line.LEFT_AT_LEVEL, index] = capacities[line.LEFT, index]
    capacities[line.SLOPE_AT_LEVEL, index] = capacities[line.SLOPE, index]
    use = table.indices[line.FIRST, index]
    while use != line.NONE:
        row = uses[line.ROW, use]
        if flows[line.RATE, row] == RISING:
            limit = min(flows[line.WEIGHT, row] * level, flows[line.CAP, row])
            _freeze(table, row, index, level, limit)
            frozen += 1
        use = uses[line.NEXT, use]
    return frozen


@inline
def _freeze(table: Table, row: int, at: int, level: float, rate: float) -> None:
    """*row* stays at *rate*, reached at *level*, where capacity *at* (NONE: its cap) stops it."""
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    capacities, indices = table.capacities, table.indices
    flows[line.RATE, row], flows[line.REACHED, row], rows[line.BOTTLENECK, row] = rate, level, at
    first = row * (len(amounts) // rows.shape[1])
    for use in range(first, first + rows[line.USE_COUNT, row]):
        capacities[line.SLOPE, uses[line.INDEX, use]] -= amounts[use] * flows[line.WEIGHT, row]
        capacities[line.LEFT, uses[line.INDEX, use]] -= amounts[use] * rate
        indices[line.RISING_USERS, uses[line.INDEX, use]] -= 1


@compiled
def drain(
    numbers: Array, integers: Array, now: float, same: float, order: Array, times: Array
) -> tuple[int, int]:
    """Run all flows to their ends; ends no further apart than *same* (relative) are one instant.

    Writes rows and times of the ends, in order, to *order* and *times*. Returns how many, and a row
    that nothing limits, or NONE.
    """
    table = compiled_views(numbers, integers)
    ended = 0
    while True:
        connect_rows(table)
        unlimited = _share(table, now)
        if unlimited != line.NONE or table.finish[1] == math.inf:
            return ended, unlimited
        now = table.finish[1]
        for k in range(take_due_rows(table, now * (1.0 + same), now)):
            order[ended], times[ended] = table.rows[line.DUE, k], now
            ended += 1
