"""Runs side by side: who reads a figure of one has all made that were asked for by then.

Within :func:`side_by_side` a run that nobody remembers is not made when it is asked for. What is
given in its place makes it when a figure of it is first read, together with all others that wait:
the longest first, by whatever goes through them, as copies of the process do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from c3sim.simulation.run import Run

FEWEST = 50  # tasks of all runs that wait; fewer are made here, before a copy has begun
Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


class Later:
    """Stands for a run and has its figures: *make* gives what *take* makes a run of."""

    def __init__(self, waiting: Waiting, size: int, make: Callable[[], Any], take: Any) -> None:
        self.waiting, self.size, self.make, self.take = waiting, size, make, take
        self.run: Run | None = None

    def __getattr__(self, name: str) -> Any:
        if self.run is None:
            self.waiting.end()
        return getattr(self.run, name)


class Waiting:
    """Runs that were asked for; *tell* hears how many are made, and of how many."""

    def __init__(self, each: Each, tell: Callable[[int, int], None] | None) -> None:
        self.each, self.tell = each, tell
        self.known: dict[Hashable, Later] = {}
        self.made = 0

    def ask(
        self, key: Hashable, size: int, make: Callable[[], Any], take: Callable[[Any], Run]
    ) -> Run:
        """What stands for the run that *key* names, of *size* tasks."""
        if key not in self.known:
            self.known[key] = Later(self, size, make, take)
        return cast("Run", self.known[key])

    def end(self) -> None:
        """Have every run."""
        missing = [later for later in self.known.values() if later.run is None]
        missing.sort(key=lambda later: -later.size)
        together = sum(later.size for later in missing) > FEWEST
        each = self.each if together else map
        for later, made in zip(missing, each(lambda later: later.make(), missing), strict=True):
            later.run = later.take(made)
            self.made += 1
            if self.tell is not None:
                self.tell(self.made, len(self.known))


_waiting: list[Waiting] = []


@contextmanager
def side_by_side(each: Each, tell: Callable[[int, int], None] | None = None) -> Iterator[None]:
    """Within it runs wait until a figure of one is read; *each* goes through them. *tell* hears how
    many are made, and of how many so far. None is left at the end.
    """
    _waiting.append(waiting := Waiting(each, tell))
    try:
        yield
        waiting.end()
    finally:
        _waiting.remove(waiting)


def waiting() -> Waiting | None:
    """Where runs that are asked for now wait; None: they are made at once."""
    return _waiting[-1] if _waiting else None
