"""Flows as rows of a table of numbers, which :mod:`c3sim.engine.compiled.connect` works on; needs
numpy alone.

A flow is a *row*, what it draws on a capacity is a *use* (row * width + number), and the users of a capacity are a
doubly linked list of uses. A domain is a capacity that is infinite. Each array has one line per quantity, so that a loop
reads what it needs and no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])

NONE = -1  # no use, no row, no capacity
# lines of ``flows``; SETTLED: when REMAINING was last true; REACHED: the level at which it stopped
# rising (sharing.py)
WEIGHT, CAP, REMAINING, RATE, SETTLED, BOUND, REACHED = range(7)
# lines of ``rows``; USED: how many uses it has; AT: the capacity at which it stopped rising, NONE:
# its cap; LISTED: the
# connected set; BOUNDS: a heap by BOUND, where caps are met
USED, ACTIVE, MARKED, AT, LISTED, BOUNDS, DUE = range(7)
# lines of ``uses``; AFTER, BEFORE: neighbours among the uses of the same capacity
ROW, INDEX, AFTER, BEFORE = range(4)
# lines of ``capacities``; LEFT, SLOPE, FULL, LEVEL: while shares are reckoned; ROOM, STEEP: LEFT
# and SLOPE when it was
# exhausted (STEEP 0: it was not), and what has come and gone since
VALUE, LEFT, SLOPE, FULL, LEVEL, ROOM, STEEP = range(7)
# lines of ``indices``; FIRST: of its users; UP: how many still rise; FOUND: the connected set;
# LEVELS: a heap
FIRST, UP, SEEN, FOUND, LEVELS = range(5)
# places in ``connected``: how large the connected set is, and its mark
FLOWS, CAPACITIES, MARK = range(3)
FLOW_LINES, ROW_LINES, USE_LINES, CAPACITY_LINES, INDEX_LINES = 7, 7, 4, 7, 5


class Table(NamedTuple):
    """Views of the two arrays that are a table, *numbers* and *wholes*."""

    flows: Array  # numbers of each flow
    rows: Array  # whole numbers of each flow
    uses: Array  # of each use
    amounts: Array  # that each use draws per unit of rate
    capacities: Array  # numbers of each capacity
    indices: Array  # whole numbers of each capacity
    # a tree: row i is leaf rows + i, a node has the earlier finish of nodes 2 n and 2 n + 1
    finish: Array
    connected: Array
    lowest: Array  # of one: nothing below this level has changed since rates were solved


def opened(numbers: Array, wholes: Array) -> Table:
    """The views. (Two arrays are handed to compiled code at once; nine would take longer than what
    is done with them.)
    """
    rows, width, capacities = wholes[0], wholes[1], wholes[2]
    uses = rows * width
    tree = 1 + FLOW_LINES * rows
    amounts, used = tree + 2 * rows, 6 + ROW_LINES * rows
    indexed = used + USE_LINES * uses
    return Table(
        numbers[1:tree].reshape((FLOW_LINES, rows)),
        wholes[6:used].reshape((ROW_LINES, rows)),
        wholes[used:indexed].reshape((USE_LINES, uses)),
        numbers[amounts : amounts + uses],
        numbers[amounts + uses :].reshape((CAPACITY_LINES, capacities)),
        wholes[indexed:].reshape((INDEX_LINES, capacities)),
        numbers[tree:amounts],
        wholes[3:6],
        numbers[:1],
    )


def new_table(rows: int, width: int, capacities: int) -> tuple[Array, Array]:
    """An empty table for *rows* flows (a power of two) of up to *width* uses each: *numbers* and
    *wholes*.
    """
    uses = rows * width
    numbers = np.zeros(1 + (FLOW_LINES + 2) * rows + uses + CAPACITY_LINES * capacities)
    wholes = np.zeros(6 + ROW_LINES * rows + USE_LINES * uses + INDEX_LINES * capacities, np.int64)
    wholes[:6] = rows, width, capacities, 0, 0, 1
    table = opened(numbers, wholes)
    table.finish[:], table.lowest[0] = math.inf, math.inf
    table.indices[FIRST] = NONE
    return numbers, wholes


def enlarged(table: Table, rows: int, width: int, capacities: int) -> tuple[Array, Array]:
    """The same in a table with more room."""
    numbers, wholes = new_table(rows, width, capacities)
    new, old_rows = opened(numbers, wholes), table.flows.shape[1]
    old_width = len(table.amounts) // old_rows
    for name in ("flows", "rows", "capacities", "indices"):
        array = getattr(table, name)
        getattr(new, name)[:, : array.shape[1]] = array
    new.uses.reshape(4, rows, width)[:, :old_rows, :old_width] = table.uses.reshape(
        4, old_rows, old_width
    )
    new.amounts.reshape(rows, width)[:old_rows, :old_width] = table.amounts.reshape(
        old_rows, old_width
    )
    for links in (new.uses[AFTER], new.uses[BEFORE], new.indices[FIRST]):
        links[:] = np.where(links == NONE, NONE, links // old_width * width + links % old_width)
    new.connected[:], new.lowest[:] = table.connected, table.lowest
    new.finish[rows : rows + old_rows] = table.finish[old_rows:]
    for node in range(rows - 1, 0, -1):
        new.finish[node] = min(new.finish[2 * node], new.finish[2 * node + 1])
    return numbers, wholes


def compiled(function: Function, **options: Any) -> Function:
    """*function* compiled by numba; as it stands where numba is not installed (slow, but right).

    Nothing compiled here allocates, so arrays need no counting of references, which would cost more
    than the work.
    """
    try:
        import numba
    except ImportError:
        return function
    options |= {"cache": True, "error_model": "numpy", "_nrt": False}
    return cast(Function, numba.njit(**options)(function))


def inlined(function: Function) -> Function:
    """The same for a short function: it becomes part of those that call it."""
    return compiled(function, inline="always")
