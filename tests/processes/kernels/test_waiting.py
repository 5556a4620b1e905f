"""Who waits for room: whom a look for room asks, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

from c3sim.processes.kernels.waiting import Waiting


@dataclass(eq=False)
class Waiter:
    order: tuple[int, int]


def test_of_a_line_only_the_first_is_asked_until_it_moves() -> None:
    """Two lines: a and c, b. While nobody finds room, a and b are asked; once a has left, c is."""
    a, b, c = (Waiter((0, turn)) for turn in range(3))
    waiting = Waiting[Waiter]()
    for waiter, line in ((c, "x"), (b, "y"), (a, "x")):
        waiting.add(waiter, line)
    assert list(waiting.served()) == [a, b]
    assert waiting.first() is a
    asked = []
    for waiter in waiting.served():
        asked.append(waiter)
        if waiter is a:
            waiting.remove(a)
    assert asked == [a, b, c]
    assert list(waiting.served()) == [b, c]


def test_one_that_finds_some_room_stands_elsewhere_and_those_behind_it_are_asked() -> None:
    first, second = Waiter((0, 0)), Waiter((0, 1))
    waiting = Waiting[Waiter]()
    waiting.add(first, "none placed")
    waiting.add(second, "none placed")
    asked = []
    for waiter in waiting.served():
        asked.append(waiter)
        if waiter is first:
            waiting.add(first, "half placed")
    assert asked == [first, second]
    assert len(waiting) == 2


def test_priority_goes_before_launch() -> None:
    early, urgent = Waiter((0, 0)), Waiter((-1, 1))
    waiting = Waiting[Waiter]()
    waiting.add(early, "x")
    waiting.add(urgent, "x")
    assert list(waiting.served()) == [urgent]
