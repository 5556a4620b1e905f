"""Attention of one new token: over latent vectors, and the sums behind one that is split."""

from __future__ import annotations

from math import ceil

from c3sim.iterations.attention_kernels import NARROW
from c3sim.iterations.operators import OperatorSet
from c3sim.iterations.steps import Op
from c3sim.spec.task import Kernel


def of_latents(
    o: OperatorSet, name: str, sequences: int, heads: int, width: int, value: int, seen: int
) -> Op:
    """One new token of each sequence, all of whose heads have one key of *width*, the first
    *value* numbers of which are its value: keys are read once, 2 (width + value) FLOP for each
    of them and each head (FlashMLA, github.com/deepseek-ai/FlashMLA).
    """
    flops = 2.0 * (width + value) * heads * sequences * seen
    task = Kernel(
        **o.of_attention,
        read=float(sequences * (seen * width + heads * width) * o.element),
        written=float(sequences * heads * value * o.element),
        flops=flops,
        efficiency=o.parts.attention_forward,
        dependent_loads=o.parts.loads,
        workgroups=max(sequences * ceil(heads / NARROW), o.gpu.compute_unit_count),
    )
    return Op(name, task, "attention", flops)


def sums_of_parts(
    o: OperatorSet, name: str, sequences: int, kv_heads: int, heads: int, width: int
) -> list[Op]:
    """The kernel behind attention of one token whose sequences and heads of keys leave half of
    the compute units empty: its keys are split, and a kernel adds up the parts' results.
    """
    parts = o.gpu.compute_unit_count // (sequences * kv_heads)
    if parts < 2:
        return []
    size = 4.0 * sequences * heads * width
    loads = o.parts.strided_loads
    sums = o.moving(name, parts * size, size / 2, "attention", 0.0, loads)
    return [sums.called({})]
