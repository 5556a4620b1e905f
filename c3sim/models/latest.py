"""Results that hold for one object, as a node or a part of it is, while that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

Result = TypeVar("Result")
Given = ParamSpec("Given")
OWNERS = 4  # that were asked for last: a node, and those that a run of it made or watches
MOST = 4096  # results of one owner; then all of them are forgotten


class OfLatest(Generic[Result]):
    """Results by key, for each of the latest owners. An owner, which nothing changes, is known by
    its identity: one whose reads are watched shares results with those alone for whom its reads
    count as well.
    """

    def __init__(self, owners: int = OWNERS) -> None:
        self._owners = owners
        self._held: dict[int, tuple[object, dict[Hashable, Result]]] = {}

    def of(self, owner: object) -> dict[Hashable, Result]:
        """Results that are known of *owner*, to be added to."""
        held = self._held.get(id(owner))
        if held is None:
            if len(self._held) >= self._owners:
                del self._held[next(iter(self._held))]
            held = self._held[id(owner)] = owner, {}  # held, so that its number stays its own
        elif len(held[1]) >= MOST:
            held[1].clear()
        return held[1]


def for_latest(owners: int) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Decorator of a pure function of an owner and of hashable arguments, none by name: its results
    are remembered for so many *owners*, the latest.
    """

    def remembering(function: Callable[Given, Result]) -> Callable[Given, Result]:
        held: OfLatest[Result] = OfLatest(owners)

        @wraps(function)
        def found(*given: Given.args, **named: Given.kwargs) -> Result:
            known, further = held.of(given[0]), given[1:]
            result = known.get(further)
            if result is None:
                result = known[further] = function(*given, **named)
            return result

        return found

    return remembering
