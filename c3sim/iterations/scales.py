"""Products of 8 bit numbers with a scale for each tensor: what comes before each of them.

An operand of n numbers is read for its largest one, and read again to be multiplied and cast (n
bytes written). Compiled these are two kernels; eager they are six: absolute values, their maximum,
4 byte numbers, the product, the clamp, 8 bit numbers. Backward, the gradient that both products of
a layer take is cast once. Measured: one H200, 4096 x 4096 and 14336 x 4096 numbers, 112 us
compiled and 830 us eager beside a product of 340 us (validation/data/kernels/h200-step-kinds).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op, Step
from c3sim.spec.workload import Gemm

WIDE, NARROW = 2.0, 0.5  # 4 and 1 bytes of a number, in numbers of 2
#: Kernels of a cast: what each reads and writes, in numbers of 2 bytes.
COMPILED = {"largest": (1.0, 0.0), "cast": (1.0, NARROW)}
EAGER = {
    "absolute": (1.0, 1.0),
    "largest": (1.0, 0.0),
    "wide": (1.0, WIDE),
    "scale": (WIDE, WIDE),
    "clamp": (WIDE, WIDE),
    "cast": (WIDE, NARROW),
}

#: Those that a framework's own kernels do number by number, as strided ones: numbers become wider,
#: and are multiplied by one that lies in memory (``unrolled_elementwise_kernel``,
#: ``gpu_kernel_impl_nocast`` in the record).
BY_NUMBER = ("wide", "scale")


def scaled(o: OperatorSet, steps: Iterable[Step]) -> Iterator[Step]:
    """*steps*, in front of each product the casts of its operands."""
    for step in steps:
        if isinstance(step, Op) and step.operator == "gemm":
            assert isinstance(step.task, Gemm)  # products of matrices are
            yield from casts(o, step.name, step.task, weights=bool(step.gradients))
        yield step


def casts(o: OperatorSet, name: str, gemm: Gemm, *, weights: bool) -> Iterator[Op]:
    """Casts of the operands of *gemm*; of a product that gives gradients of *weights* only of the
    rows: the other operand was cast for the product before it.
    """
    rows = sum(gemm.rows) or gemm.m * gemm.batch
    operands = {"a": float(rows * gemm.k), "b": float(gemm.batch * gemm.k * gemm.n)}
    if weights:
        del operands["b"]
    kernels = COMPILED if o.fused else EAGER
    for operand, numbers in operands.items():
        for kernel, (read, written) in kernels.items():
            apart = kernel in BY_NUMBER
            yield o.elementwise(f"{name}-{operand}-{kernel}", numbers, read, written, strided=apart)
