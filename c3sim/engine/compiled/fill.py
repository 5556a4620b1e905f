"""How fast a connected set goes and when it ends, over a table, for numba to compile.

The reckoning is that of :mod:`c3sim.engine.sharing`, which explains it and remains what this is tested against. Arrays
are those of :class:`c3sim.engine.compiled.table.Table`. (On numba's memory, and on who rises at all, see :mod:`c3sim.engine.compiled.connect`.)
"""

from __future__ import annotations

import math

from c3sim.engine.compiled.connect import BELOW, _connect, _take_due
from c3sim.engine.compiled.heaps import enter, heapify, pop, sift_down
from c3sim.engine.compiled.table import (
    AFTER,
    AT,
    BOUND,
    BOUNDS,
    CAP,
    CAPACITIES,
    DUE,
    FIRST,
    FLOWS,
    FOUND,
    FULL,
    INDEX,
    LEFT,
    LEVEL,
    LEVELS,
    LISTED,
    MARK,
    NONE,
    RATE,
    REACHED,
    REMAINING,
    ROOM,
    ROW,
    SETTLED,
    SLOPE,
    STEEP,
    UP,
    USED,
    VALUE,
    WEIGHT,
    Array,
    Table,
    compiled,
    inlined,
    opened,
)

RISING = -1.0  # stands for the rate of a flow that is not frozen yet
SHRUNK = 1 / 16  # a slope below this share of the last full sum has lost too many digits
FEW = 1 / 8  # of all rows: so few finishes are entered into the tree one by one

_opened = compiled(opened)


@compiled
def settle(numbers: Array, wholes: Array, row: int, now: float) -> None:
    """Make what remains of *row* true."""
    _settle(_opened(numbers, wholes).flows, row, now)


@inlined
def _settle(flows: Array, row: int, now: float) -> None:
    if flows[SETTLED, row] != now:
        flows[REMAINING, row] -= flows[RATE, row] * (now - flows[SETTLED, row])
        flows[SETTLED, row] = now


@compiled
def share(numbers: Array, wholes: Array, now: float) -> tuple[int, int, float]:
    """Rates and finishes of the connected set, which is empty afterwards.

    Returns how many rows were solved, one that nothing limits (or NONE), and the earliest finish of
    all.
    """
    table = _opened(numbers, wholes)
    count = table.connected[FLOWS]
    return count, _share(table, now), table.finish[1]


@compiled
def connect_and_share(numbers: Array, wholes: Array, now: float) -> tuple[int, int, float]:
    """Both at once, where nothing has to be asked in between and nobody looks on. Returns the same."""
    table = _opened(numbers, wholes)
    _connect(table)
    count = table.connected[FLOWS]
    return count, _share(table, now), table.finish[1]


@compiled
def _share(table: Table, now: float) -> int:
    flows, listed, finish, connected = (
        table.flows,
        table.rows[LISTED],
        table.finish,
        table.connected,
    )
    leaves = flows.shape[1]
    few = connected[FLOWS] < FEW * leaves
    for k in range(connected[FLOWS]):
        _settle(flows, listed[k], now)
    unlimited = _fill(table)
    for k in range(connected[FLOWS]):
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
    connected[FLOWS], connected[CAPACITIES], table.lowest[0] = 0, 0, math.inf
    connected[MARK] += 1
    return unlimited


@compiled
def _fill(table: Table) -> int:
    """Progressive filling of the connected set, as :func:`c3sim.engine.sharing.solve` explains it."""
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    capacities, indices = table.capacities, table.indices
    cap, rate, bound, listed, bounds = (
        flows[CAP],
        flows[RATE],
        flows[BOUND],
        rows[LISTED],
        rows[BOUNDS],
    )
    left, slope, full, level, levels = (
        capacities[LEFT],
        capacities[SLOPE],
        capacities[FULL],
        capacities[LEVEL],
        indices[LEVELS],
    )
    room, steep = capacities[ROOM], capacities[STEEP]
    rising, capped, filling, lowest = table.connected[FLOWS], 0, 0, table.lowest[0] * BELOW
    for k in range(rising):
        row = listed[k]
        rate[row] = RISING
        if cap[row] < math.inf:
            bound[row] = cap[row] / flows[WEIGHT, row]
            bounds[capped] = row
            capped += 1
    for k in range(table.connected[CAPACITIES]):
        index = indices[FOUND, k]
        left[index] += capacities[VALUE, index]
        room[index], steep[index] = left[index], 0.0
        if left[index] < math.inf and indices[UP, index]:
            full[index] = slope[index]
            level[index] = max(left[index] / slope[index], lowest)
            levels[filling] = index
            filling += 1
    heapify(bound, bounds, capped)
    heapify(level, levels, filling)

    while rising:
        if capped and rate[bounds[0]] != RISING:
            capped = pop(bound, bounds, capped)
        elif capped and (not filling or bound[bounds[0]] <= level[levels[0]]):
            row = bounds[0]  # next, a flow meets its cap
            capped = pop(bound, bounds, capped)
            _freeze(table, row, NONE, bound[row], cap[row])
            rising -= 1
        elif (
            filling
        ):  # next, a capacity is exhausted, unless flows that froze meanwhile have left it room
            index = levels[0]
            if not indices[UP, index]:
                room[index] = left[index]
                filling = pop(level, levels, filling)
                continue
            if slope[index] < SHRUNK * full[index]:
                slope[index] = full[index] = _rising(flows, uses, amounts, indices[FIRST, index])
            if slope[index] != 0.0 and left[index] / slope[index] > level[index]:
                level[index] = left[index] / slope[index]
                sift_down(level, levels, filling, 0)
                continue
            filling = pop(level, levels, filling)
            room[index], steep[index] = left[index], slope[index]
            use = indices[FIRST, index]
            while use != NONE:
                row = uses[ROW, use]
                if rate[row] == RISING:
                    limit = min(flows[WEIGHT, row] * level[index], cap[row])
                    _freeze(table, row, index, level[index], limit)
                    rising -= 1
                use = uses[AFTER, use]
        else:
            for k in range(table.connected[FLOWS]):
                if rate[listed[k]] == RISING:
                    return int(listed[k])
    for k in range(filling):
        room[levels[k]] = left[levels[k]]
    return NONE


@inlined
def _rising(flows: Array, uses: Array, amounts: Array, use: int) -> float:
    """What the users of a capacity that still rise draw per unit of level; *use* is the first of
    them.
    """
    total = 0.0
    while use != NONE:
        row = uses[ROW, use]
        if flows[RATE, row] == RISING:
            total += amounts[use] * flows[WEIGHT, row]
        use = uses[AFTER, use]
    return total


@inlined
def _freeze(table: Table, row: int, at: int, level: float, rate: float) -> None:
    """*row* stays at *rate*, which it has at *level*, where capacity *at* is exhausted: what it
    draws is gone.
    """
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    capacities, indices = table.capacities, table.indices
    flows[RATE, row], flows[REACHED, row], rows[AT, row] = rate, level, at
    first = row * (len(amounts) // rows.shape[1])
    for use in range(first, first + rows[USED, row]):
        capacities[SLOPE, uses[INDEX, use]] -= amounts[use] * flows[WEIGHT, row]
        capacities[LEFT, uses[INDEX, use]] -= amounts[use] * rate
        indices[UP, uses[INDEX, use]] -= 1


@compiled
def drain(
    numbers: Array, wholes: Array, now: float, same: float, order: Array, times: Array
) -> tuple[int, int]:
    """Run to the end, with nothing else happening and nobody looking; ends by *same* apart
    (relative) are one instant.

    Writes rows and times of the ends, in order, to *order* and *times*. Returns how many, and a row
    that nothing limits, or NONE.
    """
    table = _opened(numbers, wholes)
    ended = 0
    while True:
        _connect(table)
        unlimited = _share(table, now)
        if unlimited != NONE or table.finish[1] == math.inf:
            return ended, unlimited
        now = table.finish[1]
        for k in range(_take_due(table, now * (1.0 + same), now)):
            order[ended], times[ended] = table.rows[DUE, k], now
            ended += 1
