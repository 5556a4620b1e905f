"""Shader engines that evolve alike, so that one can stand for all of them; workgroups and clusters
dealt to engines that have room for them, and taken off again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from c3sim.models.dispatch import (
    RULES,
    Rotation,
    die_shares,
    mask_by_engine,
    rotation,
    turn_weights,
)
from c3sim.spec.hardware import Gpu

#: enabled CU bits; None = all
Mask = tuple[int, ...] | None
#: masks that include a unit; its engine, where a merged die must tell them apart
Kind = tuple[frozenset[Mask], int]
#: (kind, compute units)
Units = tuple[tuple[Kind, int], ...]


@dataclass(frozen=True, slots=True)
class EngineTurns:
    """The turns of one engine in the order of one grid on its die."""

    rotation: Rotation
    engine: int
    total: int  # places of the die
    all: int = field(init=False, compare=False)  # places of the die that are its own

    def __post_init__(self) -> None:
        object.__setattr__(self, "all", self.rotation.count(self.engine, self.total))

    @property
    def weight(self) -> int:
        """Turns per period; 0 where the grid never comes."""
        return len(self.rotation.turns[self.engine]) if self.total else 0

    def count(self, places: int) -> int:
        """Places of this engine among the first *places* of the die."""
        return self.rotation.count(self.engine, places if places < self.total else self.total)

    def place(self, index: int) -> int:
        return self.rotation.place(self.engine, index)


@lru_cache(maxsize=512)
def engine_groups(
    dies: int,
    sizes: tuple[int, ...],
    first: int,
    rule_name: str,
    shapes: tuple[tuple[int, Mask, int], ...],
) -> tuple[tuple[int, Units, tuple[EngineTurns, ...]], ...]:
    """(multiplicity, units, turn in each grid of *shapes*) of engines that are alike, in order of
    appearance.

    A shape is (places, mask, cluster): a place takes *cluster* workgroups, which start together in
    one engine. Raises ValueError when a mask leaves no die any compute unit.
    """
    rule = RULES[rule_name]
    units = _units(dies, sizes, tuple(mask for _, mask, _ in shapes))
    columns = [_turns(rule_name, dies, sizes, first, *shape) for shape in shapes]
    labelled = rule.merged and any(cluster > 1 for _, _, cluster in shapes)
    alike: Counter[tuple[Units, tuple[EngineTurns, ...]]] = Counter()
    for die in range(dies):
        engines = range(1) if rule.merged else range(len(sizes))
        for engine in engines:
            members = range(len(sizes)) if rule.merged else (engine,)
            merged: Counter[Kind] = Counter()
            for member in members:
                for masks, count in units[die][member]:
                    merged[masks, member if labelled else 0] += count
            alike[_sorted_units(merged), tuple(column[die][engine] for column in columns)] += 1
    return tuple((count, unit, turns) for (unit, turns), count in alike.items())


def _sorted_units(counts: Counter[Kind]) -> Units:
    return tuple(
        sorted(counts.items(), key=lambda item: (item[0][1], sorted(map(str, item[0][0]))))
    )


@lru_cache(maxsize=512)
def _units(
    dies: int, sizes: tuple[int, ...], masks: tuple[Mask, ...]
) -> tuple[tuple[tuple[tuple[frozenset[Mask], int], ...], ...], ...]:
    """Compute units of each die and engine, by the masks that include them."""
    distinct = tuple(dict.fromkeys(masks))
    inside = {mask: set(mask) for mask in distinct if mask is not None}
    order = [engine for row in range(max(sizes)) for engine, size in enumerate(sizes) if row < size]
    counts: list[list[Counter[frozenset[Mask]]]] = [[Counter() for _ in sizes] for _ in range(dies)]
    for bit in range(dies * sum(sizes)):
        including = frozenset(mask for mask in distinct if mask is None or bit in inside[mask])
        counts[bit % dies][order[bit // dies]][including] += 1
    return tuple(tuple(tuple(counter.items()) for counter in die) for die in counts)


def _turns(
    rule_name: str,
    dies: int,
    sizes: tuple[int, ...],
    first: int,
    workgroups: int,
    mask: Mask,
    cluster: int,
) -> list[tuple[EngineTurns, ...]]:
    """EngineTurns of each die and engine for one grid."""
    rule = RULES[rule_name]
    enabled = mask_by_engine(
        mask if mask is not None else tuple(range(dies * sum(sizes))), dies, sizes
    )
    usable = [die for die in range(dies) if any(enabled[die])]
    if not usable:
        raise ValueError("the mask leaves no compute unit")
    totals = dict(zip(usable, die_shares(workgroups, len(usable)), strict=True))
    turns: list[tuple[EngineTurns, ...]] = []
    for die in range(dies):
        if rule.merged:
            turns.append((EngineTurns(rotation((1,)), 0, totals.get(die, 0)),))
            continue
        clusters = tuple(size // cluster for size in sizes)  # that an engine has room for
        weights = (
            turn_weights(rule, clusters, enabled[die]) if die in totals else tuple(1 for _ in sizes)
        )
        order = rotation(weights, first)
        turns.append(
            tuple(EngineTurns(order, engine, totals.get(die, 0)) for engine in range(len(sizes)))
        )
    return turns


def take_from_fullest(have: dict[int, int], wanted: int) -> dict[int, int]:
    """Take *wanted* in all from those that *have* most, so that they end level; ties to the first.
    Zeros are left out. Raises ValueError when there are not so many.
    """
    if len(have) == 1 and wanted <= sum(have.values()):
        return {label: wanted for label in have if wanted}
    if wanted > sum(have.values()):
        raise ValueError(f"{wanted} wanted of {sum(have.values())}")
    most = max(have.values(), default=0)
    level = most - bisect_left(
        range(most), wanted, key=lambda down: sum(max(0, c - most + down) for c in have.values())
    )
    taken = {label: max(0, count - level) for label, count in have.items()}
    over = sum(taken.values()) - wanted
    for label in reversed(have):  # the last ones of those at the level keep one more
        if over and taken[label]:
            taken[label] -= 1
            over -= 1
    return {label: count for label, count in taken.items() if count}


def take_equally(have: dict[int, int], wanted: int) -> dict[int, int]:
    """Take *wanted* in all in equal turns, as far as each has any; the first ones get the odd turn.
    Zeros are left out. Raises ValueError when there are not so many.
    """
    if wanted > sum(have.values()):
        raise ValueError(f"{wanted} wanted of {sum(have.values())}")
    most = max(have.values(), default=0)
    turns = bisect_right(
        range(1, most + 1), wanted, key=lambda turn: sum(min(c, turn) for c in have.values())
    )
    taken = {label: min(count, turns) for label, count in have.items()}
    over = wanted - sum(taken.values())
    for label, count in have.items():
        if over and count > turns:
            taken[label] += 1
            over -= 1
    return {label: count for label, count in taken.items() if count}


def usable_cluster(gpu: Gpu, mask: Mask, workgroups: int, size: int) -> int:
    """*size*, or 1 where clusters of it cannot be launched: they do not divide the grid, or the
    engines that *mask* leaves.

    (Libraries ask how many clusters fit before they launch, and launch without where it is none.)
    """
    if size == 1 or workgroups % size:
        return 1
    if mask is None:
        return size
    enabled = mask_by_engine(mask, gpu.dies.count, tuple(gpu.dies.shader_engines))
    return 1 if any(units % size for die in enabled for units in die) else size
