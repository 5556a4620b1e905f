"""How workgroups and clusters are dealt to engines that have room for them, and taken off again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from c3sim.models.dispatch import mask_by_engine
from c3sim.processes.kernels.shader_engine_groups import Mask
from c3sim.specs.hardware import Gpu


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
