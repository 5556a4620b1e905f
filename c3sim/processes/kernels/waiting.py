"""Grids that wait for room, in the order in which they are served.

Grids that would take room at the same places stand in one *line*: where the first of them finds
none, nobody behind it does. So a look for room costs as much as there are lines, however many grids
wait.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Generic, Protocol, TypeVar


class Waiter(Protocol):
    """A grid, of which only its turn is known here."""

    order: tuple[int, int]  # less for those that are served before; no two are equal


W = TypeVar("W", bound=Waiter)
_order = attrgetter("order")


class Waiting(Generic[W]):
    """Lines of those that wait."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, list[W]] = {}
        self._line_of: dict[W, Hashable] = {}

    def __len__(self) -> int:
        return len(self._line_of)

    def add(self, waiter: W, line: Hashable) -> None:
        """Let *waiter* wait in *line*; it leaves another one that it stood in."""
        self.remove(waiter)
        self._line_of[waiter] = line
        insort(self._lines.setdefault(line, []), waiter, key=_order)

    def remove(self, waiter: W) -> None:
        """*waiter* waits no more, if it did."""
        if waiter not in self._line_of:
            return
        key = self._line_of.pop(waiter)
        line = self._lines[key]
        del line[bisect_left(line, waiter.order, key=_order)]
        if not line:
            del self._lines[key]

    def first(self) -> W:
        """The one of those that wait that is served first."""
        return min([line[0] for line in self._lines.values()], key=_order)

    def served(self) -> Iterator[W]:
        """Kernels that wait, in their order, but for those behind one that stays where it was."""
        heads = [
            (line[0].order, number, key) for number, (key, line) in enumerate(self._lines.items())
        ]
        heapify(heads)
        while heads:
            _, number, key = heappop(heads)
            first = self._lines[key][0]
            yield first
            line = self._lines.get(key)
            if line and line[0] is not first:
                heappush(heads, (line[0].order, number, key))
