"""Two half batches beside each other: the exchange of one runs while the other computes.

Both go through the same operators, in turns that end with an exchange: a half's next operator waits
for its own exchange, not for the other's. Launched in that order on one stream, as two micro
batches of a serving engine are, or the chunks of a domino in training (DeepSeek-V3, arXiv
2412.19437, section 3.4; Domino, arXiv 2409.15241).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from c3sim.iterations.steps import Exchange, Step

NAMES = ("", "-half")


class Launcher(Protocol):
    """Launches steps (builder.py); *awaited*: what its next operators wait for."""

    awaited: list[tuple[str, int]]
    awaited_by_half: list[list[tuple[str, int]]]

    def in_order(self, prefix: str, steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
        """Launch *steps*; yields each with the name of its task."""


def in_turns(builder: Launcher, prefix: str, steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
    """Launch *steps*, of half the batch, twice. Yields each with the task of the second half, which
    completes its gradients.
    """
    whole = tuple(steps)
    runs = [iter(builder.in_order(f"{prefix}{name}", whole)) for name in NAMES]
    others, left = builder.awaited, builder.awaited_by_half
    left[0].extend(others)
    for turn in _turns(whole):
        for half, run in enumerate(runs):
            builder.awaited = left[half]
            for _ in range(turn):
                launched = next(run)
                if half == 1:
                    yield launched
            left[half] = builder.awaited
    builder.awaited = []  # what is launched between layers needs neither half


def join(builder: Launcher) -> None:
    """Make the next launch wait for the exchanges of both halves."""
    for left in builder.awaited_by_half:
        builder.awaited += left
        left.clear()


def _turns(steps: tuple[Step, ...]) -> list[int]:
    """Steps of each turn: up to and with an exchange."""
    turns = [0]
    for step in steps:
        turns[-1] += 1
        if isinstance(step, Exchange):
            turns.append(0)
    return [turn for turn in turns if turn]
