"""The LRU stack: what a cache finds, by the definition, without time (the oracle of the loops).

The distance of a use is the number of other lines since the last one of the same line. A set of w
ways that replaces what was used longest ago finds the line if fewer than w other lines of that set
came in between: so a larger one finds all that a smaller one does (inclusion; Mattson et al.,
Evaluation Techniques for Storage Hierarchies, IBM Systems Journal 1970).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def distances(lines: Iterable[int]) -> list[int | None]:
    """Distance of each use; None: the first of its line."""
    stack: list[int] = []  # used last first
    found: list[int | None] = []
    for line in lines:
        if line in stack:
            found.append(stack.index(line))
            stack.remove(line)
        else:
            found.append(None)
        stack.insert(0, line)
    return found


def found_by(lines: Sequence[int], ways: int, set_of: Callable[[int], int] = lambda _: 0) -> int:
    """Uses that a cache of sets of *ways* ways finds; *set_of*: the set of a line."""
    sets: dict[int, list[int]] = {}
    for line in lines:
        sets.setdefault(set_of(line), []).append(line)
    return sum(
        distance is not None and distance < ways
        for of_set in sets.values()
        for distance in distances(of_set)
    )
