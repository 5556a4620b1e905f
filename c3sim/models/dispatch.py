"""The spread of a grid's workgroups over dies and shader engines (SE).

Workgroups go strictly round robin over dies (measured: 21 of 21 launches), and inside a die over
its SEs. What happens when an SE is full is not documented; the GPU's file names one of five rules
(``dies.dispatch``):

``weighted_rotation``  SEs take turns in proportion to the compute units they physically have. The
                       grid is dispatched in order: when the SE whose turn it is has no room,
                       everything behind it waits, on all dies (head-of-line stall). Each grid
                       begins at the same SE (``dies.first_engine``)
``strict_rotation``    the same with equal turns, whatever the SEs' sizes
``engine_queues``      turns as weighted_rotation, but an SE that is full holds up only its own
                       workgroups
``work_conserving``    a free compute unit anywhere on the die takes the die's next workgroup; SEs
                       with most room first
``rotation``           SEs take equal turns, and one that has no room is skipped

SEs with no compute unit enabled under the mask are left out of the rotation. The rules are compared
in docs/decisions/002-full-shader-engine.md; only isolated runs decided between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to spread workgroups over the SEs of a die."""

    weighted: bool  # turns by size
    in_order: bool  # head-of-line stall
    merged: bool = False  # the die is one engine; its SEs get workgroups where most room is,
    equal_turns: bool = False  # or in equal turns


RULES = {
    "weighted_rotation": Rule(weighted=True, in_order=True),
    "strict_rotation": Rule(weighted=False, in_order=True),
    "engine_queues": Rule(weighted=True, in_order=False),
    "work_conserving": Rule(weighted=True, in_order=False, merged=True),
    "rotation": Rule(weighted=False, in_order=False, merged=True, equal_turns=True),
}


@dataclass(frozen=True, slots=True)
class Rotation:
    """The periodic order in which the SEs of one die take workgroups."""

    period: int
    # per SE: the places in the period that are its own, in order
    turns: tuple[tuple[int, ...], ...]

    def count(self, engine: int, places: int) -> int:
        """Workgroups of *engine* among the die's first *places*."""
        turns = self.turns[engine]
        periods, rest = divmod(places, self.period)
        return periods * len(turns) + bisect_left(turns, rest)

    def place(self, engine: int, index: int) -> int:
        """Place in the die's order of the *index*-th workgroup (from 0) of *engine*."""
        turns = self.turns[engine]
        periods, rest = divmod(index, len(turns))
        return periods * self.period + turns[rest]


@lru_cache(maxsize=256)
def rotation(weights: tuple[int, ...], first: int = 0) -> Rotation:
    """Round robin from SE *first* on; one that had its *weights* turns of a period is skipped.

    Equal weights give 0, 1, 2, 3, 0, 1, ...; (10, 10, 9, 9) nine times that, and then 0, 1.
    """
    if not any(weights):
        raise ValueError("no engine takes part")
    turns: list[list[int]] = [[] for _ in weights]
    place = 0
    for round_ in range(max(weights)):
        for step in range(len(weights)):
            engine = (first + step) % len(weights)
            if round_ < weights[engine]:
                turns[engine].append(place)
                place += 1
    return Rotation(place, tuple(tuple(places) for places in turns))


def die_shares(workgroups: int, dies: int) -> list[int]:
    """Workgroups of each die under strict round robin."""
    return [workgroups // dies + (die < workgroups % dies) for die in range(dies)]


def turn_weights(rule: Rule, sizes: Sequence[int], enabled: Sequence[int]) -> tuple[int, ...]:
    """Turns per period of each SE: by size or equal, none where no compute unit is enabled."""
    return tuple(
        (size if rule.weighted else 1) if on else 0 for size, on in zip(sizes, enabled, strict=True)
    )


@lru_cache(maxsize=256)
def mask_by_engine(
    mask: tuple[int, ...], dies: int, sizes: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Enabled CUs per die and SE for the CU-mask bits in *mask*.

    Bit *b* belongs to die ``b mod dies``; within the die, consecutive bits go over the SEs in turn,
    skipping an SE whose CUs are used up. This is the Linux driver's order for multi-die GPUs; that
    masks of users are read in the same way is inferred from the staircases of masked GEMMs.
    """
    order = [engine for row in range(max(sizes)) for engine, size in enumerate(sizes) if row < size]
    counts = [[0] * len(sizes) for _ in range(dies)]
    for bit in mask:
        counts[bit % dies][order[bit // dies]] += 1
    return tuple(tuple(row) for row in counts)
