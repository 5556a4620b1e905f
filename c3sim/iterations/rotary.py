"""Rotary embedding of queries or keys, as most models have it written: x cos + (-x2, x1) sin.

Five kernels for each of them, forward and backward: two products, the sign of a half, both halves
side by side, and a sum. arXiv 2104.09864, equation 34; ``rotate_half`` of the models in
github.com/huggingface/transformers. Fused: one kernel for both.
"""

from __future__ import annotations

from dataclasses import replace

from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op, Step


def rotary(o: OperatorSet, queries: float, keys: float) -> list[Step]:
    """Kernels for *queries* and *keys* elements; layout [tokens, heads, dim], so that all kernels
    but the sum read with a stride. The backward pass keeps only the result.
    """
    if o.fused:
        return [o.elementwise("rotary", queries + keys, 1, 1)]
    return [step for part in (("q", queries), ("k", keys)) for step in _turned(o, "rotary", *part)]


def rotary_backward(o: OperatorSet, queries: float, keys: float) -> list[Step]:
    """The same kernels in another order."""
    if o.fused:
        return [o.elementwise("rotary-gradient", queries + keys, 1, 1)]
    parts = (("k", keys), ("q", queries))
    return [step for part in parts for step in _turned(o, "rotary-gradient", *part)]


def _turned(o: OperatorSet, prefix: str, what: str, numbers: float) -> list[Op]:
    def kernel(name: str, count: float, flops: float = 0.0) -> Op:
        op = o.elementwise(f"{prefix}-{what}-{name}", count, 1, 1, strided=True, flops=flops)
        return replace(op, kept=False)

    halves = kernel("halves", numbers, o.parts.joined_flops).called({"copy": 1, "view": 1})
    return [
        kernel("cosine", numbers),
        kernel("sign", numbers / 2),
        halves,
        kernel("sine", numbers),
        o.elementwise(f"{prefix}-{what}-sum", numbers, 2, 1, strided=True),
    ]
