"""Flows as rows of a table of numbers, on which the compiled loops work; needs numpy alone.

- A flow is a *row*. What it draws on a capacity is a *use* (row * width + number). The users of a
  capacity are a doubly linked list of uses. A domain is a capacity that is infinite.
- Each array has one line per quantity, so that a loop reads what it needs and no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from c3sim.engine.compiled import line

Array: TypeAlias = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Table(NamedTuple):
    """Views of the two arrays that hold a table, *numbers* and *integers*."""

    flows: Array  # numbers of each flow
    rows: Array  # integers of each flow
    uses: Array  # of each use
    amounts: Array  # that each use draws per unit of rate
    capacities: Array  # numbers of each capacity
    indices: Array  # integers of each capacity
    finish: Array  # a tree: row i is leaf rows + i, node n the earlier of nodes 2 n and 2 n + 1
    connected: Array
    lowest: Array  # of one: nothing below this level has changed since rates were solved


def views(numbers: Array, integers: Array) -> Table:
    """The table in its two arrays. (To hand over nine would take longer than the loops do.)"""
    rows, width, capacities = integers[0], integers[1], integers[2]
    uses = rows * width
    tree = 1 + line.FLOW_LINES * rows
    amounts, used = tree + 2 * rows, 6 + line.ROW_LINES * rows
    indexed = used + line.USE_LINES * uses
    return Table(
        numbers[1:tree].reshape((line.FLOW_LINES, rows)),
        integers[6:used].reshape((line.ROW_LINES, rows)),
        integers[used:indexed].reshape((line.USE_LINES, uses)),
        numbers[amounts : amounts + uses],
        numbers[amounts + uses :].reshape((line.CAPACITY_LINES, capacities)),
        integers[indexed:].reshape((line.INDEX_LINES, capacities)),
        numbers[tree:amounts],
        integers[3:6],
        numbers[:1],
    )


def new_table(rows: int, width: int, capacities: int) -> tuple[Array, Array]:
    """*numbers* and *integers* of an empty table for *rows* flows (2^i) of up to *width* uses."""
    uses = rows * width
    numbers = np.zeros(1 + (line.FLOW_LINES + 2) * rows + uses + line.CAPACITY_LINES * capacities)
    integers = np.zeros(
        6 + line.ROW_LINES * rows + line.USE_LINES * uses + line.INDEX_LINES * capacities, np.int64
    )
    integers[:6] = rows, width, capacities, 0, 0, 1
    table = views(numbers, integers)
    table.finish[:], table.lowest[0] = math.inf, math.inf
    table.indices[line.FIRST] = line.NONE
    return numbers, integers


def enlarged(table: Table, rows: int, width: int, capacities: int) -> tuple[Array, Array]:
    """A copy of *table* with more room."""
    numbers, integers = new_table(rows, width, capacities)
    new, old_rows = views(numbers, integers), table.flows.shape[1]
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
    for links in (new.uses[line.NEXT], new.uses[line.PREVIOUS], new.indices[line.FIRST]):
        links[:] = np.where(
            links == line.NONE, line.NONE, links // old_width * width + links % old_width
        )
    new.connected[:], new.lowest[:] = table.connected, table.lowest
    new.finish[rows : rows + old_rows] = table.finish[old_rows:]
    for node in range(rows - 1, 0, -1):
        new.finish[node] = min(new.finish[2 * node], new.finish[2 * node + 1])
    return numbers, integers


def compiled(function: Function, **options: Any) -> Function:
    """*function* compiled by numba; unchanged where numba is not installed (slow, but right).

    Nothing compiled here allocates, so references to arrays are not counted. What has been compiled
    is kept beside the file until any of the :func:`sources` changes.
    """
    try:
        import numba
    except ImportError:
        return function
    options = {"cache": True, "error_model": "numpy", "_nrt": False, **options}
    found = numba.njit(**options)(function)
    if options["cache"] and found is not function:  # numba looks at the function's own file alone
        kept = vars(vars(found)["_cache"])["_cache_file"]
        vars(kept)["_source_stamp"] = sources(function.__code__.co_filename)
    return cast(Function, found)


@cache
def sources(file: str) -> str:
    """Digest of the files that a function of *file* may be compiled from: those of its folder and
    of this one.
    """
    folders = sorted({Path(file).resolve().parent, Path(__file__).resolve().parent})
    files = (each for folder in folders for each in sorted(folder.glob("*.py")))
    return sha256(b"".join(each.name.encode() + each.read_bytes() for each in files)).hexdigest()


def inline(function: Function) -> Function:
    """The same for a short function: it becomes part of those that call it."""
    return compiled(function, inline="always", cache=False)


def leaf(function: Function) -> Function:
    """The same for a short function that many call: LLVM makes it part of them, which takes less
    time than numba's doing it.
    """
    return compiled(function, forceinline=True, cache=False)


def inner(function: Function) -> Function:
    """The same for a function that only compiled ones call: Python cannot."""
    return compiled(function, cache=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


compiled_views = compiled(views)


# Loops for numba: heaps of places by a key that an array has for each, a tree of least values.


@inline
def sift_down(key: Array, heap: Array, size: int, place: int) -> None:
    moved = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if not key[heap[child]] < key[moved]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moved


@compiled
def heapify(key: Array, heap: Array, size: int) -> None:
    for place in range(size // 2 - 1, -1, -1):
        sift_down(key, heap, size, place)


@inline
def pop(key: Array, heap: Array, size: int) -> int:
    """Drop the first of *heap*; returns its new size."""
    heap[0] = heap[size - 1]
    sift_down(key, heap, size - 1, 0)
    return size - 1


@inline
def enter(tree: Array, leaf: int, value: float) -> None:
    """Set a leaf (from 0) of a tree: node n is the lesser of 2 n and 2 n + 1, node 1 the least."""
    node = len(tree) // 2 + leaf
    tree[node] = value
    while node > 1:
        node //= 2
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
