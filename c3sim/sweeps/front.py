"""Pareto fronts: which scores no other score beats."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(scores: Sequence[tuple[float, ...] | None]) -> list[int]:
    """Positions of the *scores* that no other one equals or beats in every number; less is better.

    Of equal scores the first counts; None is never on the front. Ordered by the first number.
    """
    known = ((score, position) for position, score in enumerate(scores) if score is not None)
    front: list[tuple[tuple[float, ...], int]] = []
    for score, position in sorted(known):  # a score that beats another comes before it
        if not any(all(a <= b for a, b in zip(other, score, strict=True)) for other, _ in front):
            front.append((score, position))
    return [position for _, position in front]
