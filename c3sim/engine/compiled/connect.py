"""Rows of the table come and go, and connected sets are found: loops for numba to compile.

They do what :mod:`c3sim.engine.progress` does, and are tested against it.

Which flows keep their rates
----------------------------
Filling repeats itself up to the level where something has changed. Flows that stopped rising below
that level keep their rates. The others, if connected to the change through each other, rise again.

- A flow that has ended stopped at some level. Below it no capacity that it drew on was exhausted,
  with it or without it.
- A flow that starts rises with the rest. A capacity was exhausted at level LEFT_AT_LEVEL /
  SLOPE_AT_LEVEL: what it had for those who still rose, over what they drew per level. With one more
  that draws *d* per level it is exhausted no earlier than at LEFT_AT_LEVEL / (SLOPE_AT_LEVEL + d):
  at lower levels, those who had stopped before drew no more than they do in LEFT_AT_LEVEL.
- Anything else (caps, values of capacities): level 0, the whole connected set.
"""

from __future__ import annotations

import math

from c3sim.engine.compiled import line
from c3sim.engine.compiled.table import Array, Table, compiled, compiled_views, enter, inline

BELOW = 1.0 - 1e-9  # level_heap that rounding may tell apart are one

# Functions that Python calls take the table as its two arrays: every array more costs time.


@compiled
def touch(numbers: Array, integers: Array, row: int) -> None:
    """*row* has changed: all that is connected to it rises again from level 0."""
    table = compiled_views(numbers, integers)
    table.lowest[0] = 0.0
    _touch(table, row)


@inline
def _touch(table: Table, row: int) -> None:
    rows, connected = table.rows, table.connected
    if rows[line.MARKED, row] != connected[line.MARK]:
        rows[line.MARKED, row] = connected[line.MARK]
        rows[line.CONNECTED_ROWS, connected[line.ROW_COUNT]] = row
        connected[line.ROW_COUNT] += 1


@inline
def _touch_capacity(table: Table, index: int) -> None:
    indices, connected = table.indices, table.connected
    if indices[line.SEEN, index] != connected[line.MARK]:
        indices[line.SEEN, index] = connected[line.MARK]
        indices[line.CONNECTED_CAPACITIES, connected[line.CAPACITY_COUNT]] = index
        connected[line.CAPACITY_COUNT] += 1


@compiled
def insert(
    numbers: Array,
    integers: Array,
    row: int,
    drawn: Array,
    weight: float,
    cap: float,
    work: float,
    now: float,
) -> None:
    """Begin a flow in *row*; each line of *drawn* is a use: index of the capacity, amount."""
    table = compiled_views(numbers, integers)
    flows, rows, uses = table.flows, table.rows, table.uses
    indices, capacities = table.indices, table.capacities
    first = row * (len(table.amounts) // rows.shape[1])
    flows[line.WEIGHT, row], flows[line.CAP, row], flows[line.REMAINING, row] = weight, cap, work
    flows[line.RATE, row], flows[line.SETTLED, row], flows[line.REACHED, row] = 0.0, now, math.inf
    rows[line.ACTIVE, row], rows[line.USE_COUNT, row] = 1, drawn.shape[0]
    rows[line.BOTTLENECK, row] = line.NONE
    for k in range(drawn.shape[0]):
        use, index, amount = first + k, int(drawn[k, 0]), drawn[k, 1]
        after = indices[line.FIRST, index]
        uses[line.ROW, use], uses[line.INDEX, use], table.amounts[use] = row, index, amount
        uses[line.NEXT, use], uses[line.PREVIOUS, use] = after, line.NONE
        if after != line.NONE:
            uses[line.PREVIOUS, after] = use
        indices[line.FIRST, index] = use
        capacities[line.SLOPE_AT_LEVEL, index] += amount * weight
        level = capacities[line.LEFT_AT_LEVEL, index] / capacities[line.SLOPE_AT_LEVEL, index]
        table.lowest[0] = min(table.lowest[0], level)
    _touch(table, row)


@compiled
def remove(numbers: Array, integers: Array, row: int) -> None:
    """Take *row* out; flows that share with it belong to the next connected set."""
    _remove(compiled_views(numbers, integers), row)


@compiled
def _remove(table: Table, row: int) -> None:
    rows, uses, indices = table.rows, table.uses, table.indices
    width = len(table.amounts) // rows.shape[1]
    rows[line.ACTIVE, row] = 0
    enter(table.finish, row, math.inf)
    table.lowest[0] = min(table.lowest[0], table.flows[line.REACHED, row])
    for use in range(row * width, row * width + rows[line.USE_COUNT, row]):
        before, after, index = uses[line.PREVIOUS, use], uses[line.NEXT, use], uses[line.INDEX, use]
        if before != line.NONE:
            uses[line.NEXT, before] = after
        else:
            indices[line.FIRST, index] = after
        if after != line.NONE:
            uses[line.PREVIOUS, after] = before
        _touch_capacity(table, index)
        _release(table, row, use, index)


@inline
def _release(table: Table, row: int, use: int, index: int) -> None:
    """Give back what *row* drew on a capacity by *use*."""
    if table.rows[line.BOTTLENECK, row] == index:
        table.capacities[line.SLOPE_AT_LEVEL, index] -= (
            table.amounts[use] * table.flows[line.WEIGHT, row]
        )
    else:
        table.capacities[line.LEFT_AT_LEVEL, index] += (
            table.amounts[use] * table.flows[line.RATE, row]
        )


@compiled
def connect(numbers: Array, integers: Array) -> None:
    """Complete the connected set from level 0: all that shares anything with what was touched."""
    table = compiled_views(numbers, integers)
    table.lowest[0] = 0.0
    connect_rows(table)


@compiled
def connect_rows(table: Table) -> None:
    """Complete the connected set: flows that rise again, and what their capacities have left."""
    rows, uses, indices, connected = table.rows, table.uses, table.indices, table.connected
    width, mark = len(table.amounts) // rows.shape[1], connected[line.MARK]
    listed, found = 0, connected[line.CAPACITY_COUNT]
    for k in range(connected[line.ROW_COUNT]):
        row = rows[line.CONNECTED_ROWS, k]
        if rows[line.ACTIVE, row]:  # else it has gone meanwhile
            rows[line.CONNECTED_ROWS, listed] = row
            listed += 1
    flow, capacity = 0, 0
    while flow < listed or capacity < found:
        if capacity < found:
            listed = _list_users(table, indices[line.CONNECTED_CAPACITIES, capacity], listed)
            capacity += 1
        else:
            start = rows[line.CONNECTED_ROWS, flow] * width
            for use in range(start, start + rows[line.USE_COUNT, rows[line.CONNECTED_ROWS, flow]]):
                index = uses[line.INDEX, use]
                if indices[line.SEEN, index] != mark:
                    indices[line.SEEN, index] = mark
                    indices[line.CONNECTED_CAPACITIES, found] = index
                    found += 1
            flow += 1
    connected[line.ROW_COUNT], connected[line.CAPACITY_COUNT] = listed, found


@inline
def _list_users(table: Table, index: int, listed: int) -> int:
    """List the users of a capacity that rise again, and take what the others draw from LEFT.

    Returns how many flows are listed now.
    """
    flows, rows, uses, amounts = table.flows, table.rows, table.uses, table.amounts
    mark, lowest = table.connected[line.MARK], table.lowest[0] * BELOW
    left, slope, rising = 0.0, 0.0, 0
    use = table.indices[line.FIRST, index]
    while use != line.NONE:
        row = uses[line.ROW, use]
        if flows[line.REACHED, row] >= lowest:
            slope += amounts[use] * flows[line.WEIGHT, row]
            rising += 1
            if rows[line.MARKED, row] != mark:
                rows[line.MARKED, row] = mark
                rows[line.CONNECTED_ROWS, listed] = row
                listed += 1
        else:
            left -= amounts[use] * flows[line.RATE, row]
        use = uses[line.NEXT, use]
    table.capacities[line.LEFT, index], table.capacities[line.SLOPE, index] = left, slope
    table.indices[line.RISING_USERS, index] = rising
    return listed


@compiled
def take_due(numbers: Array, integers: Array, limit: float, now: float) -> tuple[int, int]:
    """Take out the rows that end by *limit*: they are complete. DUE lists them.

    Returns how many they are, and the first.
    """
    table = compiled_views(numbers, integers)
    return take_due_rows(table, limit, now), table.rows[line.DUE, 0]


@compiled
def take_due_rows(table: Table, limit: float, now: float) -> int:
    finish, leaves = table.finish, table.rows.shape[1]
    taken = 0
    while finish[1] <= limit:
        node = 1
        while node < leaves:
            node = 2 * node if finish[2 * node] <= limit else 2 * node + 1
        table.flows[line.REMAINING, node - leaves], table.flows[line.SETTLED, node - leaves] = (
            0.0,
            now,
        )
        _remove(table, node - leaves)
        table.rows[line.DUE, taken] = node - leaves
        taken += 1
    return taken
