"""Rates and ends of a connected set of rows: loops for numba to compile.

They do what :mod:`c3sim.engine.sharing` does, which explains it, and are tested against it. Which
flows rise at all, and when numba compiles anew: :mod:`c3sim.engine.compiled.connect`.
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


@compiled
def _fill(table: Table) -> int:
    """Progressive filling of the connected set, see :mod:`c3sim.engine.sharing`."""
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    capacities, indices = table.capacities, table.indices
    cap, rate, cap_level = flows[line.CAP], flows[line.RATE], flows[line.CAP_LEVEL]
    listed, cap_heap = rows[line.CONNECTED_ROWS], rows[line.CAP_HEAP]
    left, slope, full = capacities[line.LEFT], capacities[line.SLOPE], capacities[line.FULL]
    level, level_heap = capacities[line.LEVEL], indices[line.LEVEL_HEAP]
    left_at_level, slope_at_level = capacities[line.LEFT_AT_LEVEL], capacities[line.SLOPE_AT_LEVEL]
    rising, capped, filling, lowest = table.connected[line.ROW_COUNT], 0, 0, table.lowest[0] * BELOW
    for k in range(rising):
        row = listed[k]
        rate[row] = RISING
        if cap[row] < math.inf:
            cap_level[row] = cap[row] / flows[line.WEIGHT, row]
            cap_heap[capped] = row
            capped += 1
    for k in range(table.connected[line.CAPACITY_COUNT]):
        index = indices[line.CONNECTED_CAPACITIES, k]
        left[index] += capacities[line.VALUE, index]
        left_at_level[index], slope_at_level[index] = left[index], 0.0
        if left[index] < math.inf and indices[line.RISING_USERS, index]:
            full[index] = slope[index]
            level[index] = max(left[index] / slope[index], lowest)
            level_heap[filling] = index
            filling += 1
    heapify(cap_level, cap_heap, capped)
    heapify(level, level_heap, filling)

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
                slope[index] = full[index] = _rising(
                    flows, uses, amounts, indices[line.FIRST, index]
                )
            if slope[index] != 0.0 and left[index] / slope[index] > level[index]:
                level[index] = left[index] / slope[index]
                sift_down(level, level_heap, filling, 0)
                continue
            filling = pop(level, level_heap, filling)
            left_at_level[index], slope_at_level[index] = left[index], slope[index]
            use = indices[line.FIRST, index]
            while use != line.NONE:
                row = uses[line.ROW, use]
                if rate[row] == RISING:
                    limit = min(flows[line.WEIGHT, row] * level[index], cap[row])
                    _freeze(table, row, index, level[index], limit)
                    rising -= 1
                use = uses[line.NEXT, use]
        else:
            for k in range(table.connected[line.ROW_COUNT]):
                if rate[listed[k]] == RISING:
                    return int(listed[k])
    for k in range(filling):
        left_at_level[level_heap[k]] = left[level_heap[k]]
    return line.NONE


@inline
def _rising(flows: Array, uses: Array, amounts: Array, use: int) -> float:
    """Demand of the users that still rise on a capacity, per unit of level; *use*: of the first."""
    total = 0.0
    while use != line.NONE:
        row = uses[line.ROW, use]
        if flows[line.RATE, row] == RISING:
            total += amounts[use] * flows[line.WEIGHT, row]
        use = uses[line.NEXT, use]
    return total


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
