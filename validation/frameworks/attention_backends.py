"""Kernels of attention by the backend that PyTorch takes: times of each, forward and backward.

    python -m validation.frameworks.attention_backends --out attention.jsonl     # one GPU, a minute
    python -m validation.frameworks.attention_backends --widths --out widths.jsonl        # the same

One line of JSON per shape, backend and kernel: calls, and microseconds of a call in a profile of
*CALLS* calls behind as many others. ``default``: the backend that PyTorch takes where none is
named. Shapes are those of pieces of a sequence (c3sim/iterations/context.py): own queries over own
keys with a causal mask, over half of another GPU's keys and, half of the queries, over all of them
without. ``--widths``: heads of other widths and scores of which some are dropped, by the backend
that PyTorch takes.
"""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from .timing import kernels_of

CALLS = 5
BACKENDS = {
    "default": None,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
Shape = tuple[int, int, int, int, int, int, bool]
#: batch, heads, heads of keys, width, queries, keys, causal
SHAPES: tuple[Shape, ...] = (
    *((1, 32, 32, 128, tokens, tokens, True) for tokens in (1024, 2048, 4096, 8192, 16384)),
    (1, 32, 32, 128, 8192, 4096, False),
    (1, 32, 32, 128, 4096, 8192, False),
    (2, 40, 40, 128, 4096, 4096, True),
    (1, 40, 40, 128, 4096, 2048, False),
    (1, 32, 8, 128, 8192, 8192, True),
    (1, 32, 8, 128, 8192, 4096, False),
    (1, 16, 16, 64, 8192, 8192, True),
    (1, 16, 16, 64, 8192, 4096, False),
)
#: Heads of other widths, and of 64 numbers by batches and heads, with the part that is dropped.
WIDTHS: tuple[tuple[Shape, float], ...] = (
    *(((1, 32, 32, 64, n, n, True), 0.0) for n in (1024, 2048, 4096, 8192, 16384)),
    *(((1, 32, 8, 64, n, n, True), 0.0) for n in (2048, 8192)),
    *(((batch, 12, 12, 64, n, n, True), 0.0) for batch, n in ((1, 4096), (4, 4096), (16, 1024))),
    *(((1, 32, 32, 64, n, n, False), 0.0) for n in (1024, 4096)),
    *(
        ((batch, 16, 16, 64, n, n, False), dropped)
        for batch, n in ((64, 128), (32, 512), (8, 2048))
        for dropped in (0.0, 0.1)
    ),
    ((4, 16, 16, 64, 2048, 2048, True), 0.1),
    *(((1, 32, 32, 128, n, n, n == 4096), 0.1) for n in (2048, 4096)),
    *(((1, 32, 32, 96, n, n, True), 0.0) for n in (2048, 8192)),
    *(((1, 32, 32, 80, n, n, True), 0.0) for n in (2048, 8192)),
    *(((1, 16, 16, 192, n, n, True), 0.0) for n in (2048, 8192)),
    *(((1, 16, 8, 256, n, n, True), 0.0) for n in (2048, 8192)),
)


def kernels_by(
    shape: Shape, backend: SDPBackend | None, dropped: float = 0.0
) -> list[dict[str, Any]]:
    """Kernels of one call and of its backward pass."""
    batch, heads, groups, width, queries, keys, causal = shape
    sizes = (heads, queries), (groups, keys), (groups, keys)
    q, k, v = (
        torch.randn(batch, of, rows, width, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for of, rows in sizes
    )
    gradient = torch.randn_like(q)
    with nullcontext() if backend is None else sdpa_kernel(backend):

        def call() -> None:
            out = F.scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=groups != heads, dropout_p=dropped
            )
            out.backward(gradient)
            q.grad = k.grad = v.grad = None

        return kernels_of(call, CALLS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--widths", action="store_true")
    asked = parser.parse_args()
    names = ("batch", "heads", "kv_heads", "width", "queries", "keys", "causal")
    cases = [(shape, name, 0.0) for shape in SHAPES for name in BACKENDS]
    if asked.widths:
        cases = [(shape, "default", dropped) for shape, dropped in WIDTHS]
    with asked.out.open("w") as file:
        for shape, name, dropped in cases:
            about = {"backend": name, **dict(zip(names, shape, strict=True))}
            if asked.widths:
                about["dropped"] = dropped
            for line in kernels_by(shape, BACKENDS[name], dropped):
                file.write(json.dumps({**about, **line}) + "\n")


if __name__ == "__main__":
    main()
