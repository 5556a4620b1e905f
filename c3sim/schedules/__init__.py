"""Work in pieces: a schedule of a few words written out as ordinary tasks.

    expand    a workload with a ``schedule`` -> the same without, its pair replaced by pieces
    pair      which collective and which GEMM, and what cannot be split
    cuts      extents, accumulation and reuse of the GEMM of a step
    moves     what moves the bytes of a step: a collective, copies to peers, additions
    micro_pipeline  the pair as PyTorch's operators over symmetric memory run it
    whole     the pair in one piece, with which it is compared

It only rewrites, and must not know of clocks, models and files.
"""

from c3sim.schedules.expand import expanded
from c3sim.schedules.whole import whole

__all__ = ["expanded", "whole"]
