"""Rates and ends of a connected set of rows: loops for numba to compile.

They do what :mod:`c3sim.engine.sharing` does, which explains it, and are tested against it. Which
flows rise at all, and when numba compiles anew: :mod:`c3sim.engine.compiled.connect`.
"""

from __future__ import annotations

import math

from c3sim.engine.compiled.connect import BELOW, connect_rows, take_due_rows
from c3sim.engine.compiled.heaps import enter, heapify, pop, sift_down
from c3sim.engine.compiled.table import (
    BOTTLENECK,
    CAP,
    CAP_HEAP,
    CAP_LEVEL,
    CAPACITY_COUNT,
    CONNECTED_CAPACITIES,
    CONNECTED_ROWS,
    DUE,
    FIRST,
    FULL,
    INDEX,
    LEFT,
    LEFT_AT_LEVEL,
    LEVEL,
    LEVEL_HEAP,
    MARK,
    NEXT,
    NONE,
    RATE,
    REACHED,
    REMAINING,
    RISING_USERS,
    ROW,
    ROW_COUNT,
    SETTLED,
    SLOPE,
    SLOPE_AT_LEVEL,
    USE_COUNT,
    VALUE,
    WEIGHT,
    Array,
    Table,
    compiled,
    compiled_views,
    inline,
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
    if flows[SETTLED, row] != now:
        flows[REMAINING, row] -= flows[RATE, row] * (now - flows[SETTLED, row])
        flows[SETTLED, row] = now


@compiled
def share(numbers: Array, integers: Array, now: float) -> tuple[int, int, float]:
    """Rates and finishes of the connected set, which is empty afterwards.

    Returns how many rows were solved, one that nothing limits (or NONE), and the earliest finish of
    all.
    """
    table = compiled_views(numbers, integers)
    count = table.connected[ROW_COUNT]
    return count, _share(table, now), table.finish[1]


@compiled
def connect_and_share(numbers: Array, integers: Array, now: float) -> tuple[int, int, float]:
    """Both, where no rule has to be evaluated in between. Returns what :func:`share` does."""
    table = compiled_views(numbers, integers)
    connect_rows(table)
    count = table.connected[ROW_COUNT]
    return count, _share(table, now), table.finish[1]


@compiled
def _share(table: Table, now: float) -> int:
    flows, listed = table.flows, table.rows[CONNECTED_ROWS]
    finish, connected = table.finish, table.connected
    leaves = flows.shape[1]
    few = connected[ROW_COUNT] < FEW * leaves
    for k in range(connected[ROW_COUNT]):
        _settle(flows, listed[k], now)
    unlimited = _fill(table)
    for k in range(connected[ROW_COUNT]):
        row = listed[k]
        ends = math.inf
        if flows[REMAINING, row] <= 0.0:
            ends = now
        elif flows[RATE, row] > 0.0:
            ends = now + flows[REMAINING, row] / flows[RATE, row]
        if few:
            enter(finish, row, ends)
        else:
            finish[leaves + row] = ends
    if not few:
        for node in range(leaves - 1, 0, -1):
            finish[node] = min(finish[2 * node], finish[2 * node + 1])
    connected[ROW_COUNT], connected[CAPACITY_COUNT], table.lowest[0] = 0, 0, math.inf
    connected[MARK] += 1
    return unlimited


@compiled
def _fill(table: Table) -> int:
    """Progressive filling of the connected set, see :mod:`c3sim.engine.sharing`."""
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    capacities, indices = table.capacities, table.indices
    cap, rate, cap_level = flows[CAP], flows[RATE], flows[CAP_LEVEL]
    listed, cap_heap = rows[CONNECTED_ROWS], rows[CAP_HEAP]
    left, slope, full = capacities[LEFT], capacities[SLOPE], capacities[FULL]
    level, level_heap = capacities[LEVEL], indices[LEVEL_HEAP]
    left_at_level, slope_at_level = capacities[LEFT_AT_LEVEL], capacities[SLOPE_AT_LEVEL]
    rising, capped, filling, lowest = table.connected[ROW_COUNT], 0, 0, table.lowest[0] * BELOW
    for k in range(rising):
        row = listed[k]
        rate[row] = RISING
        if cap[row] < math.inf:
            cap_level[row] = cap[row] / flows[WEIGHT, row]
            cap_heap[capped] = row
            capped += 1
    for k in range(table.connected[CAPACITY_COUNT]):
        index = indices[CONNECTED_CAPACITIES, k]
        left[index] += capacities[VALUE, index]
        left_at_level[index], slope_at_level[index] = left[index], 0.0
        if left[index] < math.inf and indices[RISING_USERS, index]:
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
            _freeze(table, row, NONE, cap_level[row], cap[row])
            rising -= 1
        elif filling:
            # next, a capacity is exhausted, unless flows that froze meanwhile have left it more
            index = level_heap[0]
            if not indices[RISING_USERS, index]:
                left_at_level[index] = left[index]
                filling = pop(level, level_heap, filling)
                continue
            if slope[index] < SHRUNK * full[index]:
                slope[index] = full[index] = _rising(flows, uses, amounts, indices[FIRST, index])
            if slope[index] != 0.0 and left[index] / slope[index] > level[index]:
                level[index] = left[index] / slope[index]
                sift_down(level, level_heap, filling, 0)
                continue
            filling = pop(level, level_heap, filling)
            left_at_level[index], slope_at_level[index] = left[index], slope[index]
            use = indices[FIRST, index]
            while use != NONE:
                row = uses[ROW, use]
                if rate[row] == RISING:
                    limit = min(flows[WEIGHT, row] * level[index], cap[row])
                    _freeze(table, row, index, level[index], limit)
                    rising -= 1
                use = uses[NEXT, use]
        else:
            for k in range(table.connected[ROW_COUNT]):
                if rate[listed[k]] == RISING:
                    return int(listed[k])
    for k in range(filling):
        left_at_level[level_heap[k]] = left[level_heap[k]]
    return NONE


@inline
def _rising(flows: Array, uses: Array, amounts: Array, use: int) -> float:
    """What those users of a capacity that still rise draw per unit of level; *use*: of the first
    user.
    """
    total = 0.0
    while use != NONE:
        row = uses[ROW, use]
        if flows[RATE, row] == RISING:
            total += amounts[use] * flows[WEIGHT, row]
        use = uses[NEXT, use]
    return total


@inline
def _freeze(table: Table, row: int, at: int, level: float, rate: float) -> None:
    """*row* stays at *rate*, which it has at *level*, where capacity *at* is exhausted (NONE: its
    cap); its capacities lose what it draws.
    """
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    capacities, indices = table.capacities, table.indices
    flows[RATE, row], flows[REACHED, row], rows[BOTTLENECK, row] = rate, level, at
    first = row * (len(amounts) // rows.shape[1])
    for use in range(first, first + rows[USE_COUNT, row]):
        capacities[SLOPE, uses[INDEX, use]] -= amounts[use] * flows[WEIGHT, row]
        capacities[LEFT, uses[INDEX, use]] -= amounts[use] * rate
        indices[RISING_USERS, uses[INDEX, use]] -= 1


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
        if unlimited != NONE or table.finish[1] == math.inf:
            return ended, unlimited
        now = table.finish[1]
        for k in range(take_due_rows(table, now * (1.0 + same), now)):
            order[ended], times[ended] = table.rows[DUE, k], now
            ended += 1
