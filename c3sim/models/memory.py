"""Streaming rates: what compute units can ask of memory, and what memory gives.

    rate = (asked^-p + given^-p)^(-1/p),   asked = CUs x bytes_per_cycle x clock,   given = peak x efficiency

The soft minimum stands for the latency that rises with load: a CU has a bounded number of requests in flight, so it
gets less well before the stacks are saturated. p is fitted to the isolated local copy against CUs (suite
transferbench_cu_scaling, column GPU00), where it describes 1 to 304 CUs with one number.
"""

from __future__ import annotations

from c3sim.models.links import soft_minimum
from c3sim.specs.hardware import Gpu

__all__ = ["ARRAYS", "stream_rate", "unit_rate"]

ARRAYS = {"read": (1, 0), "write": (0, 1), "copy": (1, 1), "triad": (2, 1)}  # pattern -> arrays read, written


def stream_rate(gpu: Gpu, compute_units: float, bytes_per_cycle: float, write_share: float) -> float:
    """Memory bytes per second [B/s] of *compute_units* CUs at full clock, alone on the GPU."""
    mixed = 2 * min(write_share, 1 - write_share)
    given = gpu.hbm.bandwidth * (
        gpu.hbm.read_efficiency + (gpu.hbm.mixed_efficiency - gpu.hbm.read_efficiency) * mixed
    )
    return soft_minimum(compute_units * bytes_per_cycle * gpu.clock.maximum, given, gpu.hbm.softness)


def unit_rate(gpu: Gpu, compute_units: float, bytes_per_cycle: float, write_share: float) -> float:
    """The same per compute unit."""
    return stream_rate(gpu, compute_units, bytes_per_cycle, write_share) / max(1.0, compute_units)
