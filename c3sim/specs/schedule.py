"""What a workload may say of a dependent pair of a collective and a GEMM that runs in pieces."""

from __future__ import annotations

from typing import Literal

from c3sim.specs.base import Spec
from c3sim.specs.quantities import Parts
from c3sim.specs.stores import TileOrder
from c3sim.specs.task import Posting


class Schedule(Spec):
    """A collective that feeds a GEMM, or a GEMM that feeds a collective, piece by piece.

    It is written out as ordinary tasks before anything is simulated (c3sim/schedules).
    """

    kind: Literal["pieces", "shards", "micro_pipeline", "tiles"] = "pieces"
    """pieces: every step moves a part of every rank's shard; shards: from peer to peer, a whole
    shard after the other; micro_pipeline: as the operators of PyTorch that overlap do; tiles: the
    GEMM stays whole, and each peer's shard leaves once the tiles that belong to it have been
    made"""
    shape: Literal["1d", "2d"] = "1d"
    """1d: a step is a part of the gathered or scattered extent; 2d: of another one as well: of K,
    whose parts add to C, where the collective feeds the GEMM; of N where the GEMM feeds it"""
    steps: Literal["uniform", "hetero"] = "uniform"
    """uniform: every step has the same GEMM; hetero: the own shard is a GEMM of its own, before
    what arrives, or behind what leaves"""
    fused: bool = True
    """one GEMM of what all ranks have in a step; false: a GEMM for each of them"""
    pieces: Parts = 4
    """steps"""
    streams: Parts = 1
    """that the GEMMs are dealt to"""
    along: Literal["m", "n", "k"] = "m"
    """extent of the GEMM that is gathered or scattered"""
    order: TileOrder = "staggered"
    """of the GEMM's tiles, by the GPU that they belong to; kind tiles only"""
    posted: Posting | None = None
    """whether the GEMM posts the copies itself; kind tiles, by engines only"""
