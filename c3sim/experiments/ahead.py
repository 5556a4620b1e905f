"""Effort ahead of work that nobody can count beforehand, from the pace of its first seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

from c3sim.evaluation.effort import Agree, Effort
from c3sim.evaluation.shares import Progress

LOOK_S = 5.0  # seconds after which the pace is known, and most work has ended


class AheadOfEach:
    """A watcher of several pieces of work, told by their names, that asks as :class:`Ahead` about
    each of them.
    """

    def __init__(
        self, agree: Agree, told: Progress, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.agree, self.told, self.clock = agree, told, clock
        self.each: dict[str, Ahead] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if what not in self.each:
            self.each[what] = Ahead(self.agree, partial(self.told, what), self.clock)
        self.each[what](done, total)


class Ahead:
    """A watcher of work that calls *agree* once, LOOK_S after its begin, with what the whole of it
    takes at the pace so far; *agree* raises where that is too much. *told* hears of all.
    """

    def __init__(
        self,
        agree: Agree | None,
        told: Callable[[int, int], None] | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.agree, self.told, self.clock = agree, told, clock
        self.begun, self.kept = clock(), -1  # done by an earlier start

    def __call__(self, done: int, total: int) -> None:
        if self.told is not None:
            self.told(done, total)
        if self.kept < 0:
            self.kept = done
        spent = self.clock() - self.begun
        if self.agree is not None and spent >= LOOK_S and done > self.kept:
            agree, self.agree = self.agree, None
            agree(Effort(spent * (total - self.kept) / (done - self.kept), 0.0))
