"""Who shares with whom, over a table, for numba to compile: rows come and go, and connected sets
are found.

The reckoning is that of :mod:`c3sim.engine.progress`, which explains it and remains what this is tested against. Arrays
are those of :class:`c3sim.engine.compiled.table.Table`. (numba keeps what it has compiled until the file of the function changes,
and looks at no other: who changes one of ``table``, ``trees``, ``loops`` and ``filling`` removes ``__pycache__``.)

What is left alone
------------------
While all flows rise together, nothing is different from the last time until the level where something has changed. So flows
that stopped rising below it keep their rates; the others, if connected to what changed through each other, rise again.

* A flow that has gone stopped at some level; below, no capacity that it drew on was exhausted, with
it or without.
* A flow that comes rises with the rest. A capacity was exhausted at level ROOM / STEEP: what it had
for those who still rose,
  over what they drew per level. With one more that draws *d* per level this is not before ROOM / (STEEP + d): at lower levels
  those who had stopped before drew no more than they do in ROOM.
* Anything else (caps, values of capacities): level 0, all that is connected.
"""

from __future__ import annotations

import math

from c3sim.engine.compiled.heaps import enter
from c3sim.engine.compiled.table import (
    ACTIVE,
    AFTER,
    AT,
    BEFORE,
    CAP,
    CAPACITIES,
    DUE,
    FIRST,
    FLOWS,
    FOUND,
    INDEX,
    LEFT,
    LISTED,
    MARK,
    MARKED,
    NONE,
    RATE,
    REACHED,
    REMAINING,
    ROOM,
    ROW,
    SEEN,
    SETTLED,
    SLOPE,
    STEEP,
    UP,
    USED,
    WEIGHT,
    Array,
    Table,
    compiled,
    inlined,
    opened,
)

BELOW = 1.0 - 1e-9  # levels that rounding may tell apart are one

_opened = compiled(opened)

# Tables are handed over as their two arrays: every array more would take compiled code time at each
# call.

# -- who is there
# ------------------------------------------------------------------------------------------------


@compiled
def touch(numbers: Array, wholes: Array, row: int) -> None:
    """Something about *row* has changed: whatever is connected to it rises again from the ground."""
    table = _opened(numbers, wholes)
    table.lowest[0] = 0.0
    _touch(table, row)


@inlined
def _touch(table: Table, row: int) -> None:
    rows, connected = table.rows, table.connected
    if rows[MARKED, row] != connected[MARK]:
        rows[MARKED, row] = connected[MARK]
        rows[LISTED, connected[FLOWS]] = row
        connected[FLOWS] += 1


@inlined
def _touch_capacity(table: Table, index: int) -> None:
    indices, connected = table.indices, table.connected
    if indices[SEEN, index] != connected[MARK]:
        indices[SEEN, index] = connected[MARK]
        indices[FOUND, connected[CAPACITIES]] = index
        connected[CAPACITIES] += 1


@compiled
def insert(
    numbers: Array,
    wholes: Array,
    row: int,
    drawn: Array,
    weight: float,
    cap: float,
    work: float,
    now: float,
) -> None:
    """Begin a flow in *row*; each line of *drawn* is a use: index of the capacity, amount."""
    table = _opened(numbers, wholes)
    flows, rows, uses, indices, capacities = (
        table.flows,
        table.rows,
        table.uses,
        table.indices,
        table.capacities,
    )
    first = row * (len(table.amounts) // rows.shape[1])
    flows[WEIGHT, row], flows[CAP, row], flows[REMAINING, row] = weight, cap, work
    flows[RATE, row], flows[SETTLED, row], flows[REACHED, row] = 0.0, now, math.inf
    rows[ACTIVE, row], rows[USED, row], rows[AT, row] = 1, drawn.shape[0], NONE
    for k in range(drawn.shape[0]):
        use, index, amount = first + k, int(drawn[k, 0]), drawn[k, 1]
        after = indices[FIRST, index]
        uses[ROW, use], uses[INDEX, use], table.amounts[use] = row, index, amount
        uses[AFTER, use], uses[BEFORE, use] = after, NONE
        if after != NONE:
            uses[BEFORE, after] = use
        indices[FIRST, index] = use
        capacities[STEEP, index] += amount * weight
        table.lowest[0] = min(table.lowest[0], capacities[ROOM, index] / capacities[STEEP, index])
    _touch(table, row)


@compiled
def remove(numbers: Array, wholes: Array, row: int) -> None:
    """Take *row* out; whoever shares with it belongs to the next connected set."""
    _remove(_opened(numbers, wholes), row)


@compiled
def _remove(table: Table, row: int) -> None:
    rows, uses, indices = table.rows, table.uses, table.indices
    width = len(table.amounts) // rows.shape[1]
    rows[ACTIVE, row] = 0
    enter(table.finish, row, math.inf)
    table.lowest[0] = min(table.lowest[0], table.flows[REACHED, row])
    for use in range(row * width, row * width + rows[USED, row]):
        before, after, index = uses[BEFORE, use], uses[AFTER, use], uses[INDEX, use]
        if before != NONE:
            uses[AFTER, before] = after
        else:
            indices[FIRST, index] = after
        if after != NONE:
            uses[BEFORE, after] = before
        _touch_capacity(table, index)
        _release(table, row, use, index)


@inlined
def _release(table: Table, row: int, use: int, index: int) -> None:
    """What *row* drew on a capacity by *use* is no longer in its ROOM, or in its STEEP."""
    if table.rows[AT, row] == index:
        table.capacities[STEEP, index] -= table.amounts[use] * table.flows[WEIGHT, row]
    else:
        table.capacities[ROOM, index] += table.amounts[use] * table.flows[RATE, row]


# -- who is connected
# --------------------------------------------------------------------------------------------


@compiled
def connect(numbers: Array, wholes: Array) -> None:
    """Complete the connected set to all that shares anything with what was touched, whatever its
    level.
    """
    table = _opened(numbers, wholes)
    table.lowest[0] = 0.0
    _connect(table)


@compiled
def _connect(table: Table) -> None:
    """Complete the connected set to those who rise again: LISTED flows, FOUND capacities with what
    these are left with.
    """
    rows, uses, indices, connected = table.rows, table.uses, table.indices, table.connected
    width, mark = len(table.amounts) // rows.shape[1], connected[MARK]
    listed, found = 0, connected[CAPACITIES]
    for k in range(connected[FLOWS]):
        row = rows[LISTED, k]
        if rows[ACTIVE, row]:  # else it has gone meanwhile
            rows[LISTED, listed] = row
            listed += 1
    flow, capacity = 0, 0
    while flow < listed or capacity < found:
        if capacity < found:
            listed = _list_users(table, indices[FOUND, capacity], listed)
            capacity += 1
        else:
            start = rows[LISTED, flow] * width
            for use in range(start, start + rows[USED, rows[LISTED, flow]]):
                index = uses[INDEX, use]
                if indices[SEEN, index] != mark:
                    indices[SEEN, index] = mark
                    indices[FOUND, found] = index
                    found += 1
            flow += 1
    connected[FLOWS], connected[CAPACITIES] = listed, found


@inlined
def _list_users(table: Table, index: int, listed: int) -> int:
    """List those users of a capacity that rise again; LEFT: less what the others draw. Returns how
    many are listed now.
    """
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    mark, lowest = table.connected[MARK], table.lowest[0] * BELOW
    left, slope, up = 0.0, 0.0, 0
    use = table.indices[FIRST, index]
    while use != NONE:
        row = uses[ROW, use]
        if flows[REACHED, row] >= lowest:
            slope += amounts[use] * flows[WEIGHT, row]
            up += 1
            if rows[MARKED, row] != mark:
                rows[MARKED, row] = mark
                rows[LISTED, listed] = row
                listed += 1
        else:
            left -= amounts[use] * flows[RATE, row]
        use = uses[AFTER, use]
    table.capacities[LEFT, index], table.capacities[SLOPE, index] = left, slope
    table.indices[UP, index] = up
    return listed


# -- when they end
# -----------------------------------------------------------------------------------------------


@compiled
def take_due(numbers: Array, wholes: Array, limit: float, now: float) -> tuple[int, int]:
    """Take out the rows that end by *limit*: they are complete. Lists them in DUE; how many they
    are, and the first.
    """
    table = _opened(numbers, wholes)
    return _take_due(table, limit, now), table.rows[DUE, 0]


@compiled
def _take_due(table: Table, limit: float, now: float) -> int:
    finish, leaves = table.finish, table.rows.shape[1]
    taken = 0
    while finish[1] <= limit:
        node = 1
        while node < leaves:
            node = 2 * node if finish[2 * node] <= limit else 2 * node + 1
        table.flows[REMAINING, node - leaves], table.flows[SETTLED, node - leaves] = 0.0, now
        _remove(table, node - leaves)
        table.rows[DUE, taken] = node - leaves
        taken += 1
    return taken
