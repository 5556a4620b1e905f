"""All engines of a GPU taken together: what their units hold, and what is known of that.

Kernels come to the same GPU again and again, most often to an idle one. What all units hold
together is one :class:`Held`; each question about it is answered once, and each move from one to
the next is made once, for all runs on GPUs with such engines.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from c3sim.processes.kernels.residency import EngineGroup, Residency, State

#: Of what is held, and of what is known of each; then all is forgotten.
REMEMBERED = 1000
T = TypeVar("T")


class Held:
    """*units* of each group of engines by state, with its number of :class:`Residency`; *known*:
    answers by question, and (where it leads, answer) by move.
    """

    __slots__ = ("known", "units")

    def __init__(self, units: list[tuple[dict[State, int], int]]):
        self.units, self.known = units, dict[Hashable, Any]()


@lru_cache(maxsize=512)
def _memory(*_engines: Hashable) -> dict[tuple[int, ...], Held]:
    """One for all GPUs with such engines: what is held is counted, not read."""
    return {}


class Floor:
    """Units of *groups*, moved by *residency*; *engines*: what decides which of them are alike."""

    def __init__(self, residency: Residency, groups: Sequence[EngineGroup], *engines: Hashable):
        self._residency, self._groups = residency, groups
        self._memory = _memory(residency, *engines)
        self._held = self._unfolded = self._named()

    @property
    def groups(self) -> Sequence[EngineGroup]:
        """The groups, with what their units hold now."""
        if self._unfolded is not self._held:
            for group, (units, number) in zip(self._groups, self._held.units, strict=True):
                group.units, group.holds = units, number
            self._unfolded = self._held
        return self._groups

    @property
    def units(self) -> int:
        """Compute units that have workgroups now."""
        return self.ask("units", _units_held)

    def ask(self, question: Hashable, answer: Callable[[Sequence[EngineGroup]], T]) -> T:
        """The *answer* by what units hold now, and nothing else but the *question*."""
        known = self._held.known
        if question not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[question] = answer(self.groups)
        found: T = known[question]
        return found

    def move(self, how: Hashable, move: Callable[[Sequence[EngineGroup]], T]) -> T:
        """Make the *move*, which follows from *how* and what units hold; returns its answer."""
        known = self._held.known
        if how not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            result = move(self.groups)
            self._unfolded = self._named()
            known[how] = self._unfolded, result
        self._held, found = known[how]
        return found  # type: ignore[no-any-return]

    def _named(self) -> Held:
        """What the groups hold, the same object whenever it is the same."""
        name = tuple([self._residency.state(group) for group in self._groups])
        if name not in self._memory:
            if len(self._memory) >= REMEMBERED:
                self._memory.clear()
            self._memory[name] = Held([(group.units, group.holds) for group in self._groups])
        return self._memory[name]


def _units_held(groups: Sequence[EngineGroup]) -> int:
    """Compute units of *groups* that have workgroups."""
    return sum(
        group.multiplicity * count
        for group in groups
        for (_, residents), count in group.units.items()
        if residents
    )
