"""Kernels of a layer eager and compiled, casts of 8 bit products, host copies beside decoding.

    python step_kinds.py OUT.jsonl

Of each case a line per kernel (mean of three turns, us) and one with its wall time (median of ten).
Needs PyTorch and one GPU, some 60 s.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

HIDDEN, WIDTH, HEADS, KV_HEADS, TOKENS = 4096, 14336, 32, 8, 4096
BLOCKS, BLOCK = 256, 64 * 1024
LARGEST = 448.0  # of float8_e4m3fn


def layer_of(torch: Any) -> Any:
    """A layer of Llama 3 8B as models write it."""

    class Layer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.width = HIDDEN // HEADS
            outputs = {"q": HIDDEN, "k": KV_HEADS * self.width, "v": KV_HEADS * self.width}
            outputs |= {"o": HIDDEN, "gate": WIDTH, "up": WIDTH}
            for name, count in outputs.items():
                self.add_module(name, torch.nn.Linear(HIDDEN, count, bias=False))
            self.down = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
            self.norm1, self.norm2 = torch.nn.RMSNorm(HIDDEN), torch.nn.RMSNorm(HIDDEN)

        def turned(self, heads: Any, cosine: Any, sine: Any) -> Any:
            half = self.width // 2
            other = torch.cat((-heads[..., half:], heads[..., :half]), -1)
            return heads * cosine + other * sine

        def forward(self, rows: Any, cosine: Any, sine: Any) -> Any:
            count = rows.shape[1]

            def split(part: Any, heads: int) -> Any:
                return part.view(1, count, heads, self.width).transpose(1, 2)

            inner = self.norm1(rows)
            queries = self.turned(split(self.q(inner), HEADS), cosine, sine)
            keys = self.turned(split(self.k(inner), KV_HEADS), cosine, sine)
            values = split(self.v(inner), KV_HEADS)
            attention = torch.nn.functional.scaled_dot_product_attention(
                queries, keys, values, is_causal=True, enable_gqa=True
            )
            rows = rows + self.o(attention.transpose(1, 2).reshape(1, count, HIDDEN))
            inner = self.norm2(rows)
            return rows + self.down(torch.nn.functional.silu(self.gate(inner)) * self.up(inner))

    return Layer()


def timed(torch: Any, run: Callable[[], Any]) -> dict[str, float]:
    """Wall time, and the part of it in which the host launches: medians [us]."""
    walls = []
    for _ in range(12):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        launched = time.perf_counter() - begin
        torch.cuda.synchronize()
        walls.append((time.perf_counter() - begin, launched))
    wall, launched = sorted(walls)[6]
    return {"wall_us": 1e6 * wall, "launch_us": 1e6 * launched}


def note(torch: Any, out: TextIO, case: str, run: Callable[[], Any]) -> None:
    """The kernels of *case*, and its times."""
    from torch.profiler import ProfilerActivity, profile

    for _ in range(3):
        run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(3):
            run()
        torch.cuda.synchronize()
    for each in seen.key_averages():
        line = {"kernel": each.key[:160], "count": each.count / 3, "us": each.device_time_total / 3}
        out.write(json.dumps({"case": case, **line}) + "\n")
    out.write(json.dumps({"case": case, **timed(torch, run)}) + "\n")


def layers(torch: Any, out: TextIO) -> None:
    """Forward and backward of a layer."""
    layer = layer_of(torch).to("cuda", torch.bfloat16)
    rows = torch.randn(1, TOKENS, HIDDEN, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    places = torch.arange(TOKENS, device="cuda").float()
    angles = torch.outer(places, 500000 ** (-torch.arange(0, 64, device="cuda").float() / 64))
    both = torch.cat((angles, angles), -1)
    cosine, sine = both.cos().to(torch.bfloat16), both.sin().to(torch.bfloat16)

    def step(model: Any) -> None:
        result = model(rows, cosine, sine)
        result.backward(torch.ones_like(result))
        layer.zero_grad(set_to_none=True)
        rows.grad = None

    note(torch, out, "eager", lambda: step(layer))
    compiled = torch.compile(layer)
    note(torch, out, "compiled", lambda: step(compiled))


def products(torch: Any, out: TextIO) -> None:
    """A product in bf16, and in fp8 with a scale for each tensor."""
    weights = torch.randn(WIDTH, HIDDEN, device="cuda", dtype=torch.bfloat16)
    rows = torch.randn(TOKENS, HIDDEN, device="cuda", dtype=torch.bfloat16)

    def cast(tensor: Any) -> tuple[Any, Any]:
        scale = LARGEST / tensor.abs().amax().float().clamp(min=1e-12)
        narrow = (tensor.float() * scale).clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)
        return narrow, 1.0 / scale

    def multiplied(left: tuple[Any, Any], right: tuple[Any, Any]) -> Any:
        scales = {"scale_a": left[1], "scale_b": right[1]}
        return torch._scaled_mm(left[0], right[0].t(), out_dtype=torch.bfloat16, **scales)

    def scaled() -> Any:
        return multiplied(cast(rows), cast(weights))

    note(torch, out, "bf16-product", lambda: rows @ weights.t())
    note(torch, out, "fp8-eager", scaled)
    note(torch, out, "fp8-compiled", torch.compile(scaled))
    left, right = cast(rows), cast(weights)
    note(torch, out, "fp8-product", lambda: multiplied(left, right))


def copies(torch: Any, out: TextIO) -> None:
    """Blocks from the host, one call each or one for all, beside products of eight rows."""
    blocks = torch.empty(BLOCKS, BLOCK, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(BLOCKS, BLOCK, dtype=torch.uint8, device="cuda")
    weights = torch.randn(WIDTH, HIDDEN, device="cuda", dtype=torch.bfloat16)
    rows = torch.randn(8, HIDDEN, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()

    def fetch(count: int) -> None:
        with torch.cuda.stream(side):
            if count == 1:
                there.copy_(blocks, non_blocking=True)
                return
            for number in range(count):
                there[number].copy_(blocks[number], non_blocking=True)

    def decode() -> None:
        for _ in range(64):
            rows @ weights.t()

    def beside(count: int) -> None:
        fetch(count)
        decode()

    cases: dict[str, Callable[[], Any]] = {
        "decode": decode,
        "copies-256": lambda: fetch(BLOCKS),
        "copies-1": lambda: fetch(1),
        "both-256": lambda: beside(BLOCKS),
        "both-1": lambda: beside(1),
    }
    for case, run in cases.items():
        out.write(json.dumps({"case": f"host-{case}", **timed(torch, run)}) + "\n")


def main() -> None:
    import torch

    torch.manual_seed(0)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        for measure in (layers, products, copies):
            measure(torch, out)


if __name__ == "__main__":
    main()
