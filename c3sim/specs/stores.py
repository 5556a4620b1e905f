"""A kernel whose workgroups store into the memory of other GPUs, or load from it."""

from __future__ import annotations

from typing import Literal

from c3sim.specs.quantities import Bytes, Parts, Workgroups
from c3sim.specs.task import TaskBase

#: What happens to a store on its way: it stays in caches until a release writes them back; it goes
#: through them; it passes by them.
StorePolicy = Literal["cached", "write_through", "uncached"]
Publication = Literal["release", "flag"]
#: Which tiles of a GEMM come first, by the GPU that their results belong to: see ``Gemm.order``.
TileOrder = Literal["mixed", "by_owner", "staggered", "remote_first"]


class Stores(TaskBase):
    """Every workgroup stores an equal part of *bytes* at the peers, tile by tile, from registers.

    It keeps its place until the last store is out. ``after`` may name a share of its tiles.
    """

    kind: Literal["stores"]
    bytes: Bytes
    """that each GPU stores at its peers in all"""
    peers: Literal["all", "one"] = "all"
    """all of them in turn, or the next one alone"""
    workgroups: Workgroups | None = None
    """left out: one for each compute unit"""
    direction: Literal["push", "pull"] = "push"
    """pull: it loads from the peers instead"""
    in_flight: Parts | None = None
    """stores of a lane that may be unfinished before it waits; left out: it never waits"""
    policy: StorePolicy | None = None
    """left out: the first one of the GPU's file"""
    publish: Publication | None = None
    """behind each tile: its stores are made visible to the peer (release), and a flag says so
    (flag); left out: at the end of the kernel"""
    tile: Bytes | None = None
    """bytes between two publications: of a tile, a block, a group of tiles; left out: all of the
    workgroup's"""
