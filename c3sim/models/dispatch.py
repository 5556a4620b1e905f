"""How workgroups of a grid are spread over dies and shader engines, and which compute units have room for them.

Workgroups go strictly round robin over dies (measured: 21 of 21 launches). Inside a die the rule for the shader
engines (SE) is not documented; three are kept, exchangeable by name in the GPU's file:

``weighted_rotation``
    The SEs of a die take workgroups in proportion to the compute units they physically have, fixed when the grid is
    launched; a workgroup whose SE is full waits for that SE. SEs with no enabled compute unit are left out.
``strict_rotation``
    The same with equal shares, whatever the SEs' sizes.
``work_conserving``
    A free compute unit anywhere on the die takes the die's next workgroup.

docs/design.md compares the three on isolated runs (which choose) and on concurrent ones (which do not).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

__all__ = ["RULES", "apportion", "die_shares", "engine_shares", "mask_by_engine"]


def apportion(total: int, weights: Sequence[int]) -> list[int]:
    """Split *total* in proportion to *weights*: whole numbers by largest remainder, ties to the first."""
    scale = sum(weights)
    if scale == 0:
        raise ValueError("no positive weight")
    shares = [total * weight // scale for weight in weights]
    remainders = [total * weight % scale for weight in weights]
    for index in sorted(range(len(weights)), key=lambda i: -remainders[i])[: total - sum(shares)]:
        shares[index] += 1
    return shares


def die_shares(workgroups: int, dies: int) -> list[int]:
    """Workgroups of each die under strict round robin."""
    return [workgroups // dies + (die < workgroups % dies) for die in range(dies)]


def _weighted_rotation(workgroups: int, sizes: Sequence[int], enabled: Sequence[int]) -> list[int]:
    return apportion(workgroups, [size if on else 0 for size, on in zip(sizes, enabled, strict=True)])


def _strict_rotation(workgroups: int, sizes: Sequence[int], enabled: Sequence[int]) -> list[int]:
    return apportion(workgroups, [1 if on else 0 for on in enabled])


RULES: dict[str, Callable[[int, Sequence[int], Sequence[int]], list[int]]] = {
    "weighted_rotation": _weighted_rotation,
    "strict_rotation": _strict_rotation,
}


@lru_cache(maxsize=4096)
def engine_shares(rule: str, workgroups: int, sizes: tuple[int, ...], enabled: tuple[int, ...]) -> tuple[int, ...]:
    """Workgroups of each SE of one die that gets *workgroups*, given SE *sizes* and *enabled* CUs under the mask.

    ``work_conserving`` has no shares; callers treat the die as one engine instead.
    """
    if not any(enabled):
        raise ValueError(f"no compute unit of the die is enabled for {workgroups} workgroups")
    return tuple(RULES[rule](workgroups, sizes, enabled))


@lru_cache(maxsize=256)
def mask_by_engine(mask: tuple[int, ...], dies: int, sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Enabled CUs per die and SE for the CU-mask bits in *mask*.

    Bit *b* belongs to die ``b mod dies``; within the die, consecutive bits go over the SEs in turn, skipping an SE
    whose CUs are used up (the Linux driver's order for multi-die GPUs; that user-supplied masks are read so is
    inferred from the staircases of masked GEMMs, see docs/design.md).
    """
    order = [engine for row in range(max(sizes)) for engine, size in enumerate(sizes) if row < size]
    counts = [[0] * len(sizes) for _ in range(dies)]
    for bit in mask:
        counts[bit % dies][order[bit // dies]] += 1
    return tuple(tuple(row) for row in counts)
