"""Element-wise kernels that load number by number, and those that do not: times alone.

    python -m validation.frameworks.strided_kernels --out strided.jsonl     # one GPU, 20 s

One line of JSON per case, size and kernel: calls, and microseconds of a call in a profile of
*CALLS* calls behind as many others. Tensors are those of attention: batch 1, heads, tokens, 128
numbers, heads inside of tokens where a case has not *whole* ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from .timing import BF16, kernels_of

CALLS = 5
SIZES = ((2048, 32), (4096, 32), (8192, 32), (16384, 32), (8192, 8))  # tokens, heads


def cases(tokens: int, heads: int) -> dict[str, Callable[[], Tensor]]:
    """Calls by name."""
    size = (1, tokens, heads, 128)
    x, y = (torch.randn(size, **BF16).transpose(1, 2) for _ in range(2))
    whole, other = (torch.randn(size, **BF16) for _ in range(2))
    wide, sum_of = (torch.randn(size, device="cuda") for _ in range(2))
    inside = wide.transpose(1, 2).contiguous().transpose(1, 2)
    part = torch.rand(1, tokens, heads, 1, device="cuda")
    angles, negative, first = torch.randn(tokens, 128, **BF16), -x[..., 64:], x[..., :64]
    inner, gate = (torch.randn(tokens, 344 * heads, **BF16) for _ in range(2))
    norm, rows = torch.nn.RMSNorm(128 * heads, **BF16), torch.randn(tokens, 128 * heads, **BF16)
    return {
        "cosine": lambda: x * angles,
        "negative": lambda: -x[..., 64:],
        "cat": lambda: torch.cat([negative, first], -1),
        "sum": lambda: x + y,
        "contiguous": lambda: x.contiguous(),
        "add": lambda: whole + other,
        "to-float": lambda: whole.float(),
        "to-float-strided": lambda: x.float(),
        "to-bf16": lambda: wide.bfloat16(),
        "add-mixed": lambda: sum_of.add_(whole),
        "scaled": lambda: wide * part,
        "sub": lambda: wide - sum_of,
        "sub-strided": lambda: wide - inside,
        "silu": lambda: F.silu(inner),
        "mul": lambda: inner * gate,
        "rms": lambda: norm(rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    with parser.parse_args().out.open("w") as file:
        for tokens, heads in SIZES:
            for name, call in cases(tokens, heads).items():
                for line in kernels_of(call, CALLS):
                    about = {"case": name, "tokens": tokens, "heads": heads, **line}
                    file.write(json.dumps(about) + "\n")


if __name__ == "__main__":
    main()
