"""Partial sums of fp8 that leave the matrix units.

Matrix units of some GPUs add products of fp8 with fewer bits than fp32 has (NVIDIA Hopper: some 14
bits, arXiv 2412.19437, section 3.3.2). So a library takes the sums out after each interval of K and
adds them in fp32 by the lanes of the unit, an addition for each number of C. The wavefronts wait
for their matrix instructions first, so both take turns. With R FLOP of the matrix units and A
additions of the lanes in a cycle, a FLOP takes 1/R + 1/(2 interval A) cycles: on Hopper 1/8192 and
a quarter of that.
"""

from __future__ import annotations

from c3sim.spec.hardware import Gpu
from c3sim.spec.workload import Gemm


def matrix_rate(gpu: Gpu, task: Gemm) -> float:
    """FLOP of *task* that a compute unit does in a cycle, additions outside its matrix units
    included.
    """
    rates = gpu.compute_units.flops_per_cycle
    interval = gpu.gemm_library(task.library).promotion_interval
    if task.dtype != "fp8" or interval is None:
        return rates[task.dtype]
    additions = rates["fp32"] / 2  # a fused multiply-add is two FLOP
    return 1.0 / (1.0 / rates["fp8"] + 1.0 / (2 * interval * additions))
