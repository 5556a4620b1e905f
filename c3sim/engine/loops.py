"""Who shares with whom, over a table, for numba to compile: rows come and go, and connected sets are found.

The reckoning is that of :mod:`c3sim.engine.progress`, which explains it and remains what this is tested against. Arrays
are those of :class:`c3sim.engine.table.Table`. (numba keeps what it has compiled until the file of the function changes,
and looks at no other: who changes one of ``table``, ``trees``, ``loops`` and ``filling`` removes ``__pycache__``.)
"""

from __future__ import annotations

import math

from c3sim.engine.table import (
    ACTIVE,
    AFTER,
    BEFORE,
    CAP,
    CAPACITIES,
    DUE,
    FIRST,
    FLOWS,
    FOUND,
    INDEX,
    LISTED,
    MARK,
    MARKED,
    NONE,
    RATE,
    REMAINING,
    ROW,
    SEEN,
    SETTLED,
    STALE,
    USED,
    USERS,
    WEIGHT,
    Array,
    Table,
    compiled,
    inlined,
    opened,
)
from c3sim.engine.trees import enter

__all__ = ["connect", "insert", "remove", "take_due", "touch"]

_opened = compiled(opened)

# Tables are handed over as their two arrays: every array more would take compiled code time at each call.

# -- who is there ------------------------------------------------------------------------------------------------


@compiled
def touch(numbers: Array, wholes: Array, row: int) -> None:
    """Something about *row* has changed: it belongs to the next connected set."""
    table = _opened(numbers, wholes)
    _touch(table.rows, table.connected, row)


@inlined
def _touch(rows: Array, connected: Array, row: int) -> None:
    if rows[MARKED, row] != connected[MARK]:
        rows[MARKED, row] = connected[MARK]
        rows[LISTED, connected[FLOWS]] = row
        connected[FLOWS] += 1


@inlined
def _touch_capacity(indices: Array, connected: Array, index: int) -> None:
    if indices[SEEN, index] != connected[MARK]:
        indices[SEEN, index] = connected[MARK]
        indices[FOUND, connected[CAPACITIES]] = index
        connected[CAPACITIES] += 1


@compiled
def insert(
    numbers: Array, wholes: Array, row: int, used: int, weight: float, cap: float, work: float, now: float
) -> None:
    """Begin a flow in *row*, whose *used* uses have been written: link these to their capacities."""
    table = _opened(numbers, wholes)
    flows, rows, uses, indices = table.flows, table.rows, table.uses, table.indices
    width = len(table.amounts) // rows.shape[1]
    flows[WEIGHT, row], flows[CAP, row], flows[REMAINING, row] = weight, cap, work
    flows[RATE, row], flows[SETTLED, row] = 0.0, now
    rows[ACTIVE, row], rows[USED, row] = 1, used
    for use in range(row * width, row * width + used):
        uses[ROW, use] = row
        index = uses[INDEX, use]
        first = indices[FIRST, index]
        uses[AFTER, use], uses[BEFORE, use] = first, NONE
        if first != NONE:
            uses[BEFORE, first] = use
        indices[FIRST, index] = use
        indices[USERS, index] += 1
        indices[STALE, index] = 1
    _touch(rows, table.connected, row)


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
    for use in range(row * width, row * width + rows[USED, row]):
        before, after, index = uses[BEFORE, use], uses[AFTER, use], uses[INDEX, use]
        if before != NONE:
            uses[AFTER, before] = after
        else:
            indices[FIRST, index] = after
        if after != NONE:
            uses[BEFORE, after] = before
        indices[USERS, index] -= 1
        indices[STALE, index] = 1
        _touch_capacity(indices, table.connected, index)


@compiled
def connect(numbers: Array, wholes: Array) -> None:
    """Complete the connected set to all that shares anything with what was touched."""
    _connect(_opened(numbers, wholes))


@compiled
def _connect(table: Table) -> None:
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
            use = indices[FIRST, indices[FOUND, capacity]]
            while use != NONE:
                row = uses[ROW, use]
                if rows[MARKED, row] != mark:
                    rows[MARKED, row] = mark
                    rows[LISTED, listed] = row
                    listed += 1
                use = uses[AFTER, use]
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


# -- when they end -----------------------------------------------------------------------------------------------


@compiled
def take_due(numbers: Array, wholes: Array, limit: float, now: float) -> int:
    """Take out the rows that end by *limit*: they are complete. Lists them in DUE; returns how many they are."""
    return _take_due(_opened(numbers, wholes), limit, now)


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
