"""Loops for numba: heaps of places by a key that an array has for each, a tree of least values."""

from __future__ import annotations

from c3sim.engine.compiled.table import Array, compiled, inline


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
