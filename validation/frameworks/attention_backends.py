"""Kernels of attention by the backend that PyTorch takes: times of each, forward and backward.

    python -m validation.frameworks.attention_backends --out attention.jsonl     # one GPU, a minute

One line of JSON per shape, backend and kernel: calls, and microseconds of a call in a profile of
*CALLS* calls behind as many others. ``default``: the backend that PyTorch takes where none is
named. Shapes are those of pieces of a sequence (c3sim/iterations/context.py): own queries over own
keys with a causal mask, over half of another GPU's keys and, half of the queries, over all of them
without.
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
#: batch, heads, heads of keys, width, queries, keys, causal
SHAPES = (
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


def kernels_by(shape: tuple[Any, ...], backend: SDPBackend | None) -> list[dict[str, Any]]:
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
                q, k, v, is_causal=causal, enable_gqa=groups != heads
            )
            out.backward(gradient)
            q.grad = k.grad = v.grad = None

        return kernels_of(call, CALLS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    names = ("batch", "heads", "kv_heads", "width", "queries", "keys", "causal")
    with out.open("w") as file:
        for shape in SHAPES:
            for name, backend in BACKENDS.items():
                about = {"backend": name, **dict(zip(names, shape, strict=True))}
                for line in kernels_by(shape, backend):
                    file.write(json.dumps({**about, **line}) + "\n")


if __name__ == "__main__":
    main()
