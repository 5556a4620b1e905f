"""Work in pieces: a schedule of a few words written out as ordinary tasks.

    puts      kernels that submit puts as tasks of their own
    expand    a workload with a ``schedule`` -> the same without, its pair replaced by pieces
    pair      which collective and which GEMM, what cannot be split, and the pair whole
    pieces    the GEMM of a step, and what moves its bytes: a collective, copies, additions
    micro_pipeline  the pair as PyTorch's operators over symmetric memory run it

It only rewrites, and must not know of clocks, models and files.
"""

from c3sim.spec.schedules.expand import expanded
from c3sim.spec.schedules.pair import whole

__all__ = ["expanded", "whole"]
