"""Kernels of PyTorch's softmax over rows, and which of them a row gets.

    forward               kept in                 workgroup               loads
    to 2048 numbers       registers of a warp     4 warps, a row each     number by number
    to 9216 numbers       registers               1024 threads, a row     number by number
    below 48 KiB          LDS                     1024 threads, a row     vectors of 16 bytes
    longer                nowhere: three passes   1024 threads, a row     vectors of 16 bytes

    backward
    to 1024 numbers       registers of a warp     4 warps, a row each     number by number
    below 48 KiB          LDS                     128 to 512 threads      vectors of 16 bytes
    longer                nowhere: two passes     512 threads, a row      vectors of 16 bytes

SoftMax.cu and PersistentSoftmax.cuh in aten/src/ATen/native/cuda of github.com/pytorch/pytorch;
grids, threads and registers as a profiler shows them of 432 calls of PyTorch 2.11 on one H200
(validation/data/kernels/h200-softmax.csv).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from c3sim.spec.hardware import ComputeUnits
from c3sim.spec.operators import Operators
from c3sim.tasks.on_units import plain_claim

#: Bytes of a vector that a thread loads.
VECTOR = 16
#: Numbers of a row that a warp keeps at most, forward and backward; lanes of a warp; rows of a
#: workgroup of them.
OF_A_WARP, OF_A_WARP_BACKWARD, LANES, ROWS_OF_WARPS = 2048, 1024, 32, 4
#: Threads for a row, forward; numbers of it that each keeps at most; bytes that LDS keeps.
ROW_THREADS, KEPT_BY_A_THREAD, KEPT = 1024, 9, 48 << 10
#: Threads for a row, backward.
BACKWARD_THREADS = 512
#: Numbers of a row of which a lane keeps so few that log-softmax is quicker.
OF_A_NARROW_LANE = 16
#: Numbers that a lane or a thread keeps at most, and its registers: of a warp's row forward,
#: backward and forward of log-softmax, of a workgroup's row. Beyond the first entry of the two
#: tables without a logarithm a lane is wide.
OF_A_LANE = ((32, 48), (64, 80))
OF_A_LANE_BACKWARD = ((16, 55), (32, 96))
OF_A_LANE_LOG = ((8, 32), (OF_A_NARROW_LANE, 40), (32, 72), (64, 128))
OF_A_THREAD = ((6, 32), (KEPT_BY_A_THREAD, 40))
OF_A_THREAD_LOG = ((7, 32), (KEPT_BY_A_THREAD, 38))
#: Registers of a thread that keeps nothing; of one that goes over a long row backward.
FEW, FEW_BACKWARD = 32, 40


@dataclass(frozen=True, slots=True)
class RowKernel:
    """A softmax kernel, as far as one row decides it."""

    flops: float
    """vector FLOP in whose time a row is handled"""
    threads: int
    registers: int
    rows: int = 1
    """of a workgroup"""
    lds: float = 0.0
    passes: int = 1
    """over the row; each waits for its loads"""
    again: float = 0.0
    """times that it is loaded again"""

    def per_unit(self, units: ComputeUnits) -> int:
        """Workgroups that one of *units* has room for."""
        return max(1, plain_claim(units, self.threads, self.registers, self.lds).fitting(units))


def row_kernel(
    parts: Operators, width: int, element: float, *, backward: bool, log: bool = False
) -> RowKernel:
    """The kernel for rows of *width* numbers of *element* bytes; *log*: of log-softmax in 16 bit.
    Backward it takes what softmax does, and in 4 bytes forward as well, within 10 %.
    """
    kernel = _row_kernel(parts, width, element, backward=backward)
    if not log or backward:
        return kernel
    part, registers = parts.softmax_kernels.log_part, kernel.registers
    numbers, kept = _of_a_lane(width), ceil(width / ROW_THREADS)
    if width <= OF_A_WARP:
        part = part if numbers <= OF_A_NARROW_LANE else 1.0
        registers = _registers(OF_A_LANE_LOG, numbers)
    elif kept <= KEPT_BY_A_THREAD:
        registers = _registers(OF_A_THREAD_LOG, kept)
    return replace(kernel, flops=part * kernel.flops, registers=registers)


def _row_kernel(parts: Operators, width: int, element: float, *, backward: bool) -> RowKernel:
    if width <= (OF_A_WARP_BACKWARD if backward else OF_A_WARP):
        return _of_a_warp(parts, width, backward)
    row, cost = width * element, parts.softmax_kernels
    if backward:
        flops = width * cost.backward_flops
        if row < KEPT:  # the greatest power of two below the vectors of a row
            threads = min(BACKWARD_THREADS, 1 << ((ceil(row / VECTOR) - 1).bit_length() - 1))
            return RowKernel(flops, threads, FEW, lds=row, passes=2)
        return RowKernel(flops, BACKWARD_THREADS, FEW_BACKWARD, passes=2, again=1.0)
    kept = ceil(width / ROW_THREADS)
    if kept <= KEPT_BY_A_THREAD:  # threads that have no number pass through its instructions
        slots = kept * ROW_THREADS
        return RowKernel(slots * cost.kept_flops, ROW_THREADS, _registers(OF_A_THREAD, kept))
    passes = 1 + round(parts.softmax_again)
    if row < KEPT:
        return RowKernel(width * parts.softmax_flops, ROW_THREADS, FEW, lds=row, passes=passes)
    left = (parts.softmax_rest - 1.0) * (width % (VECTOR / element * ROW_THREADS))
    flops = (width + left) * parts.softmax_flops
    return RowKernel(flops, ROW_THREADS, FEW, passes=passes, again=parts.softmax_again)


def _of_a_warp(parts: Operators, width: int, backward: bool) -> RowKernel:
    """Each lane has the same count of numbers, the row's filled up to a power of two."""
    cost, table = parts.softmax_kernels, OF_A_LANE
    narrow, wide = cost.lane_flops, cost.wide_lane_flops
    if backward:
        table = OF_A_LANE_BACKWARD
        narrow, wide = cost.lane_backward_flops, cost.wide_lane_backward_flops
    numbers = _of_a_lane(width)
    flops = narrow if numbers <= table[0][0] else wide
    threads = ROWS_OF_WARPS * LANES
    return RowKernel(width * flops, threads, _registers(table, numbers), rows=ROWS_OF_WARPS)


def _of_a_lane(width: int) -> int:
    """Numbers of a row that each lane of a warp keeps."""
    return (1 << (width - 1).bit_length()) // LANES


def _registers(table: tuple[tuple[int, int], ...], numbers: int) -> int:
    return next(registers for most, registers in table if numbers <= most)
