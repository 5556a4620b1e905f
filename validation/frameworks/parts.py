"""Parts of layers with experts and latent attention, each by itself, as kernels.py times kernels.

    python -m validation.frameworks.parts PLAN.yaml OUT.jsonl

Grouped products of experts' rows and the gradients of their weights, the largest scores of rows,
sorts and counts of experts' numbers, rows copied to where they go and added to where they came
from, products of every head, and attention whose values are narrower than its keys, both ways.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F

from c3sim.iterations.load import Load

from .kernels import Plan, Row, main, numbers
from .timing import BF16, FP32, Call


def loads_of(experts: int, rows: int, skew: float) -> list[int]:
    """Rows of each expert: *rows* in the mean."""
    return [*Load(skew, 1).fullest(experts * rows, experts, 1)] or [rows] * experts


def grouped(experts: int, rows: int, n: int, k: int, skew: float = 0.0) -> Call:
    loads = loads_of(experts, rows, skew)
    x, w = numbers(sum(loads), k), numbers(len(loads), n, k).transpose(-2, -1)
    ends = torch.tensor(loads, device="cuda").cumsum(0, dtype=torch.int32)
    return lambda: F.grouped_mm(x, w, offs=ends)


def grouped_weight(experts: int, rows: int, n: int, k: int) -> Call:
    x, y = numbers(experts * rows, k), numbers(experts * rows, n)
    ends = torch.full((experts,), rows, device="cuda").cumsum(0, dtype=torch.int32)
    return lambda: F.grouped_mm(y.t(), x, offs=ends)


def grouped_products(plan: Plan) -> Iterator[Row]:
    for experts, rows, n, k, *skew in plan["grouped"]:
        about = {"experts": experts, "m": rows, "n": n, "k": k, "skew": (skew or [0.0])[0]}
        moved = 2.0 * experts * (n * k + rows * (n + k))
        yield Row("grouped", about, moved, partial(grouped, experts, rows, n, k, *skew))
        if not skew:
            make = partial(grouped_weight, experts, rows, n, k)
            yield Row("grouped-weight", about, moved, make)


def top_k(rows: int, width: int, k: int) -> Call:
    x = numbers(rows, width, **FP32)
    return lambda: x.topk(k, dim=-1)


def ids(count: int, experts: int) -> torch.Tensor:
    return torch.randint(0, experts, (count,), device="cuda")


def sorted_numbers(count: int, experts: int) -> Call:
    x = ids(count, experts)
    return lambda: x.argsort(stable=True)


def counted(count: int, experts: int) -> Call:
    x = ids(count, experts)
    return lambda: torch.histc(x, bins=experts, min=0, max=experts)


def scores(rows: int, width: int) -> Call:
    x = numbers(rows, width, **FP32)
    return lambda: x.softmax(dim=-1)


def choices(plan: Plan) -> Iterator[Row]:
    for rows, width, k in plan["top_k"]:
        about = {"rows": rows, "width": width, "k": k}
        yield Row("top-k", about, 4.0 * rows * width, partial(top_k, rows, width, k))
        yield Row("scores", about, 8.0 * rows * width, partial(scores, rows, width))
    for count, experts in plan["sorted"]:
        about = {"count": count, "experts": experts}
        yield Row("sort", about, 16.0 * count, partial(sorted_numbers, count, experts))
        yield Row("count", about, 8.0 * count, partial(counted, count, experts))


def permuted(rows: int, each: int, width: int) -> Call:
    x = numbers(rows, width)
    place = torch.randperm(rows * each, device="cuda") // each
    return lambda: x.index_select(0, place)


def added_rows(rows: int, each: int, width: int) -> Call:
    x, y = numbers(rows * each, width), torch.zeros(rows, width, **BF16)
    place = torch.randperm(rows * each, device="cuda") // each
    return lambda: y.index_add_(0, place, x)


def moves(plan: Plan) -> Iterator[Row]:
    for rows, each, width in plan["moved"]:
        about = {"rows": rows, "each": each, "width": width}
        moved = 2.0 * rows * width * (1 + each)
        yield Row("permute", about, moved, partial(permuted, rows, each, width))
        yield Row("unpermute", about, moved, partial(added_rows, rows, each, width))


def by_heads(batch: int, m: int, n: int, k: int) -> Call:
    x, w = numbers(m, batch, k).transpose(0, 1), numbers(batch, k, n)
    return lambda: torch.bmm(x, w)


def wide(batch: int, tokens: int, heads: int, width: int, value: int, backward: bool) -> Call:
    q, k = (numbers(batch, heads, tokens, width).requires_grad_() for _ in range(2))
    v, g = (
        numbers(batch, heads, tokens, value).requires_grad_(),
        numbers(batch, heads, tokens, value),
    )
    if not backward:
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def both() -> object:  # one call: a graph cannot take a pass whose first half it has not seen
        with torch.enable_grad():
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return torch.autograd.grad(out, (q, k, v), g)

    return both


def attention(plan: Plan) -> Iterator[Row]:
    for batch, m, n, k in plan["by_heads"]:
        about = {"batch": batch, "m": m, "n": n, "k": k}
        moved = 2.0 * batch * (m * k + n * k + m * n)
        yield Row("by-heads", about, moved, partial(by_heads, batch, m, n, k))
    for batch, tokens, heads, width, value in plan["wide"]:
        about = {"batch": batch, "tokens": tokens, "heads": heads, "width": width, "value": value}
        moved = 4.0 * batch * tokens * heads * (width + value)
        for name, backward in (("wide", False), ("wide-both", True)):
            make = partial(wide, batch, tokens, heads, width, value, backward)
            yield Row(name, about, moved * (1 + backward), make)


GROUPS = (grouped_products, choices, moves, attention)

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], GROUPS)
