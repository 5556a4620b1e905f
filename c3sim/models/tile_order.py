"""The order of a GEMM's tiles by the GPU that their results belong to.

On n GPUs each owns an equal part of the tiles. GPUs are named by how far round they are: offset 0
is the GPU itself. GPU g makes its tiles in groups, one after the other:

    mixed          (0 1 ... n-1)
    remote_first   (1 ... n-1) (0)
    staggered      (1) (2) ... (n-1) (0)
    by_owner       (-g) (1-g) ... (n-1-g), mod n

Tiles of a group come mixed. All but by_owner are alike on every GPU.
"""

from __future__ import annotations

from c3sim.spec.task import TileOrder

Groups = tuple[tuple[int, ...], ...]  # offsets of the owners of each group


def groups_of(order: TileOrder, gpu: int, gpus: int) -> Groups:
    """The groups of *gpu*, one of *gpus* in its node."""
    peers = tuple(range(1, gpus))
    if order == "mixed":
        return ((0, *peers),)
    if order == "remote_first":
        return (peers, (0,)) if peers else ((0,),)
    if order == "staggered":
        return (*((peer,) for peer in peers), (0,))
    return tuple(((owner - gpu) % gpus,) for owner in range(gpus))


def share_behind(groups: Groups, offset: int, share: float = 1.0) -> float:
    """Share of all tiles that have been made once *share* of those of the owner at *offset* have.
    Raises ValueError for an offset that no group has.
    """
    gpus = sum(len(group) for group in groups)
    before = 0
    for group in groups:
        if offset in group:
            return (before + share * len(group)) / gpus
        before += len(group)
    raise ValueError(f"no tiles of the GPU at {offset}")
