"""What a kernel that is no GEMM and no collective does: its class, its bytes, its FLOP."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .trace import Work

#: Part of the memory's bandwidth that a kernel of unknown operands is taken to move. A guess.
SHARE_OF_BANDWIDTH = 0.5
#: Bytes that a thread of such a kernel is taken to load and store where its time is not known
#: either: one access of 16 bytes each. A guess.
THREAD_BYTES = 32
#: Part of the matrix units' peak that attention of unknown time is taken to reach. A guess.
ATTENTION_EFFICIENCY = 0.5
#: FLOP of the backward pass of attention over those of the forward pass: five products, not two.
BACKWARD = 2.5

_CLASSES = (
    ("attention", re.compile(r"flash|fmha|attention|sdpa|_attn", re.I)),
    ("normalisation", re.compile(r"norm|softmax|GammaBeta", re.I)),
    ("embedding", re.compile(r"embedding", re.I)),
    ("optimizer", re.compile(r"adam|lamb\b|lamb_|sgd_|fused_optim", re.I)),
    ("communication", re.compile(r"nccl|rccl", re.I)),
)
_ELEMENTS = {
    "double": 8, "long int": 8, "long": 8, "int64": 8, "float": 4, "int": 4, "c10::BFloat16": 2,
    "c10::Half": 2, "bfloat16": 2, "half": 2, "bool": 1, "unsigned char": 1, "signed char": 1,
    "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
}  # fmt: skip
_IN_NAME = (("BFloat16", 2), ("Half", 2), ("bf16", 2), ("f16", 2), ("float", 4), ("double", 8))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """*guess* says how the numbers were found where no operator tells them; empty: it does."""

    read: float
    written: float
    flops: float = 0.0
    guess: str = ""


def class_of(work: Work, optimizer: Sequence[tuple[float, float]]) -> str:
    """The operator's class: by the kernel's name, its operators' names, or the optimizer's span."""
    if work.called is not None and any(a <= work.called < b for a, b in optimizer):
        return "optimizer"
    names = [work.name, *(str(operator.get("name", "")) for operator in work.operators[:3])]
    for name in names:
        for found, pattern in _CLASSES:
            if pattern.search(name.split("<")[0] if "elementwise_kernel" in name else name):
                return found
    return "elementwise"


def cost_of(work: Work, share: float, time: float | None, bandwidth: float) -> Cost:
    """What *work* moves, *share* of its operator's bytes, and computes; *time* [s] alone, or
    None, *bandwidth* [B/s] of the memory.
    """
    copied = work.args.get("bytes")
    if isinstance(copied, int) and work.category != "kernel":
        read = float(copied) if work.category == "gpu_memcpy" else 0.0
        return Cost(read=read, written=float(copied))
    shapes = list(_shapes(work.operator, element_bytes(work.name)))
    if not any(math.prod(shape) for shape, _ in shapes):
        return _unknown(work, time, bandwidth)
    sizes = [math.prod(shape) * size for shape, size in shapes]
    # each input is read once, and a result as large as the largest written
    cost = Cost(read=share * sum(sizes), written=share * max(sizes), flops=_attention_flops(work))
    moved = cost.read + cost.written
    if time is None or moved <= time * bandwidth:
        return cost
    guess = "kernels whose operands are more than memory moves in their time move what it can"
    part = time * bandwidth / moved
    return Cost(read=cost.read * part, written=cost.written * part, flops=cost.flops, guess=guess)


def _unknown(work: Work, time: float | None, bandwidth: float) -> Cost:
    if time is not None:
        half = SHARE_OF_BANDWIDTH * time * bandwidth / 2
        return Cost(
            read=half,
            written=half,
            guess=f"kernels of unknown operands move {SHARE_OF_BANDWIDTH:.0%} of what memory can in"
            " their time",
        )
    half = THREAD_BYTES / 2 * threads_of(work)
    return Cost(
        read=half,
        written=half,
        guess=f"kernels without operands and a time alone move {THREAD_BYTES} bytes a thread",
    )


def threads_of(work: Work) -> int:
    """Threads of the whole kernel; 1 where the trace does not say."""
    return extent(work.args.get("grid")) * extent(work.args.get("block"))


def extent(shape: Any) -> int:
    """Product of a grid's or block's extents; 1 where there is none."""
    if isinstance(shape, list) and shape and all(isinstance(each, int) for each in shape):
        return max(1, math.prod(shape))
    return 1


def _shapes(operator: Mapping[str, Any], in_lists: int) -> Iterator[tuple[list[int], int]]:
    """(shape, bytes of an element) of every tensor that goes into *operator*; *in_lists*: bytes of
    an element of lists, whose type is not in a trace.
    """
    args = operator.get("args") or {}
    dims, types = args.get("Input Dims") or [], args.get("Input type") or []
    for index, shape in enumerate(dims):
        named = str(types[index]) if index < len(types) else ""
        if not isinstance(shape, list) or not shape:
            continue
        if isinstance(shape[0], list):  # a list of tensors
            yield from ((each, in_lists) for each in shape if isinstance(each, list) and each)
        elif named in _ELEMENTS and all(isinstance(each, int) for each in shape):
            yield shape, _ELEMENTS[named]


def element_bytes(name: str) -> int:
    """Of the type in a kernel's *name*; 2 where there is none."""
    return next((size for word, size in _IN_NAME if word in name), 2)


def _attention_flops(work: Work) -> float:
    """Of the kernel of an attention operator that multiplies, from the shapes of Q and K:
    4 B H S_q S_k D, half of it where the operator says that it is causal, BACKWARD times that in
    the backward pass. 0 for other kernels.
    """
    if not re.search(r"flash|fmha.*(?:fprop|bprop|forward|backward)|attention_kernel", work.name):
        return 0.0
    operator = work.operator
    args, name = operator.get("args") or {}, str(operator.get("name", ""))
    dims = args.get("Input Dims") or []
    shapes = [each for each in dims if isinstance(each, list) and len(each) == 4]
    backward = "backward" in name
    if len(shapes) < 2 + backward or any(isinstance(each[0], list) for each in shapes):
        return 0.0
    query, key = shapes[backward], shapes[backward + 1]
    flops = 4.0 * math.prod(query) * float(key[-2])
    causal = "True" in [str(each) for each in args.get("Concrete Inputs") or []]
    return flops * (0.5 if causal else 1.0) * (BACKWARD if backward else 1.0)
