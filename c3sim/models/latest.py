"""Results that hold for one object, as a node or a part of it is, while that is asked for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")
OWNERS = 4  # that were asked for last: a node, and those that a run of it made or watches
MOST = 4096  # results of one owner; then all of them are forgotten


class OfLatest(Generic[Result]):
    """Results by key, for each of the latest owners. An owner, which nothing changes, is known by
    its identity: one whose reads are watched shares results with those alone for whom its reads
    count as well.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[object, dict[Hashable, Result]]] = {}

    def of(self, owner: object) -> dict[Hashable, Result]:
        """Results that are known of *owner*, to be added to."""
        held = self._held.get(id(owner))
        if held is None:
            if len(self._held) >= OWNERS:
                del self._held[next(iter(self._held))]
            held = self._held[id(owner)] = owner, {}  # held, so that its number stays its own
        elif len(held[1]) >= MOST:
            held[1].clear()
        return held[1]
